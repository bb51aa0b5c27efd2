"""For all tests: one thread for each process, Ctrl-C as usual, and the longest test first."""

from __future__ import annotations

import os
import signal

# A shell starts what is to run in the background with Ctrl-C ignored, and that is inherited.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.setdefault(
    "OMP_NUM_THREADS", "1"
)  # of two processes, threads that wait for each other steal the other's core


def pytest_collection_modifyitems(items):
    """Begin with the test of the core, which takes a minute or two: at the end, the other worker would wait for it."""
    items.sort(key=lambda item: "test_core.py" not in item.nodeid)
