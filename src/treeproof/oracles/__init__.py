"""Interchangeable oracles. One file each; all pass the conformance suite in ``tests/oracle``."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

from treeproof.errors import InputError, require_one_of
from treeproof.query.cells import CellForest
from treeproof.query.oracle import Oracle

# Names of oracles to their classes, or to where these are: a solver takes longer to import than most answers.
ORACLES: dict[str, str | Callable[..., Oracle]] = {
    "native": "treeproof.oracles.native:NativeOracle",
    "sat": "treeproof.oracles.sat:SatOracle",
    "smt": "treeproof.oracles.smt:SmtOracle",
    "brute": "treeproof.oracles.brute:BruteOracle",
}


def _class(name: str) -> Callable[..., Oracle]:
    given = ORACLES[name]
    if not isinstance(given, str):
        return given
    module, _, kind = given.partition(":")
    found: Callable[..., Oracle] = getattr(importlib.import_module(module), kind)
    return found


def make_oracle(name: str, forest: CellForest, **options: Any) -> Oracle:
    """Return the named oracle for a forest; `options` are its own."""
    require_one_of("oracle", name, tuple(ORACLES))
    known = options_of(name)
    for option in options:
        if option not in known:
            has = f"takes the options {known}" if known else "takes no options"
            others = [other for other in ORACLES if option in options_of(other)]
            hint = f" It is an option of oracle={others[0]!r}." if others else ""
            raise InputError(f"The oracle {name!r} {has}. Got {option!r}.{hint}")
    return _class(name)(forest, **options)


def options_of(name: str) -> list[str]:
    """Return the options of the named oracle, none if there is no such oracle.

    >>> options_of("native")
    ['tabulate']
    """
    return list(inspect.signature(_class(name)).parameters)[1:] if isinstance(name, str) and name in ORACLES else []
