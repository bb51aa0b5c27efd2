"""Explanations as searches that know only the query: minimal by deletion, all by MARCO, cheapest by hitting sets."""
