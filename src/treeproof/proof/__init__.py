"""Explanations that others can check: certificates, and an oracle whose every answer was checked."""
