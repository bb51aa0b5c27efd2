"""A small checker of DRAT proofs, for those whose added clauses all follow by unit propagation (RUP)."""

from __future__ import annotations


def clauses_of(dimacs: str) -> list[list[int]]:
    lines = [line.split() for line in dimacs.splitlines() if line and line[0] not in "cp"]
    return [[int(literal) for literal in line[:-1]] for line in lines]


def is_refutation(dimacs: str, drat: str) -> bool:
    """Return whether every clause of the proof follows by unit propagation from those before it, the empty one too.

    Deletions are skipped: what was derived stays true. (Glucose also deletes clauses that its later steps still use, as
    reasons for what is true at the outset.)
    """
    occurrences: dict[int, list[list[int]]] = {}
    units: list[int] = []

    def learn(clause: list[int]) -> None:
        for literal in clause:
            occurrences.setdefault(literal, []).append(clause)
        if len(clause) == 1:
            units.append(clause[0])

    for clause in clauses_of(dimacs):
        if not clause:
            return True
        learn(clause)
    for line in drat.splitlines():
        words = line.split()
        if words[0] == "d":
            continue
        clause = [int(word) for word in words[:-1]]
        if not _conflicts(occurrences, [*units, *(-literal for literal in clause)]):
            return False
        if not clause:
            return True
        learn(clause)
    return False


def _conflicts(occurrences: dict[int, list[list[int]]], pending: list[int]) -> bool:
    """Return whether unit propagation from these literals leads to a conflict."""
    true: set[int] = set()
    while pending:
        literal = pending.pop()
        if -literal in true:
            return True
        true.add(literal)
        for clause in occurrences.get(-literal, ()):
            if any(other in true for other in clause):
                continue
            open_literals = [other for other in clause if -other not in true]
            if not open_literals:
                return True
            if len(open_literals) == 1:
                pending.append(open_literals[0])
    return False
