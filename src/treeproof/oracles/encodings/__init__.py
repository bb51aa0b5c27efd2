"""Propositional encodings of forests: formulas that are satisfiable iff a claim can be violated."""
