"""How robust a prediction is: the radius within which it is proved constant, and the nearest flip."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal

from treeproof.errors import InternalError, UnsupportedQueryError, require_one_of
from treeproof.model.columns import Label, Value
from treeproof.model.floats import rounded_down
from treeproof.model.frames import Origin
from treeproof.proof.certificate import Certificate, Cheapest, certify, certify_change
from treeproof.query.ball import Ball
from treeproof.query.context import Context, deadline_after
from treeproof.query.oracle import Claim, Entailed, Refuted
from treeproof.query.tally import Statistics
from treeproof.query.units import Group
from treeproof.questions.changes import Changed, ChangeResult
from treeproof.questions.moves import Moves
from treeproof.questions.norms import NORMS, NormName
from treeproof.questions.result import Scales, as_plain, certified, near_ties
from treeproof.search.minimum import minimum_contrastive
from treeproof.space.domains import as_domain
from treeproof.space.wording import show_class


def measure(
    context: Context, moves: Moves, norm: NormName, target: Any, ordering: list[int], timeout: float | None
) -> Robustness:
    """Return the distance of the nearest input with another label, or bounds on it if timed out."""
    require_one_of("norm", norm, tuple(NORMS))
    by = NORMS[norm]
    start = time.perf_counter()
    cache = context.plain.cache(moves.instance, context.claim(moves.instance, target), timeout, free=moves.free)
    proved = by.nearest(moves)
    answer = cache.ask(frozenset())
    witness, nearest = None, None
    if isinstance(answer, Entailed):
        proved = None
    elif isinstance(answer, Refuted):
        try:
            costs, unit = by.costs(moves, cache.deadline)
            found = by.search(cache, costs, ordering, answer)
            witness, proved, nearest = found.witness, found.bound * unit, found.cost * unit
        except TimeoutError:  # before all distances were known
            witness = answer
            if target is None:  # what need not have changed is put back, which also takes less time than to show it
                witness = Refuted(*context.nearer(moves.instance, answer, cache.deadline, moves.free))
            nearest = by.distance(moves.distances(witness))
    made = make_robustness(context, moves, norm, target, witness, proved, nearest, context.statistics(cache, start))
    return replace(made, _certify=partial(_certify, context.plain, moves, norm, target, made, ordering))


def _certify(
    context: Context,
    moves: Moves,
    norm: NormName,
    target: Any,
    made: Robustness,
    ordering: list[int],
    timeout: float | None,
) -> Certificate:
    """Return the certificate of a radius: of the ranges that inputs within it have, or of the fewest changes."""
    instance, space, deadline = moves.instance, context.space, deadline_after(timeout)
    claim = context.claim(instance, target)
    if made.proved_exact is not None and norm == "l1":
        raise UnsupportedQueryError("There is no certificate for norm='l1': no ranges of single features say it.")
    if made.proved_exact is not None and norm == "l0":
        return _certify_count(context, moves, claim, ordering, timeout)
    free = moves.free
    if made.proved_exact is not None:
        scales = tuple(moves.scale(f) for f in range(space.n_features))
        near = Ball(made.proved_exact, scales, "", open=True).domains(space, instance.row, instance.point)
        both = [frozenset(a).intersection(b) for a, b in zip(free, near, strict=True)]
        free = tuple(as_domain(cells, space.features[f].ordered) for f, cells in enumerate(both))
    kept = {f: context.cells.only(f, (instance.point[f],)) for f in moves.kept}
    return certify(context, replace(instance, free=free), claim, kept, minimal=False, deadline=deadline)


def _certify_count(
    context: Context, moves: Moves, claim: Claim, ordering: list[int], timeout: float | None
) -> Certificate:
    """Return the certificate of a smallest change, which is searched once more."""
    cache = context.cache(moves.instance, claim, timeout, free=moves.free)
    answer = cache.ask(frozenset())
    if isinstance(answer, Refuted):
        fewest = minimum_contrastive(cache, ordering, dict.fromkeys(cache.features, 1), answer)
        if fewest.found.status == "minimum":
            reasons = Cheapest(None, tuple(reason.features for reason in fewest.others))
            witness, _ = moves.row(fewest.found.witness.witness)
            instance = replace(moves.instance, free=moves.free)
            return certify_change(
                context, instance, claim, fewest.found.features, witness, cheapest=reasons, deadline=cache.deadline
            )
    raise UnsupportedQueryError("Timed out before the smallest change was found; allow more time.")


def make_robustness(
    context: Context,
    moves: Moves,
    norm: NormName,
    target: Any,
    witness: Refuted | None,
    proved: Fraction | None,
    nearest: Fraction | None,
    stats: Statistics,
) -> Robustness:
    """Return what was found as a result: the nearest flip, its distance, and the distance that is proved."""
    reached = None
    if witness is not None and nearest is not None:
        if NORMS[norm].distance(moves.distances(witness)) != nearest:
            raise InternalError(f"The witness {witness} is not at the distance {nearest}; please report this.")
        reached = NORMS[norm].reach(moves, witness, nearest)
    return Robustness(
        label=context.labels[moves.instance.label],
        norm=norm,
        proved_exact=proved,
        nearest_exact=nearest,
        witness=reached.values if reached else None,
        witness_label=reached.label if reached else None,
        changes=tuple(reached.changes.values()) if reached else (),
        target=context.label_of(target),
        instance=context.present(moves.instance.row),
        status="constant" if proved is None else "exact" if proved == nearest else "bounds",
        n_features=context.space.n_features,
        stats=stats,
        kept=context.names(sorted(moves.kept)),
        groups=context.groups,
        _scales=Scales(
            tuple(context.space.features[f] for f in reached.changes) if reached else (),
            context.forest.columns,
            context.forest.floats,
        ),
        _origin=moves.instance.origin,
    )


@dataclass(frozen=True, slots=True, repr=False)
class Robustness(ChangeResult):
    """The distance within which the prediction is proved constant, and the nearest input found at which it is not.

    Every input of the space at a distance below `proved` has the same label (with a `target`: not that label); the
    `witness`, at the distance `nearest`, has another one (the target). `proved` is rounded down and `nearest` up, so
    that both remain true as floats; `proved_exact` and `nearest_exact` are not rounded. Inputs are read as the model
    reads them: as float32, or as float64.

    `status` is ``"exact"`` (both are the same distance), ``"constant"`` (proved: no input of the space has another
    label, however far; `proved` is infinite and there is no witness) or ``"bounds"`` (timed out: the nearest flip
    is not closer than `proved`, and not farther than `nearest`, if that is known).

    `scale` says by what changes of features are divided, unless they are counted.

    `kept` names the features that keep their values, if some were to: all of that is about inputs that agree on these.
    Distances are those of single features, also of features in `groups`.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> print(tp.Explainer(forest).robustness(patient))
    No instead of Yes, if
      chest-pain: 1 -> 0.5
    Proved: every input at a distance below 0.5 keeps the label; this one is within 0.5.
    Distance: the largest scaled change of a feature.
    Scale: the span of the forest's cuts.
    """

    label: Label
    norm: NormName
    proved_exact: Fraction | None
    nearest_exact: Fraction | None
    witness: tuple[Value, ...] | None
    witness_label: Label | None
    changes: tuple[Changed, ...]
    target: Label | None
    instance: tuple[Value, ...]
    status: Literal["exact", "constant", "bounds"]
    n_features: int
    stats: Statistics = field(compare=False)
    kept: tuple[str, ...] = ()
    scale: str | None = None
    groups: tuple[Group, ...] = ()
    _scales: Scales | None = field(default=None, repr=False, compare=False)
    _origin: Origin | None = field(default=None, repr=False, compare=False)
    _certify: Callable[[float | None], Any] | None = field(default=None, repr=False, compare=False)

    def certificate(self, timeout: float | None = None) -> Any:
        """Return a `Certificate` that the label stays at every distance below `proved`.

        It lists the range that each feature has there; for ``norm="l0"`` it is that of a smallest change. There is none
        for ``norm="l1"``.
        """
        return certified(self._certify, timeout)

    @property
    def proved(self) -> float:
        """The radius within which the label is proved constant, rounded down; infinite if nothing changes it."""
        return math.inf if self.proved_exact is None else rounded_down(self.proved_exact)

    @property
    def nearest(self) -> float:
        """The distance of the nearest flip found, rounded up; infinite if there is none."""
        return math.inf if self.nearest_exact is None else -rounded_down(-self.nearest_exact)

    @property
    def decided(self) -> bool:
        """Whether the distance of the nearest flip is known, or that there is none."""
        return self.status in ("exact", "constant")

    def _claim(self) -> str:
        if self.proved_exact is None:
            every = f"every input of the space{self._keeping} keeps the label"
            none = f"no input of the space{self._keeping} gets the label {show_class(self.target)}"
            return f"Proved: {every if self.target is None else none}."
        norm = NORMS[self.norm]
        where = norm.below(self.proved_exact, self.n_features) + self._keeping
        stays = f"every input {where} keeps the label"
        proved = (
            f"Proved: {stays if self.target is None else f'no input {where} gets the label {show_class(self.target)}'}"
        )
        end = f"{norm.remark}{near_ties(self.stats)}"
        if self.nearest_exact is None:
            return f"{proved}. Timed out before finding one that does not.{end}"
        late = "" if self.status == "exact" else " Timed out; a nearer one may exist."
        rounded = self._up_to_rounding if norm.rounding_counts else ""
        return f"{proved}; this one {norm.reached(self.nearest_exact)}{rounded}.{late}{end}"

    def shown(self, most: int = 3) -> str:
        """Return the nearest flip on one line, with the first of its changes; nothing if none was found."""
        if self.nearest_exact is None:
            return ""
        changes = "; ".join(map(str, self.changes[:most]))
        more = f"; and {len(self.changes) - most} more" if len(self.changes) > most else ""
        return f"At that distance it is {show_class(self.witness_label)}, with {changes}{more}."

    @property
    def _keeping(self) -> str:
        return f" with {', '.join(self.kept)} kept" if self.kept else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON: exact distances as text, and None for infinite ones."""
        plain = as_plain(self)
        for name in ("proved", "nearest"):
            exact = getattr(self, f"{name}_exact")
            plain[name] = None if exact is None else getattr(self, name)
            plain[f"{name}_exact"] = None if exact is None else str(exact)
        return {"kind": "robustness", **plain}
