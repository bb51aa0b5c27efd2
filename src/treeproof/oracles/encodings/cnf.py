"""A propositional formula that grows clause by clause, and its DIMACS text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from treeproof.oracles.building import be_on_time

TRUE = 1 << 62
"""The literal that always holds; its negation never does. `Formula.add` keeps both out of clauses."""


class Formula:
    """A conjunction of clauses; a literal is a variable, ``1`` to ``n_variables``, or its negation.

    Examples
    --------
    >>> formula = Formula()
    >>> x, y = formula.variable(), formula.variable("y holds")
    >>> formula.add(-x, y)
    >>> formula.add(x, TRUE)
    >>> formula.add(x, -TRUE)
    >>> formula.clauses, formula.notes
    ([[-1, 2], [1]], {2: 'y holds'})
    """

    def __init__(self) -> None:
        self.n_variables = 0
        self.clauses: list[list[int]] = []
        self.notes: dict[int, str] = {}

    def variable(self, note: str | None = None) -> int:
        """Return a new variable; `note` says what it means, for people who read the exported formula."""
        self.n_variables += 1
        if note is not None:
            self.notes[self.n_variables] = note
        return self.n_variables

    def add(self, *literals: int) -> None:
        """Add a clause: at least one of the literals holds."""
        if len(self.clauses) % 256 == 0:
            be_on_time()
        if TRUE in literals:
            return
        if -TRUE in literals:
            literals = tuple(literal for literal in literals if literal != -TRUE)
        if literals:
            self.clauses.append(list(literals))
        else:
            self.contradict()

    def contradict(self) -> None:
        """Make the formula unsatisfiable; with units, because not every solver takes the empty clause."""
        variable = self.variable("both true and false: the formula is contradictory")
        self.clauses += [[variable], [-variable]]

    def extend(self, clauses: Iterable[list[int]], n_variables: int) -> None:
        """Add clauses that were made elsewhere and use variables up to `n_variables`."""
        self.clauses.extend(clauses)
        self.n_variables = max(self.n_variables, n_variables)

    def copy(self) -> Formula:
        """Return a formula that can grow on its own."""
        other = Formula()
        other.n_variables = self.n_variables
        other.clauses = self.clauses.copy()
        other.notes = self.notes.copy()
        return other


def dimacs(formula: Formula, assumptions: Sequence[int], meanings: Mapping[int, str]) -> str:
    """Return the DIMACS text of the formula with the assumptions as unit clauses.

    `meanings` adds to the formula's own notes; the comment lines name every variable that has a meaning.

    >>> formula = Formula()
    >>> formula.add(-formula.variable(), formula.variable("tree 1 votes Yes"))
    >>> print(dimacs(formula, [1], {1: "weight <= 75"}), end="")
    c 1 weight <= 75
    c 2 tree 1 votes Yes
    p cnf 2 2
    -1 2 0
    1 0
    """
    return "".join(line + "\n" for line in _lines(formula, assumptions, {**formula.notes, **meanings}))


def _lines(formula: Formula, assumptions: Sequence[int], meanings: Mapping[int, str]) -> Iterator[str]:
    # Assumed variables may occur in no clause, hence not in the formula's own count.
    n_variables = max([formula.n_variables, *map(abs, assumptions)])
    for variable in sorted(meanings):
        yield f"c {variable} {' '.join(meanings[variable].split())}"
    if len(meanings) < n_variables:
        yield f"c the other {n_variables - len(meanings)} variables are auxiliary"
    yield f"p cnf {n_variables} {len(formula.clauses) + len(assumptions)}"
    for clause in formula.clauses:
        yield f"{' '.join(map(str, clause))} 0"
    for literal in assumptions:
        yield f"{literal} 0"
