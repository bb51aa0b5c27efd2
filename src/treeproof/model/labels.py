"""Class labels with names for people: a model's 1 that prints as "bad"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from treeproof.errors import InputError, did_you_mean, is_list
from treeproof.model.columns import Label


class Named:
    """A label of the model with a name: it equals the label, hashes and is stored like it, and prints as the name.

    `label` is the model's own, `name` what people call it. So whatever shows a label shows its name, and whatever
    compares labels, or writes them into a file, goes by the model's own.

    Examples
    --------
    >>> bad = name_labels([0, 1], {1: "bad"})[1]
    >>> print(bad, bad == 1, bad.label, [bad])
    bad True 1 [1 (bad)]
    """

    label: Label
    name: str

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"{self.label!r} ({self.name})"

    def __format__(self, spec: str) -> str:
        return format(self.name, spec)

    def __reduce__(self) -> tuple[Any, ...]:
        return _named, (self.label, self.name)


class _NamedNumber(Named, int):
    """Of whole numbers and, as nothing can derive from bool, of True and False."""


class _NamedFloat(Named, float):
    pass


class _NamedText(Named, str):
    pass


def _named(label: Label, name: str) -> Label:
    kind = _NamedText if isinstance(label, str) else _NamedNumber if isinstance(label, int) else _NamedFloat
    found: Any = kind(label)
    found.label, found.name = label, name
    return found


def name_labels(labels: Sequence[Label], names: Mapping[Any, str] | None) -> list[Label]:
    """Return the labels, those with a name as `Named`; InputError unless all are shown differently.

    A label of `names` may also be given as text, as in JSON.
    """
    if names is None:
        return list(labels)
    if not isinstance(names, Mapping) or not all(isinstance(name, str) and name.strip() for name in names.values()):
        raise InputError(
            f"The 'names' parameter must map labels to their names, which are text. Got {names!r} instead."
        )
    found = list(labels)
    texts = [str(label) for label in labels]
    for label, name in names.items():
        # JSON has no other keys than text.
        place = texts.index(label) if isinstance(label, str) and label in texts else find_label(labels, label)
        found[place] = _named(labels[place], name)
    shown = [str(label) for label in found]
    twice = next((text for text in shown if shown.count(text) > 1), None)
    if twice is not None:
        raise InputError(f"The names of labels must differ, also from labels without a name. Got {twice!r} twice.")
    return found


def find_label(labels: Sequence[Label], given: Any) -> int:
    """Return the index of a label, given as the model has it or by its name.

    >>> find_label(name_labels([0, 1], {1: "bad"}), "bad")
    1
    """
    wanted = plain_label(given)
    known = [] if is_list(given) else labels  # an array is equal to nothing, and to compare it is an error
    own = [plain_label(label) for label in known]
    for index, label in enumerate(own):
        if label == wanted and isinstance(label, bool) == isinstance(wanted, bool | np.bool_):
            return index
    for index, label in enumerate(known):
        if isinstance(label, Named) and label.name == wanted:
            return index
    near = did_you_mean(wanted, [str(label) for label in labels]) if isinstance(wanted, str) else ""
    raise InputError(f"The class must be one of {list(labels)}. Got {given!r} instead.{near}")


def plain_label(label: Any) -> Any:
    """Return a label as the model has it."""
    return label.label if isinstance(label, Named) else label
