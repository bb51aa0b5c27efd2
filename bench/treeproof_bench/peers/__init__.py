"""Rival explainers, each run in an interpreter of its own by `worker.py`."""
