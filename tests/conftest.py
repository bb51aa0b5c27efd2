"""For all tests: one thread for each process, byte code, fewer collections, Ctrl-C as usual, the longest test first."""

from __future__ import annotations

import gc
import os
import signal
import sys
from pathlib import Path

# A shell starts what is to run in the background with Ctrl-C ignored, and that is inherited.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.setdefault(
    "OMP_NUM_THREADS", "1"
)  # of two processes, threads that wait for each other steal the other's core

# Where no byte code may be written beside the sources, it goes to a folder of its own: tests start many processes, each
# of which would compile all libraries again, which takes three times as long as to import them. Not for mutants: the
# byte code of a source that was changed twice within a second would count as up to date.
if sys.dont_write_bytecode and "TREEPROOF_MUTANT" not in os.environ:
    sys.pycache_prefix = str(Path(__file__).parents[1] / "build" / "bytecode")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
    os.environ["PYTHONDONTWRITEBYTECODE"] = ""  # as if it were not set
    sys.dont_write_bytecode = False

# With all libraries imported, looking through all objects for cycles every few thousand takes a tenth of the time.
gc.set_threshold(20_000, 20, 100)


def pytest_collection_modifyitems(items):
    """Begin with the test of the core, which takes a minute or two: at the end, the other worker would wait for it."""
    items.sort(key=lambda item: "test_core.py" not in item.nodeid)
