"""Exit codes, the same for every command. They are defined only here."""

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
  {LATE}    timed out; results may be non-minimal, incomplete or unknown
  {BAD}    bad input or usage; the message says what is expected
  {REJECTED}    a certificate was rejected; the message says why
  {BUG}    a bug in treeproof; no result is claimed; please report it
  {INTERRUPTED}  interrupted
"""


def code_of(results: Iterable[Result]) -> int:
    """Return the exit code of a command with these results: 0 only if everything asked for is decided."""
    return DONE if all(result.decided for result in results) else LATE
