"""Explanations as searches that know only the query: minimal ones by deletion, all by MARCO, cheapest by hitting sets."""
