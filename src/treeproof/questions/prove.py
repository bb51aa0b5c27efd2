"""Whether a statement about labels is true of every input: "if CONDITIONS then LABEL"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from treeproof.errors import InputError
from treeproof.model.columns import Label
from treeproof.model.floats import FLOAT32
from treeproof.model.labels import Named
from treeproof.proof.certificate import Certificate, certify
from treeproof.query.context import Context, deadline_after
from treeproof.query.oracle import Claim, Entailed, Never, Query, Refuted, Stays
from treeproof.questions.everywhere import Everywhere, Input, everywhere
from treeproof.questions.result import Line, Result, Role, as_plain, certified, lines_of, under
from treeproof.space.domains import Cells, Domain
from treeproof.space.region import Region, as_results_mean, read_conditions
from treeproof.space.wording import ABOVE_ZERO, AS_FLOAT32, show_class

_IF_THEN = re.compile(r"\s*if\s+(?P<conditions>.+?)\s+then\s+(?P<label>.+?)\s*", re.IGNORECASE | re.DOTALL)
_NOT = re.compile(r"not\s+(?P<label>.+)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True, repr=False)
class Statement(Result):
    """Whether every input that satisfies the conditions has a label, or (`negated`) does not have it.

    `holds` is True (proved for all inputs of the space), False (`counterexamples` show it) or None (timed out). If it
    is true as results mean numbers, but not as it is written, `only_if` has the remarks with which it is.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, _ = tp.examples.heart_disease()
    >>> explainer = tp.Explainer(forest)
    >>> print(explainer.prove("if chest-pain = 0 and weight < 60 then No"))
    True: if chest-pain = 0 and weight < 60 then No
    Proved for every input.
    >>> print(explainer.prove("if weight > 80 then Yes"))
    False: if weight > 80 then Yes
      No, with blocked-arteries = 0, good-blood-circulation = 0, chest-pain = 0, weight = 80.1
    """

    holds: bool | None
    conditions: tuple[str, ...]
    label: Label
    negated: bool
    counterexamples: tuple[Input, ...]
    constraints: tuple[str, ...] = ()
    near_tie: bool = False
    only_if: tuple[str, ...] = ()
    _certify: Callable[[float | None], Any] | None = field(default=None, repr=False, compare=False)

    def __bool__(self) -> bool:
        if self.holds is None:
            raise ValueError("Whether the statement is true was not decided in time; see .holds.")
        return self.holds

    @property
    def text(self) -> str:
        """The statement."""
        label = f"{'not ' * self.negated}{show_class(self.label)}"
        return f"if {' and '.join(self.conditions)} then {label}" if self.conditions else f"every input is {label}"

    @property
    def title(self) -> str:
        """Whether it is true."""
        said = {True: "True", False: "False", None: "Not decided, timed out"}[self.holds]
        said += ", but only by rounding" if self.only_if else ""
        return f"{said}: {self.text}"

    @property
    def title_role(self) -> Role:
        """Whether it is true, false or not decided."""
        return "open" if self.holds is None else "title" if self.holds else "refuted"

    @property
    def lines(self) -> list[Line]:
        """The counterexamples, or that it is proved."""
        if self.holds:
            tie = " The proof met near ties, which the model's own additions decide." if self.near_tie else ""
            return [Line("proved", f"Proved for every input.{under(self.constraints)}{tie}")]
        shown = [Line("row", f"{show_class(one.label)}, with {one}") for one in self.counterexamples]
        if self.only_if:
            shown += [Line("proved", "Proved: as results mean numbers, it is true."), *lines_of("note", self.only_if)]
        return shown

    @property
    def decided(self) -> bool:
        """Whether it is true or false."""
        return self.holds is not None

    def certificate(self, timeout: float | None = None) -> Any:
        """Return a `Certificate` that the conditions force the label."""
        return certified(self._certify, timeout)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        return {"kind": "statement", **as_plain(self), "text": self.text}


def prove(context: Context, claim: Any, label: Any, examples: int, timeout: float | None) -> Statement:
    """Decide a statement, given as text, or as conditions with a label."""
    if isinstance(examples, bool) or not isinstance(examples, int) or examples < 1:
        raise InputError(f"The 'examples' parameter must be a whole number of at least 1. Got {examples!r}.")
    conditions, wanted, negated = _read(context, claim, label)
    part = everywhere(context, conditions, timeout)
    asked: Claim = Never(wanted) if negated else Stays(wanted)

    def ask(domains: tuple[Domain, ...], about: Claim = asked) -> Any:
        return context.oracle.decide(Query(domains, about, part.deadline, part.near))

    answer = ask(part.domains)
    shown: tuple[Input, ...] = ()
    made = None
    only_if: tuple[str, ...] = ()
    if isinstance(answer, Refuted):
        opposite: Claim = Stays(wanted) if negated else Never(wanted)
        # Of no input at all, anything holds.
        only_if = _only_if(
            part,
            conditions,
            lambda domains: isinstance(ask(domains), Entailed) and isinstance(ask(domains, opposite), Refuted),
        )
        shown = tuple(part.shown(point) for point in _several(part, answer.witness, examples, ask))
    elif isinstance(answer, Entailed):
        witness = ask(part.domains, Stays(wanted) if negated else Never(wanted))
        if isinstance(witness, Entailed):
            raise InputError(f"No input satisfies the conditions{part.under} together with the constraints.")
        if isinstance(witness, Refuted):
            made = partial(_certify, part, witness.witness, asked)
    known = {Entailed: True, Refuted: False}.get(type(answer))
    clauses = answer.clauses if isinstance(answer, Entailed) else ()
    return Statement(
        known,
        part.conditions,
        context.labels[wanted],
        negated,
        shown,
        context.constraints(clauses),
        isinstance(answer, Entailed) and answer.near_tie,
        only_if,
        _certify=made,
    )


def _only_if(part: Everywhere, conditions: Any, holds: Callable[[tuple[Domain, ...]], bool]) -> tuple[str, ...]:
    """Return the remarks with which a statement that is false as it is written is true, as results mean numbers."""
    space = part.context.space
    as_read = (AS_FLOAT32,) if space.forest.floats is FLOAT32 else ()
    given = read_conditions(space, conditions, None)
    for above_zero, remarks in ((False, as_read), (True, (*as_read, ABOVE_ZERO))):
        region = Region(space, [as_results_mean(space, restriction, above_zero) for restriction in given])
        domains = region.domains(part.context.cells.full)
        if region.empty is None and domains != part.domains and holds(domains):
            return remarks
    return ()


def _read(context: Context, claim: Any, label: Any) -> tuple[Any, int, bool]:
    """Return the conditions, the class, and whether inputs are said not to have it."""
    if label is not None:
        return claim, context.class_index(label), False
    found = _IF_THEN.fullmatch(claim) if isinstance(claim, str) else None
    if found is None:
        raise InputError(
            f"A statement must read 'if CONDITIONS then LABEL', or be conditions with label=. Got {claim!r}."
        )
    text = found["label"]
    by_text: dict[str, int] = {}
    for k, known in enumerate(context.labels):
        plain = known.label if isinstance(known, Named) else known
        by_text |= {str(plain): k, show_class(known): k, str(known): k}
    if text in by_text:
        return found["conditions"], by_text[text], False
    negation = _NOT.fullmatch(text)
    if negation is not None and negation["label"] in by_text:
        return found["conditions"], by_text[negation["label"]], True
    raise InputError(f"A label must be one of {[str(known) for known in context.labels]}. Got {text!r}.")


def _several(part: Everywhere, first: Cells, n: int, ask: Callable[[tuple[Domain, ...]], Any]) -> list[Cells]:
    """Return up to n counterexamples: further ones avoid a cell of the first, each of another feature."""
    found = [first]
    for domains in _beside(part, first) if n > 1 else ():
        if len(found) == n:
            break
        answer = ask(domains)
        if isinstance(answer, Refuted) and answer.witness not in found:
            found.append(answer.witness)
    return found


def _beside(part: Everywhere, point: Cells) -> Iterator[tuple[Domain, ...]]:
    for f, domain in enumerate(part.domains):
        others = [cell for cell in domain if cell != point[f]]
        sides = [
            [cell for cell in others if cell < point[f]],
            [cell for cell in others if cell > point[f]],
        ]
        for side in sides:
            if side:
                yield (*part.domains[:f], part.context.cells.only(f, side), *part.domains[f + 1 :])


def _certify(part: Everywhere, point: Cells, claim: Claim, timeout: float | None) -> Certificate:
    context = part.context
    kept = {f: domain for f, domain in enumerate(part.domains) if len(domain) < context.cells.n_cells[f]}
    return certify(context, part.instance(point), claim, kept, minimal=False, deadline=deadline_after(timeout))
