"""For all tests: one thread for each process, and the longest test first."""

from __future__ import annotations

import os

os.environ.setdefault(
    "OMP_NUM_THREADS", "1"
)  # of two processes, threads that wait for each other steal the other's core


def pytest_collection_modifyitems(items):
    """Begin with the test of the core, which takes a minute or two: at the end, the other worker would wait for it."""
    items.sort(key=lambda item: "test_core.py" not in item.nodeid)
