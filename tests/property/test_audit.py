"""Audits against enumeration: what flips, what is necessary, and explanations without protected features."""

from __future__ import annotations

import builtins
import itertools
import json
import os
import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treeproof as tp
from generators import hard_forest, random_forest, random_row
from treeproof.model.rows import as_row

seeds = st.integers(0, 2**32 - 1)


def random_case(seed: int):
    """An explainer with declared kinds, some rows for it, and some protected features."""
    rng = np.random.default_rng(seed)
    categorical = bool(rng.random() < 0.4)
    forest = random_forest(
        rng,
        vote=str(rng.choice(["majority", "mean"])),
        n_classes=int(rng.integers(2, 5)),
        n_trees=int(rng.integers(1, 8)),
        n_columns=5,
        categorical=categorical,
    )
    one_hot = {"group": ["c3", "c4"]} if rng.random() < 0.4 else {}
    kinds = {f"c{j}": "binary" for j in range(categorical, 3) if rng.random() < 0.3}
    explainer = tp.Explainer(forest, kinds=kinds, one_hot=one_hot, tabulate=bool(rng.random() < 0.1))
    rows = []
    for _ in range(3):
        row = random_row(rng, forest)
        for name in kinds:
            row[int(name[1])] = float(rng.integers(0, 2))
        if one_hot:
            row[3:] = [1.0, 0.0] if rng.random() < 0.5 else [0.0, 1.0]
        rows.append(row)
    names = explainer.space.names
    protected = [names[f] for f in rng.permutation(len(names))[: rng.integers(1, 4)]]
    return explainer, rows, protected


def label_table(explainer: tp.Explainer) -> np.ndarray:
    """The label of every point of the space, by the forest's own predict of one row in each."""
    space, anywhere = explainer.space, np.zeros(explainer.forest.n_columns, dtype=np.float32)
    shape = [feature.n_cells for feature in space.features]
    rows = np.zeros((*shape, len(anywhere)), dtype=np.float32)
    for f, feature in enumerate(space.features):
        values = np.array([feature.values(cell, anywhere) for cell in range(shape[f])])
        for place, column in enumerate(feature.columns):
            rows[..., column] = values[:, place].reshape([-1 if g == f else 1 for g in range(len(shape))])
    forest = explainer.forest
    return forest.decide(forest.route(rows.reshape(-1, len(anywhere)))).reshape(shape)


@given(seeds)
@settings(max_examples=100, deadline=None)
def test_every_finding_agrees_with_enumeration(seed):
    explainer, rows, protected = random_case(seed)
    space, forest = explainer.space, explainer.forest
    everything, labels = frozenset(range(space.n_features)), label_table(explainer)
    secret = {space.index(name) for name in protected}
    result = explainer.audit(rows, protected)
    assert result.protected == tuple(protected)
    for i, (row, found) in enumerate(zip(rows, result.rows, strict=True)):
        point = space.cells(as_row(row, forest.columns))

        def forced(fixed, point=point):
            part = labels[tuple(point[f] if f in fixed else slice(None) for f in range(space.n_features))]
            return bool((part == labels[point]).all())

        assert (found.row, found.label, found.status) == (i, forest.predict([row])[0], "proved")
        assert found.flips == (not forced(everything - secret))
        subsets = [frozenset(s) for r in range(len(everything) + 1) for s in itertools.combinations(everything, r)]
        weak = {s for s in subsets if forced(s)}
        explanations = [s for s in weak if not any(s - {f} in weak for f in s)]
        in_all = frozenset.intersection(*explanations) & secret
        assert {space.index(name) for name in found.necessary} == in_all
        assert found.undecided == ()
        assert found.flips != any(not s & secret for s in explanations)
        if not found.flips:
            assert frozenset(found.why.features) in explanations
            assert not secret & set(found.why.features)
            assert (found.witness, found.witness_label, found.changes) == (None, None, ())
            continue
        assert found.why is None
        assert forest.predict([found.witness])[0] == found.witness_label != found.label
        other = space.cells(as_row(found.witness, forest.columns))
        changed = {f for f in everything if point[f] != other[f]}
        assert changed <= secret
        assert [space.names[f] for f in sorted(changed)] == [change.name for change in found.changes]
        assert all(forced(everything - changed | {f}) for f in changed)
    assert (result.n_flips, result.n_free, result.n_unknown) == (
        sum(row.flips for row in result.rows),
        sum(not row.flips for row in result.rows),
        0,
    )
    assert sum(part["flips"] for part in result.by_label.values()) == result.n_flips
    json.dumps(result.to_dict())


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_the_number_of_threads_and_the_oracle_do_not_change_the_findings(seed):
    explainer, rows, protected = random_case(seed)

    def told(audit):  # which witness shows it is up to the oracle
        return [(row.row, row.label, row.flips, row.necessary, row.why and row.why.features) for row in audit.rows]

    assert told(explainer.audit(rows, protected, n_jobs=2)) == told(explainer.audit(rows, protected))
    brute = tp.Explainer(explainer.forest, oracle="brute")
    native = tp.Explainer(explainer.forest, tabulate=False)
    names = [name for name in protected if name != "group"] or ["c1"]

    assert told(brute.audit(rows, names)) == told(native.audit(rows, names))


def hiring() -> tp.Explainer:
    """Invites the experienced, and others only if they are male."""
    tree = tp.split("experience", 5, tp.isin("sex", ["m"], "yes", "no"), "yes")
    forest = tp.build_forest([tree], columns=["experience", tp.Column("sex", ("f", "m"))], classes=["no", "yes"])
    return tp.Explainer(forest, kinds={"experience": "ordinal"})


def test_an_audit_reads_well():
    audit = hiring().audit([[2, "f"], [2, "m"], [9, "f"], [9, "m"]], protected=["sex"])
    assert str(audit).splitlines() == [
        "4 rows; protected: sex",
        "another prediction if only these change   2   50.0 %",
        "forced without them                       2   50.0 %",
        "in every explanation: sex                 2   50.0 %",
        "row 0: no, but yes if sex: f -> m",
        "row 1: yes, but no if sex: m -> f",
    ]
    assert audit.table().splitlines() == [
        "row   label   flips   necessary   finding",
        "  0   no      yes     sex         but yes if sex: f -> m",
        "  1   yes     yes     sex         but no if sex: m -> f",
        "  2   yes     no      -           forced by experience",
        "  3   yes     no      -           forced by experience",
    ]
    assert audit.by_label == {
        "no": {"rows": 1, "flips": 1, "free": 0, "unknown": 0},
        "yes": {"rows": 3, "flips": 1, "free": 2, "unknown": 0},
    }
    assert "<li>" in audit._repr_html_()
    many = hiring().audit([[2, "f"]] * 12, protected=[1])
    assert str(many).endswith("... and 2 more; see .table()")
    assert str(hiring().audit(np.empty((0, 2)), ["sex"])).startswith("0 rows; protected: sex\n")


def test_a_frame_needs_pandas(monkeypatch):
    audit = hiring().audit([[2, "f"], [9, "f"]], protected=["sex"])
    frame = audit.to_frame()
    assert frame["flips"].tolist() == [True, False]
    assert frame["explanation"].tolist() == [None, ("experience",)]
    assert frame["changes"].tolist() == ["sex: f -> m", ""]
    original = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "pandas":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(tp.MissingExtraError, match="pip install pandas"):
        audit.to_frame()


def test_bad_input_is_refused_before_anything_runs():
    explainer = hiring()
    with pytest.raises(tp.InputError, match="At least one protected feature"):
        explainer.audit([[2, "f"]], protected=[])
    with pytest.raises(tp.InputError, match="must be a list"):
        explainer.audit([[2, "f"]], protected="sex")
    with pytest.raises(tp.InputError, match="must be one of"):
        explainer.audit([[2, "f"]], protected=["gender"])
    with pytest.raises(tp.InputError, match=r"Row 1: Feature 'experience' is of kind integer"):
        explainer.audit([[2, "f"], [2.5, "f"]], protected=["sex"])
    with pytest.raises(tp.InputError, match="'timeout' parameter"):
        explainer.audit([[2, "f"]], protected=["sex"], timeout=-1)


def test_a_deadline_is_per_row_and_leaves_unknown():
    forest, X = hard_forest()
    explainer = tp.Explainer(forest)
    audit = explainer.audit(X[:3], protected=range(120), timeout=0.05, n_jobs=2)
    assert audit.n_rows == 3
    for row in audit.rows:
        assert row.status in ("unknown", "sound")
        if row.flips is None:
            assert len(row.undecided) == 120
        elif row.flips:
            assert forest.predict([row.witness])[0] == row.witness_label != row.label
        else:
            assert row.why.status == "sound"
    assert audit.n_flips + audit.n_free + audit.n_unknown == 3
    assert "timed out" in audit.table().lower() or audit.n_unknown == 0


def test_ctrl_c_is_raised_soon_and_leaves_the_explainer_usable():
    forest, X = hard_forest()
    explainer = tp.Explainer(forest)
    for n_jobs in (1, 2):
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            explainer.audit(X[:8], protected=[0, 1], n_jobs=n_jobs)
        assert time.monotonic() - start < 5
    assert explainer.audit(X[:1], protected=[0], timeout=0.1).n_rows == 1
