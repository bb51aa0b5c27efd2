"""How much memory an explainer takes."""

from __future__ import annotations

import ctypes
import gc
import platform
import re
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import treeproof as tp
from treeproof_bench.recipe import Floats

Result = TypeVar("Result")

TIMEOUT = 60.0


def in_a_fresh_process(function: Callable[[Any, Floats], Result], model: Any, rows: Floats) -> Result:
    """Return ``function(model, rows)`` from a process that did nothing before but load the model.

    It is forked from a server that has imported treeproof once: seconds less than a process from scratch.
    """
    context = get_context("forkserver")
    context.set_forkserver_preload(["treeproof"])
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, model, rows).result()


def resident_peaks(model: Any, rows: Floats) -> tuple[float, float] | tuple[None, None]:
    """Return the largest resident memory while an explainer is built and while it explains, in MB above that before.

    This counts everything, C++ included. The kernel keeps the peak (VmHWM) and forgets it on request, so loading the
    model does not hide what comes after; ru_maxrss would, and it even starts at the size of the parent process. Memory
    that was freed but not returned would be used again unseen, so it is returned first. Linux with glibc only.
    """
    if platform.libc_ver()[0] != "glibc":
        return None, None

    def kilobytes(key: str) -> int:
        return int(re.findall(rf"{key}:\s+(\d+) kB", Path("/proc/self/status").read_text())[0])

    model.predict(rows[:1])
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    before = kilobytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    explainer = tp.Explainer(model)
    building = kilobytes("VmHWM")
    Path("/proc/self/clear_refs").write_text("5")
    for row in rows:
        explainer.abductive(row, timeout=TIMEOUT)
    return (building - before) * 1024 / 1e6, (kilobytes("VmHWM") - before) * 1024 / 1e6


def traced_peaks(model: Any, rows: Floats) -> tuple[float, float]:
    """Return the same peaks as tracemalloc has them, in MB: Python's objects and numpy's arrays, without C++."""
    model.predict(rows[:1])
    tracemalloc.start()
    explainer = tp.Explainer(model)
    building = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    for row in rows:
        explainer.abductive(row, timeout=TIMEOUT)
    return building / 1e6, tracemalloc.get_traced_memory()[1] / 1e6
