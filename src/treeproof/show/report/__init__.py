"""A self-contained HTML report: explanations of chosen rows, with certificates and the checker next to it."""
