"""What measurements depend on: where, and with what."""

from __future__ import annotations

import datetime
import os
import platform
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

PACKAGES = ("numpy", "scikit-learn", "python-sat", "treeproof")


def machine() -> dict[str, Any]:
    """Return processor and number of cores."""
    about = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = re.search(r"model name\s*: (.*)", about)
    return {"cpu": model[1] if model else platform.processor() or platform.machine(), "cores": os.cpu_count()}


def versions(*others: str) -> dict[str, str]:
    """Return the versions of Python, of the packages that every measurement rests on, and of `others`."""
    return {"python": platform.python_version(), **{name: version(name) for name in (*PACKAGES, *others)}}


def now() -> str:
    """Return date and time, in UTC."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
