"""Models: the canonical forest, its own ``predict``, and what is read from fitted models and files."""
