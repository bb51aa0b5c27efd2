"""Interchangeable oracles."""
