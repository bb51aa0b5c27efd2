"""The Python lines that give the answers that are on the screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from treeproof.model.labels import plain_label

Json = dict[str, Any]
NOTEBOOK = ("# As in the notebook: explainer.workbench(X)",)


def python_lines(
    lines: Sequence[str],
    names: Sequence[str],
    labels: Sequence[Any],
    asked: Sequence[Json],
    taken: Callable[[Any], Mapping[str, Any]],
) -> str:
    """Return a script: `lines`, which make the explainer, and a call for each question that has one in Python.

    `taken` returns a row of the page as the model takes it.
    """
    script = [*(lines or NOTEBOOK), ""]
    last = None
    for one in asked:
        args, call = one.get("args"), _CALLS.get(str(one.get("ask")))
        if call is None or not isinstance(args, dict) or "values" not in args:
            continue
        for what in ("values", "others"):
            if args.get(what) is None:
                continue
            if args[what] != last:
                script.append(f"x = {dict(taken(args[what]))!r}")
                last = args[what]
            script += call("other" if args.get("model") == 1 else "explainer", args, names, labels)
    return "\n".join(script) + "\n"


def _options(**given: Any) -> str:
    """Return arguments as they are written, without those that are left out."""
    return "".join(f", {name}={value!r}" for name, value in given.items() if value not in (None, False, [], {}))


def _why(asks: str, args: Json, names: Sequence[str], labels: Sequence[Any]) -> list[str]:
    options = _options(within=args.get("within"), inflate=bool(args.get("widened", True)))
    return [f"print({asks}.abductive(x{options}))"]


def _hold(asks: str, args: Json, names: Sequence[str], labels: Sequence[Any]) -> list[str]:
    intervals = args.get("intervals") or {}
    held = ", ".join(_held(asks, f, intervals.get(str(f)), names) for f in args.get("held", ()))
    return [f"print({asks}.holds(x, [{held}]{_options(within=args.get('within'))}))"]


def _held(asks: str, f: int, interval: Json | None, names: Sequence[str]) -> str:
    if interval is None:
        return repr(names[f])
    if interval.get("values") is not None:
        chosen = ", ".join(f"{asks}.space.features[{f}].labels[{place}]" for place in interval["values"])
        return f"tp.Condition({names[f]!r}, values=({chosen},))"
    low, high, ranges = interval.get("low"), interval.get("high"), interval.get("ranges")
    options = _options(ranges=tuple(map(tuple, ranges))) if ranges else f", {low!r}, {high!r}"
    missing = "" if interval.get("missing") is None else f", missing={bool(interval['missing'])}"
    return f"tp.Condition({names[f]!r}{options}, dtype={asks}.forest.dtype{missing})"


def _changes(asks: str, args: Json, names: Sequence[str], labels: Sequence[Any]) -> list[str]:
    target = args.get("target")
    options = _options(
        fixed=[names[f] for f in args.get("fixed") or ()],
        directions={names[int(f)]: way for f, way in (args.get("directions") or {}).items()},
    )
    wanted = "" if target is None else f", target={plain_label(labels[target])!r}"
    return [f"print({asks}.contrastives(x, {args.get('count', 3)}{wanted}{options}))"]


def _reasons(asks: str, args: Json, names: Sequence[str], labels: Sequence[Any]) -> list[str]:
    options = _options(within=args.get("within"), limit=args.get("limit", 200))
    return [f'for found in {asks}.enumerate(x, kind="both"{options}):', "    print(found.feature_names)"]


def _robustness(asks: str, args: Json, names: Sequence[str], labels: Sequence[Any]) -> list[str]:
    options = _options(keep=[names[f] for f in args.get("keep") or ()])
    return [f"print({asks}.robustness(x, {args.get('norm', 'linf')!r}{options}))"]


def _compare(asks: str, args: Json, names: Sequence[str], labels: Sequence[Any]) -> list[str]:
    options = _options(within=args.get("within"), inflate=bool(args.get("widened", True)))
    both = [asks] if args.get("others") is not None else ["explainer", "other"]
    return [f"print({each}.abductive(x{options}))" for each in both]


def _plain(method: str) -> Callable[[str, Json, Sequence[str], Sequence[Any]], list[str]]:
    return lambda asks, args, names, labels: [f"print({asks}.{method}(x))"]


_CALLS: dict[str, Callable[[str, Json, Sequence[str], Sequence[Any]], list[str]]] = {
    "why": _why,
    "hold": _hold,
    "changes": _changes,
    "reasons": _reasons,
    "relevance": _plain("relevance"),
    "attribution": _plain("attribution"),
    "robustness": _robustness,
    "compare": _compare,
}
