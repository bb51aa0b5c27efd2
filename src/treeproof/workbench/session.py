"""What the page of a workbench asks: each question is a method, with plain JSON in and plain JSON out.

It knows no transport. `protocol.md` describes every message; what is proved, and the sentences that say so, come from
the explainer's own results.
"""

from __future__ import annotations

import json
import math
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from treeproof.errors import InputError, did_you_mean
from treeproof.explainer import Explainer
from treeproof.model.columns import Rows
from treeproof.model.files import forest_to_json
from treeproof.model.rows import as_row
from treeproof.proof.certificate import fingerprint
from treeproof.questions.abductive import Abductive
from treeproof.questions.changes import Changed
from treeproof.questions.result import Line, Result
from treeproof.show.report.report import report
from treeproof.space.conditions import Condition, Range
from treeproof.space.features import NumericFeature, ValueFeature
from treeproof.workbench.bundle import saved_page
from treeproof.workbench.code import python_lines
from treeproof.workbench.table import Json, Table, number, predict, score_name, values_of

SECONDS = 10.0  # that a question may take, unless it says otherwise
LONGEST = 600.0
NOTCHES = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, None)
_MOST_ROWS = 1000  # in one answer
_KEPT_ANSWERS = 256
_OFTEN = 0.1  # seconds between two looks at what is found so far

Progress = Callable[[str, int, int | None, Any], None]
"""Takes a text, how much is done, of how much (None if that is not known), and what is found so far."""


def _silent(text: str, done: int, total: int | None, part: Any) -> None:
    """Tell nobody."""


class Session:
    """One explainer, or two with the same features, and a table of rows; safe to share between threads.

    Parameters
    ----------
    explainers
        One explainer, or two to compare.
    X
        Rows, as the models take them.
    title
        What the page is called.
    names
        What the models are called; by default what they are.
    lines
        The Python lines that make ``explainer`` (and ``other``), for those who want to go on in Python.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> session = Session([tp.Explainer(forest)], [patient])
    >>> session.ask("why", {"values": list(patient), "widened": False})["features"]
    [0, 2]
    """

    def __init__(
        self,
        explainers: Sequence[Explainer],
        X: Any,
        *,
        title: str = "Workbench",
        names: Sequence[str] = (),
        lines: Sequence[str] = (),
    ) -> None:
        self._explainers, self._X, self.title = tuple(explainers), X, title
        self._table = Table(explainers[0], X)
        for other in explainers[1:]:
            _check_same(explainers[0], other)
        self._names = list(names) or [_describe(explainer) for explainer in explainers]
        self._lines = tuple(lines)
        self._answers: OrderedDict[str, Json] = OrderedDict()
        self._lock = threading.Lock()
        self._drawing = threading.Lock()  # matplotlib's settings are those of the whole process
        self._asks: dict[str, Callable[[Json, Progress], Json]] = {
            "start": self._start,
            "rows": self._rows,
            "predict": self._predict,
            "why": self._kept("why", self._why),
            "hold": self._kept("hold", self._hold),
            "sizes": self._kept("sizes", self._sizes),
            "changes": self._kept("changes", self._changes),
            "reasons": self._reasons,  # may be long
            "relevance": self._kept("relevance", self._relevance),
            "attribution": self._kept("attribution", self._attribution),
            "robustness": self._kept("robustness", self._robustness),
            "compare": self._kept("compare", self._compare),
            "take": self._take,
        }

    def ask(self, ask: str, args: Json, progress: Progress = _silent) -> Json:
        """Answer one question; InputError, or another error of treeproof, if it cannot be answered."""
        if ask not in self._asks:
            raise InputError(f"The workbench must know the question. Got {ask!r}.{did_you_mean(ask, self._asks)}")
        return self._asks[ask](args, progress)

    def _kept(self, name: str, answer: Callable[[Json, Progress], Json]) -> Callable[[Json, Progress], Json]:
        """Return a function that remembers answers: a slider goes back and forth. What timed out is asked again."""

        def kept(args: Json, progress: Progress) -> Json:
            key = json.dumps([name, args], sort_keys=True)
            with self._lock:
                if key in self._answers:
                    self._answers.move_to_end(key)
                    return self._answers[key]
            found = answer(args, progress)
            if all(sentence["role"] != "open" for sentence in found.get("sentences", ())) and None not in (
                found.get("forced", True),
                *(size["size"] for size in found.get("sizes", ())),
            ):
                with self._lock:
                    self._answers[key] = found
                    while len(self._answers) > _KEPT_ANSWERS:
                        self._answers.popitem(last=False)
            return found

        return kept

    # What every question needs.

    def _explainer(self, args: Json) -> Explainer:
        model = args.get("model", 0)
        if model not in range(len(self._explainers)) or isinstance(model, bool):
            raise InputError(f"The model must be a number from 0 to {len(self._explainers) - 1}. Got {model!r}.")
        return self._explainers[model]

    def _seconds(self, args: Json) -> float:
        seconds = args.get("seconds", SECONDS)
        if not _is_number(seconds) or not 0 <= seconds <= LONGEST:
            raise InputError(f"'seconds' must be a number from 0 to {LONGEST:g}. Got {seconds!r}.")
        return float(seconds)

    def _features(self, given: Any, what: str) -> list[int]:
        n = len(self._table.features)
        if not isinstance(given, list) or not all(type(f) is int and 0 <= f < n for f in given):
            raise InputError(f"'{what}' must be a list of features, each a number from 0 to {n - 1}. Got {given!r}.")
        return given

    def _row(self, args: Json, what: str = "values") -> dict[str, Any]:
        """Return the row that the page sent, as the model takes it: a value for each column's name."""
        return self._as_taken(self._read(args.get(what), what))

    def _read(self, given: Any, what: str) -> Rows:
        """Return the row that the page sent, in the forest's own numbers."""
        features, forest = self._table.features, self._table.forest
        if not isinstance(given, list) or len(given) != len(features):
            raise InputError(f"'{what}' must be a list of {len(features)} values, one for each feature. Got {given!r}.")
        row = np.full(forest.n_columns, np.nan)
        for feature, value in zip(features, given, strict=True):
            if isinstance(feature, NumericFeature):
                if value is not None and not _is_number(value):
                    raise InputError(f"The value of {feature.name!r} must be a number, or null. Got {value!r}.")
                row[feature.column] = math.nan if value is None else value
                continue
            assert isinstance(feature, ValueFeature)
            if type(value) is not int or not 0 <= value < feature.n_cells:
                raise InputError(
                    f"The value of {feature.name!r} must be a place among its {feature.n_cells} values, from 0. "
                    f"Got {value!r}."
                )
            row[list(feature.columns)] = feature.points[value]
        return row

    def _as_taken(self, row: Rows) -> dict[str, Any]:
        taken: dict[str, Any] = {}
        for column, value in zip(self._table.forest.columns, row.tolist(), strict=True):
            missing = math.isnan(value)
            if column.categories is not None and not missing:
                taken[column.name] = column.category(int(value))
            else:
                taken[column.name] = None if missing else value
        return taken

    def _within(self, args: Json) -> float | None:
        within = args.get("within")
        if within is not None and (not _is_number(within) or within < 0):
            raise InputError(f"'within' must be a number of at least 0, or null for everywhere. Got {within!r}.")
        return within

    def _label(self, explainer: Explainer, label: Any) -> int | None:
        return None if label is None else explainer._context.class_index(label)

    def _values(self, shown: Sequence[Any] | None) -> list[float | int | None] | None:
        """Return an input as people write it as the page has it."""
        if shown is None:
            return None
        forest = self._table.forest
        return values_of(self._table.features, as_row(list(shown), forest.columns, forest.floats))

    def _changed(self, changes: Iterable[Changed], values: Sequence[Any] | None) -> list[Json]:
        found = []
        for change in changes:
            f = self._place(change.name)
            value = None if values is None else values[f]
            found.append({"feature": f, "before": change.before, "after": change.after, "value": value})
        return found

    def _place(self, name: str) -> int:
        return self._explainers[0].space.index(name)

    def _condition(self, condition: Condition) -> Json:
        f = self._place(condition.name)
        feature = self._table.features[f]
        values = None
        if isinstance(feature, ValueFeature):
            chosen = feature.labels if condition.values is None else condition.values
            values = [f for f, label in enumerate(feature.labels) if label in chosen]
        elif condition.values is not None:  # a number that is missing
            values = []
        low, high = condition.low, condition.high
        ends = condition.bounds(low, high)
        return {
            "feature": f,
            "text": str(condition),
            "low": number(low),
            "high": number(high),
            "closed": [end is None or not end.strict for end in ends],
            "values": values,
            "missing": condition.values == (None,) or condition.missing,
            "ranges": [[number(start), number(end)] for start, end in condition.ranges],
        }

    # The questions.

    def _start(self, args: Json, progress: Progress) -> Json:
        explainer, table = self._explainers[0], self._table
        ball = explainer._ball(0, None)
        assert ball is not None
        from importlib.metadata import version

        return {
            "title": self.title,
            "models": self._names,
            "fingerprint": fingerprint(explainer.forest),
            "classes": table.classes,
            "score": score_name(explainer.forest),
            "n_rows": len(table),
            "row_names": table.names is not None,
            "measure": ball.measure,
            "notches": list(NOTCHES),
            "constraints": [constraint.text for constraint in explainer.space.constraints],
            "version": version("treeproof"),
            "features": [table.describe(f, float(scale)) for f, scale in enumerate(ball.scales)],
        }

    def _rows(self, args: Json, progress: Progress) -> Json:
        table = self._table
        offset, limit = args.get("offset", 0), args.get("limit", 100)
        for what, given in (("offset", offset), ("limit", limit)):
            if type(given) is not int or given < 0:
                raise InputError(f"'{what}' must be a whole number of at least 0. Got {given!r}.")
        if (indices := args.get("indices")) is not None:
            if not isinstance(indices, list) or not all(type(i) is int for i in indices):
                raise InputError(f"'indices' must be a list of whole numbers. Got {indices!r}.")
            for i in indices:
                if not 0 <= i < len(table):
                    raise InputError(f"There is no row {i}; the rows are 0 to {len(table) - 1}.")
            found = np.array(indices, dtype=np.intp)
        else:
            found = table.find(
                search=_text(args.get("search"), "search"),
                where=_text(args.get("where"), "where"),
                sort=args.get("sort"),
                descending=bool(args.get("descending")),
            )
        shown = found[offset : offset + min(limit, _MOST_ROWS)].tolist()
        return {"total": len(found), "offset": offset, "rows": [self._shown_row(i) for i in shown]}

    def _shown_row(self, index: int) -> Json:
        table = self._table
        label = int(table.labels[index])
        return {
            "index": index,
            "name": str(index) if table.names is None else table.names[index],
            "label": None if label < 0 else label,
            "score": number(table.score[index]),
            "values": table.values(index),
            "refused": table.refusals.get(index) or self._refusal(self._as_taken(table.rows[index])),
        }

    def _refusal(self, x: dict[str, Any]) -> str | None:
        """Return why a row is outside the declared space, and nothing can be proved about it."""
        try:
            self._explainers[0]._context.instance(x)
        except InputError as error:
            return str(error)
        return None

    def _predict(self, args: Json, progress: Progress) -> Json:
        explainer, x = self._explainer(args), self._row(args)
        forest = explainer.forest
        labels, scores = predict(forest, as_row(x, forest.columns, forest.floats)[None, :])
        return {
            "label": int(labels[0]),
            "scores": [number(score) for score in scores[0]],
            "refused": self._refusal(x),
        }

    def _why(self, args: Json, progress: Progress) -> Json:
        return self._reason(self._explainer(args), self._abductive(args))

    def _abductive(self, args: Json) -> Abductive:
        explainer, x = self._explainer(args), self._row(args)
        widened = bool(args.get("widened", True))
        return explainer.abductive(x, within=self._within(args), inflate=widened, timeout=self._seconds(args))

    def _reason(self, explainer: Explainer, why: Abductive) -> Json:
        return {
            "label": self._label(explainer, why.label),
            "features": list(why.features),
            "conditions": [self._condition(condition) for condition in why.rule],
            "others": [self._condition(condition) for condition in why.others],
            "status": why.status,
            "decided": why.decided,
            "sentences": sentences(why),
            "within": number(why.within),
            "seconds": why.stats.seconds,
        }

    def _hold(self, args: Json, progress: Progress) -> Json:
        explainer, x = self._explainer(args), self._row(args)
        held = self._features(args.get("held"), "held")
        intervals = args.get("intervals") or {}
        if not isinstance(intervals, dict):
            raise InputError(f"'intervals' must be an object of features. Got {intervals!r}.")
        for key in intervals:
            self._features([int(key) if isinstance(key, str) and key.isdigit() else key], "intervals")
        kept = [self._interval(f, intervals[str(f)], args) if str(f) in intervals else f for f in held]
        claim = [item for item in kept if item is not None]
        verdict = explainer.holds(x, claim, within=self._within(args), timeout=self._seconds(args))
        witness = self._values(verdict.witness)
        return {
            "forced": verdict.holds,
            "label": self._label(explainer, verdict.label),
            "other": self._label(explainer, verdict.witness_label),
            "changes": self._changed(verdict.changes, witness),
            "witness": witness,
            "enough": None if verdict.enough is None else list(verdict.enough),
            "sentences": sentences(verdict),
            "within": number(verdict.within),
            "seconds": verdict.stats.seconds,
        }

    def _interval(self, f: int, given: Any, args: Json) -> Condition | None:
        """Return the condition that a held feature stays in an interval; None if that holds of every value."""
        feature = self._table.features[f]
        if not isinstance(given, dict):
            raise InputError(f"The interval of {feature.name!r} must be an object. Got {given!r}.")
        if isinstance(feature, ValueFeature):
            places = given.get("values")
            if not isinstance(places, list) or not all(type(p) is int and 0 <= p < feature.n_cells for p in places):
                raise InputError(f"The values of {feature.name!r} must be places among its values. Got {places!r}.")
            others = tuple(label for c, label in enumerate(feature.labels) if c not in places)
            return Condition(feature.name, values=tuple(feature.labels[p] for p in sorted(set(places))), others=others)
        assert isinstance(feature, NumericFeature)
        own = args["values"][f]
        missing = None if feature.missing_cell is None else bool(given.get("missing", own is None))
        ranges = given.get("ranges") or [[given.get("low"), given.get("high")]]
        ends: list[Range] = []
        for pair in ranges:
            if not isinstance(pair, list) or len(pair) != 2 or any(e is not None and not _is_number(e) for e in pair):
                raise InputError(f"The ends of the interval of {feature.name!r} must be numbers or null. Got {pair!r}.")
            first, last = (None if end is None else feature.floats.round(float(end)) for end in pair)
            ends.append((first, last))
        low, high = ends[0] if len(ends) == 1 else (None, None)
        if len(ends) == 1 and low is None and high is None and missing is not False:
            return None
        return Condition(
            feature.name,
            low,
            high,
            missing=missing,
            ranges=tuple(ends) if len(ends) > 1 else (),
            dtype=feature.floats.name,
            date=feature.kind == "date",
            whole=feature.kind != "real",
            near=own,
        )

    def _sizes(self, args: Json, progress: Progress) -> Json:
        explainer, x = self._explainer(args), self._row(args)
        end = time.monotonic() + self._seconds(args)
        sizes: list[Json] = []
        for within in NOTCHES:
            why = explainer.abductive(x, within=within, timeout=max(0.0, end - time.monotonic()))
            known = why.status != "sound"
            size = why.size if known else None
            sizes.append({"within": within, "size": size, "features": list(why.features), "status": why.status})
            progress(f"{len(sizes)} of {len(NOTCHES)}", len(sizes), len(NOTCHES), {"sizes": list(sizes)})
        return {"sizes": sizes}

    def _changes(self, args: Json, progress: Progress) -> Json:
        explainer, x = self._explainer(args), self._row(args)
        fixed = self._features(args.get("fixed") or [], "fixed")
        given = args.get("directions") or {}
        count = args.get("count", 3)
        if not isinstance(given, dict) or not all(isinstance(f, str) and f.isdigit() for f in given):
            raise InputError(f"'directions' must be an object of features. Got {given!r}.")
        if type(count) is not int or not 1 <= count <= 50:
            raise InputError(f"'count' must be a whole number from 1 to 50. Got {count!r}.")
        self._features([int(f) for f in given], "directions")
        found = explainer.contrastives(
            x,
            count,
            target=self._target(explainer, args),
            fixed=fixed,
            directions={int(f): direction for f, direction in given.items()},
            timeout=self._seconds(args),
        )
        changes = []
        for change in found:
            if change.witness is None:
                continue
            values = self._values(change.witness)
            assert values is not None
            label, scores = self._evaluated(explainer, values)
            changes.append(
                {
                    "features": list(change.features),
                    "changes": self._changed(change.changes, values),
                    "values": values,
                    "label": label,
                    "scores": scores,
                    "distance": number(change.distance),
                    "status": change.status,
                    "sentences": sentences(change),
                }
            )
        return {
            "changes": changes,
            "label": self._label(explainer, found.label),
            "complete": found.status == "all",
            "sentences": sentences(found),
            "seconds": found.stats.seconds,
        }

    def _evaluated(self, explainer: Explainer, values: Sequence[Any]) -> tuple[int, list[float | None]]:
        found = self._predict({"values": list(values), "model": self._explainers.index(explainer)}, _silent)
        return found["label"], found["scores"]

    def _target(self, explainer: Explainer, args: Json) -> Any:
        target = args.get("target")
        if target is None:
            return None
        labels = explainer._context.labels
        if type(target) is not int or not 0 <= target < len(labels):
            raise InputError(f"'target' must be a class, a number from 0 to {len(labels) - 1}. Got {target!r}.")
        return labels[target]

    def _reasons(self, args: Json, progress: Progress) -> Json:
        explainer, x = self._explainer(args), self._row(args)
        limit = args.get("limit", 200)
        if type(limit) is not int or not 1 <= limit <= 10000:
            raise InputError(f"'limit' must be a whole number from 1 to 10000. Got {limit!r}.")
        start = told = time.perf_counter()
        listing = explainer.enumerate(
            x, kind="both", within=self._within(args), limit=limit, timeout=self._seconds(args)
        )
        found: Json = {"abductive": [], "contrastive": []}
        label = None
        for one in listing:
            label = self._label(explainer, one.label)
            found["abductive" if isinstance(one, Abductive) else "contrastive"].append(list(one.features))
            if time.perf_counter() - told > _OFTEN:
                told = time.perf_counter()
                part = {kind: list(sets) for kind, sets in found.items()}
                progress(f"{listing.n_found} found", listing.n_found, None, {**part, "complete": False, "label": label})
        seconds = time.perf_counter() - start
        label = self._label(explainer, explainer.holds(x, []).label) if label is None else label
        told_all = {"complete": bool(listing.complete), "label": label, "sentences": sentences(listing)}
        return {**found, **told_all, "seconds": seconds}

    def _relevance(self, args: Json, progress: Progress) -> Json:
        explainer = self._explainer(args)
        found = explainer.relevance(self._row(args), timeout=self._seconds(args))
        return {
            "grades": [{"feature": grade.feature, "grade": grade.grade} for grade in found.grades],
            **self._judged(explainer, found),
        }

    def _attribution(self, args: Json, progress: Progress) -> Json:
        explainer = self._explainer(args)
        found = explainer.attribution(self._row(args), timeout=self._seconds(args))
        pairs = zip(found.feature_names, found.counts, found.shares, strict=True)
        return {
            "shares": [
                {"feature": self._place(name), "share": number(share), "count": count} for name, count, share in pairs
            ],
            "n_abductive": found.n_abductive,
            "n_contrastive": found.n_contrastive,
            **self._judged(explainer, found),
        }

    def _robustness(self, args: Json, progress: Progress) -> Json:
        explainer = self._explainer(args)
        keep = self._features(args.get("keep") or [], "keep")
        norm = args.get("norm", "linf")
        found = explainer.robustness(self._row(args), norm, keep=keep, timeout=self._seconds(args))
        witness = self._values(found.witness)
        return {
            "proved": number(found.proved),
            "nearest": number(found.nearest),
            "other": self._label(explainer, found.witness_label),
            "changes": self._changed(found.changes, witness),
            "witness": witness,
            "status": found.status,
            **self._judged(explainer, found),
        }

    def _judged(self, explainer: Explainer, result: Any) -> Json:
        return {
            "label": self._label(explainer, result.label),
            "decided": result.decided,
            "sentences": sentences(result),
            "seconds": result.stats.seconds,
        }

    def _compare(self, args: Json, progress: Progress) -> Json:
        start = time.perf_counter()
        if args.get("others") is not None:
            sides = [
                self._side(title, {**args, "values": args.get(what)})
                for title, what in (("first row", "values"), ("second row", "others"))
            ]
            found = self._two_rows(args, sides)
        elif len(self._explainers) < 2:
            raise InputError("To compare two models, open the workbench with both: treeproof serve --other MODEL.")
        else:
            sides = [self._side(name, {**args, "model": k}) for k, name in enumerate(self._names)]
            found = self._two_models(args, sides)
        return {"sides": sides, **found, "seconds": time.perf_counter() - start}

    def _side(self, title: str, args: Json) -> Json:
        explainer = self._explainer(args)
        why = self._reason(explainer, self._abductive(args))
        label, scores = self._evaluated(explainer, args["values"])
        kept = {key: why[key] for key in ("features", "conditions", "sentences", "status")}
        return {"title": title, "values": args["values"], "label": label, "scores": scores, **kept}

    def _two_rows(self, args: Json, sides: Sequence[Json]) -> Json:
        """Return what differs, and which of it is enough to turn the first row's label into the second one's."""
        explainer = self._explainer(args)
        first, second = args["values"], args["others"]
        differ = [f for f, (one, other) in enumerate(zip(first, second, strict=True)) if one != other]
        labels = [side["label"] for side in sides]
        classes, names = self._table.classes, explainer.space.names
        if labels[0] == labels[1]:
            text = f"Both rows get {classes[labels[0]]}. They differ in {len(differ)} of {len(names)} features."
            return {"differ": differ, "enough": None, "sentences": [{"role": "note", "text": text}]}

        def mixed(taken: Iterable[int]) -> int:
            chosen = set(taken)
            values = [second[f] if f in chosen else first[f] for f in range(len(names))]
            return self._evaluated(explainer, values)[0]

        enough, before = list(differ), None
        order = sorted(differ, key=lambda f: explainer.space.importances[f])
        while enough != before:  # until no single one can be left out
            before = list(enough)
            for f in order:
                if f in enough and mixed(g for g in enough if g != f) == labels[1]:
                    enough.remove(f)
        listed = ", ".join(names[f] for f in enough)
        text = (
            f"Taken over from the second row, {listed} {'turns' if len(enough) == 1 else 'turn'} {classes[labels[0]]} "
            f"into {classes[labels[1]]}: the model's own prediction for that mixture. "
            f"{'It' if len(enough) == 1 else 'None of them'} can{'not' if len(enough) == 1 else ''} be left out."
        )
        return {"differ": differ, "enough": enough, "sentences": [{"role": "note", "text": text}]}

    def _two_models(self, args: Json, sides: Sequence[Json]) -> Json:
        """Return whether the first model's reason forces the second model's label too."""
        classes = self._table.classes
        same = sides[0]["label"] == sides[1]["label"]
        both = f"Both models give {classes[sides[0]['label']]}."
        apart = f"The models disagree: {classes[sides[0]['label']]} and {classes[sides[1]['label']]}."
        found: Json = {"differ": [], "enough": None, "carries": None}
        told = [{"role": "note", "text": both if same else apart}]
        if same:
            verdict = self._explainers[1].holds(
                self._row(args), sides[0]["features"], within=self._within(args), timeout=self._seconds(args)
            )
            found["carries"] = verdict.holds
            told += [{**line, "text": f"On {self._names[1]}: {line['text']}"} for line in sentences(verdict)]
        return {**found, "sentences": told}

    def _take(self, args: Json, progress: Progress) -> Json:
        takes = {
            "certificate": self._certificate,
            "forest": self._forest,
            "report": self._report,
            "python": self._python,
            "page": self._page,
        }
        what = args.get("what")
        if what not in takes:
            raise InputError(f"'what' must be one of {list(takes)}. Got {what!r}.")
        return takes[what](args)

    def _certificate(self, args: Json) -> Json:
        certificate = self._abductive(args).certificate(timeout=self._seconds(args))
        return _file(f"{_stem(args, 'why')}.json", "application/json", certificate.text)

    def _forest(self, args: Json) -> Json:
        forest = self._explainer(args).forest
        return _file(f"forest-{fingerprint(forest)[:12]}.json", "application/json", forest_to_json(forest))

    def _report(self, args: Json) -> Json:
        explainer, index = self._explainer(args), args.get("index")
        X, row = self._X, index if isinstance(index, int) and 0 <= index < len(self._table) else None
        if row is None or args.get("values") not in (None, self._table.values(row)):
            X, row = [self._row(args)], 0
        with self._drawing, tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "report.html"
            seconds = self._seconds(args)
            report(explainer, X, page, rows=[row], timeout=seconds, title=self.title, certificates=False)
            return _file(f"{_stem(args, 'report')}.html", "text/html", page.read_text(encoding="utf-8"))

    def _python(self, args: Json) -> Json:
        asked = args.get("asked")
        if not isinstance(asked, list) or not all(isinstance(one, dict) for one in asked):
            raise InputError(f"'asked' must be a list of requests. Got {asked!r}.")
        space, labels = self._explainers[0].space, self._explainers[0]._context.labels
        text = python_lines(self._lines, space.names, labels, asked, lambda values: self._row({"values": values}))
        return _file(f"{_stem(args, 'workbench')}.py", "text/x-python", text)

    def _page(self, args: Json) -> Json:
        return _file(f"{_stem(args, 'workbench')}.html", "text/html", saved_page(self.title, args.get("state")))


def sentences(result: Result) -> list[Json]:
    """Return what a result states, and its remarks. A statement that ends in "if" goes on with the changes below it."""
    lines = [Line(result.title_role, result.title), *result.lines]
    changes = "; ".join(line.text for line in lines if line.role == "change")
    return [
        {"role": line.role, "text": f"{line.text} {changes}." if line.text.endswith(", if") else line.text}
        for line in lines
        if line.is_statement or line.role == "note"
    ]


def _file(name: str, kind: str, text: str) -> Json:
    return {"name": name, "type": kind, "text": text}


def _stem(args: Json, what: str) -> str:
    index = args.get("index")
    return f"row-{index}-{what}" if type(index) is int else what


def _is_number(value: Any) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))


def _text(given: Any, what: str) -> str:
    if given is None:
        return ""
    if not isinstance(given, str) or len(given) > 2000:
        raise InputError(f"'{what}' must be a text of at most 2000 characters. Got {given!r}.")
    return given


def _describe(explainer: Explainer) -> str:
    forest = explainer.forest
    return f"{explainer._source}: {forest.n_trees} tree{'s' * (forest.n_trees != 1)}"


def _check_same(one: Explainer, other: Explainer) -> None:
    """Raise InputError unless two explainers have the same features and classes, so that one page can show both."""
    for what, found in (
        ("features", [[(f.name, f.kind) for f in explainer.space.features] for explainer in (one, other)]),
        ("classes", [[str(label) for label in explainer._context.labels] for explainer in (one, other)]),
    ):
        if found[0] != found[1]:
            raise InputError(f"Both models must have the same {what}. Got {found[0]} and {found[1]}.")
    for mine, theirs in zip(one.space.features, other.space.features, strict=True):
        if isinstance(mine, ValueFeature) and isinstance(theirs, ValueFeature) and mine.labels != theirs.labels:
            raise InputError(
                f"Both models must have the same values of {mine.name!r}. Got {mine.labels} and {theirs.labels}."
            )
