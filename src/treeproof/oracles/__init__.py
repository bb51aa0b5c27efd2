"""Interchangeable oracles. One file each; all pass the conformance suite in ``tests/oracle``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from treeproof.errors import InputError
from treeproof.oracles.brute import BruteOracle
from treeproof.oracles.native import NativeOracle
from treeproof.oracles.sat import SatOracle
from treeproof.oracles.smt import SmtOracle
from treeproof.query.cells import CellForest
from treeproof.query.oracle import Oracle

ORACLES: dict[str, Callable[..., Oracle]] = {
    "native": NativeOracle,
    "sat": SatOracle,
    "smt": SmtOracle,
    "brute": BruteOracle,
}


def make_oracle(name: str, forest: CellForest, **options: Any) -> Oracle:
    """Return the named oracle for a forest; `options` are its own."""
    if name not in ORACLES:
        raise InputError(f"The 'oracle' parameter must be one of {tuple(ORACLES)}. Got {name!r} instead.")
    known = options_of(name)
    for option in options:
        if option not in known:
            has = f"takes the options {known}" if known else "takes no options"
            others = [other for other in ORACLES if option in options_of(other)]
            hint = f" It is an option of oracle={others[0]!r}." if others else ""
            raise InputError(f"The oracle {name!r} {has}. Got {option!r}.{hint}")
    return ORACLES[name](forest, **options)


def options_of(name: str) -> list[str]:
    """Return the options of the named oracle, none if there is no such oracle.

    >>> options_of("native")
    ['tabulate']
    """
    return list(inspect.signature(ORACLES[name]).parameters)[1:] if name in ORACLES else []
