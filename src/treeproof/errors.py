"""Every exception that treeproof raises on purpose.

::

    TreeproofError
    ├── InputError            (ValueError)   a row, a feature or class name, an option that cannot be used
    ├── UnsupportedModelError (TypeError)    a model, or a setting of it, that cannot be followed exactly
    ├── NotFittedError        (scikit-learn's NotFittedError)
    ├── ImportMismatchError   (ValueError)   the imported forest and its source predict differently
    ├── ForestFormatError     (ValueError)   a saved forest that is damaged or not a forest
    ├── UnsafeFileError       (ValueError)   a file that could run code when it is read
    ├── UnsupportedQueryError (ValueError)   the chosen oracle does not take this question
    ├── MissingExtraError     (ImportError)  an optional dependency is not installed
    ├── LostWorkerError       (RuntimeError) a worker process was killed, again and again
    └── InternalError         (RuntimeError) a self-check failed: a bug in treeproof, nothing was returned

A deadline is not an error: it is a status of the result. Neither is `Cancelled`, which somebody asked for: like
``KeyboardInterrupt`` it is no ``Exception``, so that nothing that handles errors swallows it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any


class TreeproofError(Exception):
    """Root of all exceptions raised on purpose by treeproof. A message is at most some thousand characters long."""

    def __str__(self) -> str:
        return shortened(super().__str__())


class InputError(TreeproofError, ValueError):
    """A row, a name or an option cannot be used; the message says what was expected.

    `row` is the label, or else the number, of the row that cannot be used, if there are several; the message begins
    with it.
    """

    def __init__(self, message: str, *, row: Any = None) -> None:
        super().__init__(message)
        self.row = row

    def __str__(self) -> str:
        return super().__str__() if self.row is None else f"Row {self.row}: {super().__str__()}"


class UnsupportedModelError(TreeproofError, TypeError):
    """The model, or one of its settings, cannot be followed exactly."""


class ImportMismatchError(TreeproofError, ValueError):
    """The imported forest predicts differently from its source on some row."""


class ForestFormatError(TreeproofError, ValueError):
    """A serialised forest is damaged, or is not a forest."""


class UnsafeFileError(TreeproofError, ValueError):
    """Reading the file could run code that came with it, and no consent was given."""


class UnsupportedQueryError(TreeproofError, ValueError):
    """The chosen oracle does not take this question; another one does."""


class MissingExtraError(TreeproofError, ImportError):
    """A required optional dependency is not installed."""


class LostWorkerError(TreeproofError, RuntimeError):
    """Worker processes were killed from outside, for example because memory ran out; `row` is the first one lost."""

    def __init__(self, message: str, *, row: Any = None) -> None:
        super().__init__(message)
        self.row = row

    def __str__(self) -> str:
        return super().__str__() if self.row is None else f"Row {self.row}: {super().__str__()}"


class Cancelled(BaseException):
    """The question was cancelled from another thread; there is no result. See `treeproof.cancelling`.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> cancel = tp.Cancel()
    >>> cancel.set()
    >>> try:
    ...     with tp.cancelling(cancel):
    ...         tp.Explainer(forest).abductive(patient)
    ... except tp.Cancelled as stopped:
    ...     print(stopped)
    The question was cancelled.
    """

    def __str__(self) -> str:
        return "The question was cancelled."


class InternalError(TreeproofError, RuntimeError):
    """A self-check of treeproof failed; please report it, no result was returned."""


def shortened(message: str, most: int = 4000) -> str:
    """Return a message without its middle, if that is long: names and values in it may have any length.

    >>> shortened("The name must be short. Got " + 90 * "a" + ".", 40)
    'The name must be short. Got aa ... (79 characters left out) ... aaaaaaaaa.'
    """
    if len(message) <= most:
        return message
    start, end = most * 3 // 4, most - most * 3 // 4
    return f"{message[:start]} ... ({len(message) - most} characters left out) ... {message[-end:]}"


def require_mapping(parameter: str, given: Any, what: str) -> None:
    """Raise InputError unless a parameter is None or a mapping; `what` says what it maps, with an example."""
    if given is not None and not isinstance(given, Mapping):
        raise InputError(f"The {parameter!r} parameter must be a mapping of {what}. Got {given!r} instead.")


def require_path(parameter: str, given: Any) -> None:
    """Raise InputError unless a parameter is the path of a file: text, or an object such as a Path."""
    known = isinstance(given, str | os.PathLike) and "\0" not in str(given)
    if not known or any("\ud800" <= letter <= "\udbff" for letter in str(given)):  # halves of letters name no file
        raise InputError(f"The {parameter!r} parameter must be a path: text, or a Path. Got {given!r} instead.")


def require_one_of(parameter: str, given: Any, known: Sequence[Any]) -> None:
    """Raise InputError unless a parameter is one of the known texts, or None if that is known."""
    if not (given is None or isinstance(given, str)) or given not in known:  # an array would be compared piece by piece
        choices = " or ".join(filter(None, [", ".join(map(repr, known[:-1])), repr(known[-1])]))
        raise InputError(f"The {parameter!r} parameter must be {choices}. Got {given!r} instead.")


def require_list(parameter: str, given: Any, what: str) -> None:
    """Raise InputError unless a parameter is a collection of several things, not a text."""
    if not is_list(given):
        raise InputError(f"The {parameter!r} parameter must be a list of {what}. Got {given!r} instead.")


def is_list(given: Any) -> bool:
    """Return whether something is a collection of several things, not a text.

    >>> is_list(["a"]), is_list("a"), is_list(5)
    (True, False, False)
    """
    scalar = isinstance(given, str | bytes) or getattr(given, "shape", None) == ()  # an array of no dimension
    return isinstance(given, Iterable) and not scalar


def require_bool(parameter: str, given: Any) -> None:
    """Raise InputError unless a parameter is True or False; None and whole numbers are taken for what they mean."""
    of_numpy = type(given).__name__ in ("bool", "bool_")
    if not isinstance(given, int | None) and not of_numpy:
        raise InputError(f"The {parameter!r} parameter must be True or False. Got {given!r} instead.")


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return the end of a message: names with a similar spelling, or nothing.

    >>> did_you_mean("alcool", ["alcohol", "ash", "hue"])
    " Did you mean 'alcohol'?"
    """
    from difflib import get_close_matches  # imported late: few programs need it

    by_case: dict[str, str] = {}
    for known in names:
        by_case.setdefault(known.lower(), known)
    near = get_close_matches(name.lower(), by_case, n=3, cutoff=0.7)
    return f" Did you mean {' or '.join(repr(by_case[known]) for known in near)}?" if near else ""


if TYPE_CHECKING:
    from sklearn.exceptions import NotFittedError as _SklearnNotFittedError

    class NotFittedError(TreeproofError, _SklearnNotFittedError):  # type: ignore[misc]
        """The model has not been fitted yet."""


def __getattr__(name: str) -> Any:
    """Make `NotFittedError` when it is first needed: its base takes a second to import, and few programs need it."""
    if name != "NotFittedError":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sklearn import exceptions

    bases = (TreeproofError, exceptions.NotFittedError)
    doc = "The model has not been fitted yet."
    # If two threads get here at once, both use the first one's class.
    return globals().setdefault(name, type(name, bases, {"__module__": __name__, "__doc__": doc}))
