"""Explanations of random forests, with proofs."""
