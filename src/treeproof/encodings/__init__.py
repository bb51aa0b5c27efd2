"""Propositional encodings of forests: a formula that is satisfiable iff a claim about the forest can be violated."""
