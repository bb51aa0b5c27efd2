"""What is kept or freed as one: single features, and groups of them.

A unit goes by the index of its first feature, so without groups units and features are the same numbers. Searches for
sets work on units; oracles, conditions and distances know features only. `Units` translates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from treeproof.checker import looks
from treeproof.errors import InputError, require_list, require_mapping
from treeproof.space.space import Space


@dataclass(frozen=True, slots=True)
class Group:
    """Features that are kept or freed together, and count as one.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> explainer = tp.Explainer(forest, groups={"heart": ["blocked-arteries", "good-blood-circulation"]})
    >>> print(explainer.abductive(patient).groups[0])
    heart (blocked-arteries, good-blood-circulation)
    """

    name: str
    members: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(self.members)})"


@dataclass(frozen=True)
class Units:
    """The units of so many features; `groups` has the features of each group, sorted, by its name."""

    n_features: int
    groups: Mapping[str, tuple[int, ...]]

    @cached_property
    def members(self) -> dict[int, tuple[int, ...]]:
        """The features of each unit."""
        first = {those[0]: those for those in self.groups.values()}
        grouped = {f for those in self.groups.values() for f in those}
        return {f: first.get(f, (f,)) for f in range(self.n_features) if f in first or f not in grouped}

    @cached_property
    def of(self) -> list[int]:
        """The unit of each feature."""
        found = list(range(self.n_features))
        for those in self.groups.values():
            for f in those:
                found[f] = those[0]
        return found

    @cached_property
    def everything(self) -> frozenset[int]:
        """All units."""
        return frozenset(self.members)

    def features(self, units: frozenset[int]) -> frozenset[int]:
        """Return the features of units."""
        return frozenset(f for unit in units for f in self.members[unit]) if self.groups else units

    def touched(self, features: Iterable[int]) -> frozenset[int]:
        """Return the units that have one of these features."""
        return frozenset(self.of[f] for f in features) if self.groups else frozenset(features)

    def sorted(self, features: Iterable[int]) -> tuple[int, ...]:
        """Return features in their order, but those of a group one after the other."""
        return tuple(sorted(features, key=lambda f: (self.of[f], f)) if self.groups else sorted(features))


def read_groups(space: Space, groups: Mapping[str, Sequence[str | int]] | None) -> Units:
    """Return the groups that the user declares; InputError unless each feature is in at most one of them."""
    require_mapping("groups", groups, "names to features, as in {'address': ['street', 'city']}")
    found: dict[str, tuple[int, ...]] = {}
    owner: dict[int, str] = {}
    called = set(map(looks, space.names))
    for name, given in (groups or {}).items():
        if not isinstance(name, str) or not name:
            raise InputError(f"A group must have a name, which is text. Got {name!r} instead.")
        if looks(name) in called:
            what = "features" if name in space.names else "features and groups, also to the eye"
            raise InputError(f"A group must be named differently from all {what}. Got {name!r}; choose another name.")
        called.add(looks(name))
        members = _members(space, name, given)
        for f in members:
            if f in owner:
                both = f"{owner[f]!r} twice" if owner[f] == name else f"{owner[f]!r} and {name!r}"
                raise InputError(f"A feature must be in one group, once. Got {space.names[f]!r} in {both}.")
            owner[f] = name
        found[name] = tuple(sorted(members))
    return Units(space.n_features, found)


def _members(space: Space, name: str, given: Any) -> list[int]:
    require_list("groups", given, f"features of the group {name!r}, by name or index")
    members = [space.index(feature) for feature in given]
    if not members:
        raise InputError(f"A group must have at least one feature. Got none for {name!r}; leave it out.")
    return members
