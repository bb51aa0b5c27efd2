"""One query about a row as text for a solver."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from treeproof.errors import UnsupportedQueryError, require_one_of
from treeproof.oracles import make_oracle
from treeproof.oracles.building import be_on_time, building_until
from treeproof.query.context import Context, Instance, deadline_after
from treeproof.query.oracle import Query, fix
from treeproof.space.domains import Domain


def encode(
    context: Context,
    instance: Instance,
    features: Iterable[str | int] | None,
    target: Any,
    format: Literal["dimacs", "smtlib"],
    options: Mapping[str, Any],
    timeout: float | None = None,
) -> str:
    """Return a formula that is satisfiable iff the label can change while these features keep their values.

    UnsupportedQueryError if it is not complete in time: a part of it would say something else.
    """
    require_one_of("format", format, ("dimacs", "smtlib"))
    space = context.space
    fixed = range(space.n_features) if features is None else context.features(features)
    query = Query(fix(context.cells, instance.point, fixed), context.claim(instance, target))

    def describe(feature: int, domain: Domain) -> str:
        be_on_time()
        return str(space.features[feature].condition(domain))

    try:
        with building_until(deadline_after(timeout)):
            if format == "dimacs":
                from treeproof.oracles.sat import SatOracle, to_dimacs  # slow to import

                sat = make_oracle("sat", context.cells, **options)
                assert isinstance(sat, SatOracle)
                return to_dimacs(sat, query, space.names, describe)
            from treeproof.oracles.smt import SmtOracle, to_smtlib

            smt = make_oracle("smt", context.cells, **options)
            assert isinstance(smt, SmtOracle)
            return to_smtlib(smt, query, space.names, describe)
    except TimeoutError as error:
        raise UnsupportedQueryError("Timed out before the formula was complete; allow more time.") from error
