"""Exit codes, the same for every command. This is the one place that has them."""

from __future__ import annotations

from collections.abc import Iterable

from treeproof.questions.result import Result

DONE = 0
LATE = 1
BAD = 2
REJECTED = 3
BUG = 4
INTERRUPTED = 130

TEXT = f"""exit codes:
  {DONE}    done
  {LATE}    done, but a deadline came first: not minimal, not complete, or unknown
  {BAD}    bad input or usage; the message says what is needed
  {REJECTED}    a certificate was rejected; the message says why
  {BUG}    a bug in treeproof: nothing is claimed; please report it
  {INTERRUPTED}  interrupted
"""


def code_of(results: Iterable[Result]) -> int:
    """Return the exit code of a command with these results: 0 only if all that was asked for is decided."""
    return DONE if all(result.decided for result in results) else LATE
