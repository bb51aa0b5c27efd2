"""Explanations as searches that know only the query: minimal ones by deletion, all of them by MARCO."""
