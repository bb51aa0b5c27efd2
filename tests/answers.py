"""Says whether the answers are still the same: ``python tests/answers.py --write FILE``, then ``--compare FILE``.

Some thousand questions of every kind, about forests written by hand and fitted models of every family, are asked
through the public interface only, so that the script runs unchanged while the modules behind it move. Data (`to_dict`,
sums of certificates and formulas) and printed text are compared apart: texts may be reworded, data may not differ.
Random numbers are seeded and nothing has a deadline; the versions of the libraries that fit the models are stored too,
because other versions fit other models.
"""

from __future__ import annotations

import argparse
import datetime
import gzip
import hashlib
import json
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import compose, datasets, ensemble, impute, linear_model, pipeline, preprocessing, tree

import treeproof as tp

RENAMED: dict[str, str] = {"numbers": "dtype", "rereasoned": "reason_changed"}
"""Keys of `to_dict`, as they were when the file was written, to what they are called now."""

TIMES = ("seconds", "longest_entailed", "longest_refuted")
SHOWN = 10
LONGEST_SHOWN = 1500
LIBRARIES = ("lightgbm", "numpy", "pandas", "python-sat", "scikit-learn", "xgboost-cpu", "z3-solver")

Case = tuple[tp.Explainer, Any, list[int]]


class Asked:
    """The answers so far; calling it asks one more question."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], dict[str, Any]] = {}
        self.case = ""

    def __call__(self, kind: str, about: str, function: Callable[..., Any], /, *args: Any, **options: Any) -> Any:
        """Ask, store data and text of the answer or of the refusal, and return the answer, or None if refused."""
        given = ", ".join(f"{name}={value!r}" for name, value in options.items() if name != "X")
        question = f"{kind}({', '.join(part for part in (about, given) if part)})"
        try:
            result = function(*args, **options)
            if isinstance(result, tp.Enumeration):
                found = list(result)
                data, text = {"found": as_data(found), "complete": result.complete}, as_text(found)
            else:
                data, text = as_data(result), as_text(result)
        except Exception as error:
            result, data, text = None, {"error": type(error).__name__}, f"{type(error).__name__}: {error}"
        key = (self.case, question)
        assert key not in self.answers, f"asked twice: {key}"
        data = json.loads(json.dumps(data, default=str))
        self.answers[key] = {"case": self.case, "kind": kind, "question": question, "data": data, "text": text}
        return result


def as_data(result: Any) -> Any:
    if isinstance(result, tp.TreeproofError):
        return {"error": type(result).__name__}
    if isinstance(result, list | tuple):
        return [as_data(one) for one in result]
    if isinstance(result, tp.Certificate):
        return {"claim": result.document["claim"], "sha256": digest(result.document)}
    if isinstance(result, str):  # a formula; what its comments say is text
        lines = [line for line in result.splitlines() if not line.startswith(("c", ";"))]
        return {"lines": len(lines), "sha256": digest(lines)}
    return without_times(result.to_dict() if hasattr(result, "to_dict") else result)


def as_text(result: Any) -> str:
    if isinstance(result, tp.Certificate):
        return str(tp.check(result, result.forest))
    if isinstance(result, list | tuple):
        return "\n".join(as_text(one) for one in result)
    return digest(result) if isinstance(result, str) else str(result)


def without_times(data: Any) -> Any:
    if isinstance(data, dict):
        return {
            key: {k: v for k, v in item.items() if k not in TIMES} if key == "stats" else without_times(item)
            for key, item in data.items()
        }
    return [without_times(item) for item in data] if isinstance(data, list | tuple) else data


def digest(value: Any) -> str:
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


# ---------------------------------------------------------------------------------------------------- what is asked


def row_of(X: Any, i: int) -> Any:
    return X.iloc[i] if isinstance(X, pd.DataFrame) else X[i]


def ask_about_model(ask: Asked, explainer: tp.Explainer, X: Any) -> None:
    """The questions about many rows, and what was imported."""
    names = list(explainer.space.names)
    part = X[:5]
    ask("forest", "", forest_digest, explainer)
    ask("batch", "", explainer.batch, part)
    ask("batch", "", explainer.batch, part, n_jobs=2, order="index", inflate=True, on_error="return")
    ask("audit", "", explainer.audit, part, protected=names[:2])
    ask("audit", "", explainer.audit, part, protected=names[-1:], n_jobs=2)


def forest_digest(explainer: tp.Explainer) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forest.json"
        tp.save_forest(explainer.forest, path)
        return {"sha256": digest(path.read_text()), "features": explainer.space.names}


def ask_about_row(ask: Asked, explainer: tp.Explainer, X: Any, i: int, *, hard: bool, proofs: bool) -> None:
    """Every kind of question about one row; of a hard model, only those that are answered fast."""
    x, names, row = row_of(X, i), list(explainer.space.names), f"row {i}"
    first, last = names[0], names[-1]
    why = ask("abductive", row, explainer.abductive, x)
    if why is None:
        return
    other = next((label for label in explainer.forest.classes.tolist() if label != why.label), None)
    numeric = [column.name for column in explainer.forest.columns if column.categories is None and column.name in names]

    abductive = partial(ask, "abductive", row, explainer.abductive, x)
    abductive(order="index")
    abductive(inflate=True)
    abductive(prefer=[last])
    abductive(prefer=[0], inflate=True, order="index")
    abductive(tries=4)
    if not hard:
        abductive(minimum=True)
        abductive(minimum=True, inflate=True)
        abductive(minimum=True, cost={first: 2.5, last: 0.1})

    contrastive = partial(ask, "contrastive", row, explainer.contrastive, x)
    contrastive()
    contrastive(fixed=[first])
    contrastive(distance=None, order="index")
    contrastive(prefer=[last], scale={last: 3.0})
    contrastive(directions=dict.fromkeys(numeric[:2], "up"))
    contrastive(limits=dict.fromkeys(numeric[-2:], (0.5, None)))
    if not hard:
        contrastive(minimum=True)
        contrastive(minimum=True, cost={first: 2, last: 0.5})
        ask("contrastives", row, explainer.contrastives, x, n=3)
        ask("contrastives", row, explainer.contrastives, x, n=2, fixed=[last], distance=None, order="index")
    if other is not None:
        contrastive(target=other)
        ask("robustness", row, explainer.robustness, x, "l0", target=other)
        ask("enumerate", row, explainer.enumerate, x, kind="both", target=other, limit=4)
        ask("encode", row, explainer.encode, x, features=[first], target=other, format="smtlib")
    else:
        ask("encode", row, explainer.encode, x, format="smtlib")

    for norm in ("l0", "l1", "linf"):
        ask("robustness", row, explainer.robustness, x, norm=norm)
    ask("enumerate", row, explainer.enumerate, x, limit=5)
    ask("enumerate", row, explainer.enumerate, x, kind="contrastive", limit=5, order="index")
    if not hard:
        ask("enumerate", row, explainer.enumerate, x, kind="both", limit=8)
        ask("relevance", row, explainer.relevance, x)
        ask("most_general", row, explainer.most_general, x, X[:40])
    ask("attribution", row, explainer.attribution, x, limit=25)

    ask("coverage", f"{row}, its reason", explainer.coverage, why, X)
    conditions = [str(condition) for condition in why.rule]
    ask("coverage", f"{row}, the first condition", explainer.coverage, conditions[:1], X)
    ask("review", f"{row}, two features", explainer.review, x, names[:2])
    ask("review", f"{row}, its conditions", explainer.review, x, conditions)
    ask("review", f"{row}, but one condition", explainer.review, x, conditions[1:] or [f"{numeric[0]} <= 1"])
    ask("review", f"{row}, its conditions without it", explainer.review, claim=conditions, label=why.label)
    ask("review", f"{row}, of the next", explainer.review, x, explainer.abductive(row_of(X, i + 1)))
    ask("holds", row, explainer.holds, x, features=[])
    ask("holds", row, explainer.holds, x, features=names[1:])
    ask("holds", f"{row}, its reason", explainer.holds, x, why.features)
    if explainer.forest.vote == "majority":
        for preset in ("paper", "compact"):
            ask("encode", row, explainer.encode, x, preset=preset)
            reason = partial(explainer.encode, features=why.features)
            ask("encode", f"{row}, its reason", reason, x, preset=preset)
    if proofs:
        ask_for_proofs(ask, explainer, x, row, hard=hard)


def ask_for_proofs(ask: Asked, explainer: tp.Explainer, x: Any, row: str, *, hard: bool) -> None:
    why = explainer.abductive(x)
    used = why.features[0] if why.features else 0
    ask("certificate", f"{row}, abductive", why.certificate)
    ask("certificate", f"{row}, abductive, widest", explainer.abductive(x, inflate=True).certificate)
    ask("certificate", f"{row}, contrastive", explainer.contrastive(x).certificate)
    if not hard:
        ask("certificate", f"{row}, abductive, minimum", explainer.abductive(x, minimum=True).certificate)
        ask("certificate", f"{row}, contrastive, minimum", explainer.contrastive(x, minimum=True).certificate)
        ask("certificate", f"{row}, relevance", explainer.relevance(x).certificate, used)


def ask_briefly(ask: Asked, explainer: tp.Explainer, X: Any, i: int) -> None:
    """A few questions, for oracles that are slow."""
    x, row = row_of(X, i), f"row {i}"
    ask("abductive", row, explainer.abductive, x)
    ask("abductive", row, explainer.abductive, x, inflate=True)
    ask("abductive", row, explainer.abductive, x, minimum=True)
    ask("contrastive", row, explainer.contrastive, x)
    ask("contrastive", row, explainer.contrastive, x, minimum=True)
    ask("enumerate", row, explainer.enumerate, x, kind="both", limit=6)
    ask("robustness", row, explainer.robustness, x)
    ask("robustness", row, explainer.robustness, x, "l0", target=None)
    ask("relevance", row, explainer.relevance, x)
    ask("holds", row, explainer.holds, x, features=[0, 1])
    ask("review", f"{row}, two features", explainer.review, x, [0, 1])


# ------------------------------------------------------------------------------------------------- forests by hand


def random_forest(
    rng: np.random.Generator, *, vote: str, n_classes: int, colours: bool, missing: bool, dtype: str
) -> tp.Forest:
    """Five trees of depth three over six columns, with few different thresholds, so that they repeat."""
    columns = [tp.Column(f"c{j}", missing="expected" if missing else "never") for j in range(6)]
    if colours:
        columns[0] = tp.Column("c0", ("red", "green", "blue", "grey"))
    sides = {column.name: str(rng.choice(["yes", "no"])) for column in columns}

    def value() -> Any:
        if vote == "majority" or rng.random() < 0.3:
            return int(rng.integers(n_classes))
        counts = rng.integers(0, 4, n_classes) + 0.25
        return (counts / counts.sum()).tolist()

    def node(level: int) -> Any:
        if level == 0 or rng.random() < 0.1:
            return tp.leaf(value())
        if colours and rng.random() < 0.25:
            chosen = [colour for colour in ("red", "green", "blue", "grey") if rng.random() < 0.5]
            return tp.isin("c0", chosen, node(level - 1), node(level - 1))
        name = f"c{rng.integers(int(colours), 6)}"
        threshold = float(rng.choice([0.0, 0.25, 0.5, 1.0, 1.0 + 1e-12, 0.1, -2.0]))
        return tp.split(name, threshold, node(level - 1), node(level - 1), missing=sides[name])

    trees = [node(3) for _ in range(int(rng.integers(3, 8)))]
    return tp.build_forest(trees, columns=columns, classes=list(range(n_classes)), vote=vote, dtype=dtype)


def by_hand(seed: int, **options: Any) -> Case:
    """A random forest in a random space: kinds of columns, a one-hot group, bounds, rules, missing values."""
    rng = np.random.default_rng(seed)
    missing, colours = seed % 4 == 3, seed % 3 == 2
    forest = random_forest(
        rng,
        vote="majority" if seed % 2 == 0 else "mean",
        n_classes=int(rng.integers(2, 5)),
        colours=colours,
        missing=missing,
        dtype="float64" if seed % 5 == 4 else "float32",
    )
    rows = [rng.choice([-3.0, -2.0, 0.0, 0.1, 0.25, 0.3, 0.5, 1.0, 1.0 + 1e-12, 2.0], 6).tolist() for _ in range(30)]
    kinds: dict[str, str] = {}
    one_hot: dict[str, list[str]] = {}
    bounds: dict[str, Any] = {}
    constraints: list[str] = []
    for row in rows:
        if colours:
            row[0] = str(rng.choice(["red", "green", "blue", "grey"]))
        row[1] = float(rng.integers(0, 2))
        row[2] = float(rng.integers(-3, 4))
    if seed % 7 != 0:
        kinds = {"c1": "binary", "c2": "ordinal"}
    if seed % 3 == 1:
        one_hot = {"group": ["c4", "c5"]}
        for row in rows:
            row[4:] = [0.0, 1.0] if rng.random() < 0.5 else [1.0, 0.0]
    if seed % 5 == 0:
        bounds = {"c2": (-3, 3), "c3": (None, 2.0)}
    if seed % 5 in (1, 2) and kinds:
        constraints = ["if c1 = 1 then c2 >= -1", "c2 <= 2 or c3 <= 0.5"]
        rows = [row for row in rows if (row[1] != 1 or row[2] >= -1) and (row[2] <= 2 or row[3] <= 0.5)]
    if missing:
        rows[0][3] = float("nan")
    space = {"kinds": kinds, "one_hot": one_hot, "bounds": bounds, "constraints": constraints}
    return tp.Explainer(forest, **{name: given for name, given in space.items() if given}, **options), rows, [0, 1]


def running_example(**options: Any) -> Case:
    forest, patient = tp.examples.heart_disease()
    rows = [patient, [0, 1, 0, 80], [1, 1, 1, 60], [0, 0, 1, 75.5], [1, 0, 0, 75]]
    return tp.Explainer(forest, **options), rows, [0, 1, 2, 3]


# ---------------------------------------------------------------------------------------------------- fitted models


def iris() -> tuple[pd.DataFrame, Any]:
    X, y = datasets.load_iris(return_X_y=True, as_frame=True)
    order = np.random.default_rng(0).permutation(len(X))
    return X.iloc[order].reset_index(drop=True), y.to_numpy()[order]


def cancer() -> tuple[pd.DataFrame, Any]:
    X, y = datasets.load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:300, 20:26].reset_index(drop=True), np.where(y[:300] == 1, "benign", "malignant")


def all_of_cancer() -> tuple[pd.DataFrame, Any]:
    X, y = datasets.load_breast_cancer(return_X_y=True, as_frame=True)
    return X[90:290].reset_index(drop=True), y.to_numpy()[90:290]


def diabetes() -> tuple[pd.DataFrame, Any]:
    X, y = datasets.load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    return X.iloc[:250, :5].astype(float), y.to_numpy()[:250]


def people(missing: bool = True) -> tuple[pd.DataFrame, Any]:
    """Generated rows with numbers, names and missing values."""
    rng = np.random.default_rng(7)
    n = 240
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n).astype(float),
            "income": np.round(rng.normal(40, 15, n), 1),
            "colour": rng.choice(["red", "green", "blue"], n),
            "smoker": rng.choice(["no", "yes"], n),
            "visits": rng.integers(0, 6, n).astype(float),
        }
    )
    y = (X["age"] > 50).astype(int) + ((X["income"] > 45) & (X["colour"] != "red")) + (X["smoker"] == "yes")
    if missing:
        X.loc[::9, "income"] = np.nan
    return X, np.where(y + (rng.random(n) < 0.1) >= 2, "accept", "refuse")


def typed() -> tuple[pd.DataFrame, Any]:
    X, y = people()
    return X.astype({"colour": "category", "smoker": "category"}), y


def fitted(model: Any, data: Callable[[], Any], **options: Any) -> Case:
    X, y = data()
    return tp.Explainer(model.fit(X, y), **options), X, [0, 3]


def piped(model: Any, encoder: Any, **options: Any) -> Case:
    columns = compose.ColumnTransformer(
        [
            (
                "numbers",
                pipeline.make_pipeline(impute.SimpleImputer(), preprocessing.StandardScaler()),
                ["age", "income", "visits"],
            ),
            ("names", encoder, ["colour", "smoker"]),
        ]
    )
    return fitted(pipeline.make_pipeline(columns, model), people, **options)


def around(model: Any, within: float) -> Case:
    X, y = diabetes()
    return tp.Explainer(model.fit(X, y)).around(X.iloc[0], within), X, [0, 3]


def observed(model: Any) -> Case:
    X, y = iris()
    return tp.Explainer(model.fit(X, y), data=X, domain="observed", kinds={}), X, [0, 3]


def dated() -> Case:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"signup": rng.integers(737000, 738900, 300), "visits": rng.integers(0, 60, 300)})
    y = (X["signup"] > 738000) & (X["visits"] < 20)
    model = ensemble.RandomForestClassifier(8, max_depth=4, random_state=0).fit(X, y)
    rows = [[datetime.date(2022, 5, 1), 3], [datetime.date(2019, 1, 31), 30], [datetime.date(2023, 1, 1), 10]]
    return tp.Explainer(model, kinds={"signup": "date", "visits": "ordinal"}), rows, [0, 1]


def read_again(model: Any, name: str) -> Case:
    """A model of XGBoost or LightGBM that was saved by its library and is read without it."""
    X, y = underscored(cancer)()
    model.fit(X, (y == "benign").astype(int))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        (model.get_booster() if name.endswith(("json", "ubj")) else model.booster_).save_model(path)
        return tp.Explainer(tp.load_model(path)), X, [0]


def coded(data: Callable[[], Any]) -> Callable[[], Any]:
    """The same rows with classes 0, 1, ..., which XGBoost needs."""

    def load() -> tuple[Any, Any]:
        X, y = data()
        return X, np.unique(y, return_inverse=True)[1]

    return load


def underscored(data: Callable[[], Any]) -> Callable[[], Any]:
    """The same rows without blanks in the names of columns, which LightGBM would replace."""

    def load() -> tuple[Any, Any]:
        X, y = data()
        return X.rename(columns=lambda name: name.replace(" ", "_")), y

    return load


def cases() -> Iterator[tuple[str, Callable[[], Case], str]]:
    """Name, what makes it, and how much is asked: all, proofs (all and certificates), hard or brief."""
    import lightgbm
    import xgboost

    stump = partial(tree.DecisionTreeClassifier, random_state=0)
    rf = partial(ensemble.RandomForestClassifier, random_state=0)
    rfr = partial(ensemble.RandomForestRegressor, random_state=0)
    gb = partial(ensemble.GradientBoostingClassifier, random_state=0)
    gbr = partial(ensemble.GradientBoostingRegressor, random_state=0)
    hist = partial(ensemble.HistGradientBoostingClassifier, random_state=0)
    xgb = partial(xgboost.XGBClassifier, n_jobs=1, random_state=0)
    lgbm = partial(lightgbm.LGBMClassifier, n_jobs=1, verbose=-1, random_state=0, deterministic=True)

    yield "example", running_example, "proofs"
    yield "example, binary", partial(running_example, kinds=dict.fromkeys(range(3), "binary")), "proofs"
    yield "example, mean", partial(running_example, vote="mean"), "proofs"
    for oracle in ("native", "sat", "smt", "brute"):
        options = {"verify": True} if oracle == "native" else {"oracle": oracle}
        yield f"example, {options}", partial(running_example, **options), "brief"
        for seed in (0, 2, 6):
            yield f"forest {seed}, {options}", partial(by_hand, seed, **options), "brief"
        if oracle != "sat":
            for seed in (1, 3, 5):
                yield f"forest {seed}, {options}", partial(by_hand, seed, **options), "brief"
    yield "forest 4, the paper's encoding", partial(by_hand, 4, oracle="sat", preset="paper"), "brief"
    for seed in range(30):
        yield f"forest {seed}", partial(by_hand, seed), "proofs" if seed % 3 == 0 else "all"
    for seed in range(30, 36):
        yield f"forest {seed}, searching", partial(by_hand, seed, tabulate=False), "all"

    yield "tree", partial(fitted, stump(max_depth=4), iris), "proofs"
    yield "random forest", partial(fitted, rf(10, max_depth=3), iris), "proofs"
    yield "random forest, majority", partial(fitted, rf(9, max_depth=3), iris, vote="majority"), "proofs"
    yield "random forest, observed", partial(observed, rf(10, max_depth=3)), "all"
    yield "random forest, missing", partial(fitted, rf(6, max_depth=3), iris, missing="all"), "all"
    yield "random forest, cancer", partial(fitted, rf(8, max_depth=3), cancer), "proofs"
    yield "random forest, threshold", partial(fitted, rf(8, max_depth=3), cancer, threshold=0.7), "proofs"
    yield "random forest, confidence", partial(fitted, rf(8, max_depth=3), iris, confidence=0.8), "proofs"
    yield "random forest, large", partial(fitted, rf(30, max_depth=4), all_of_cancer), "hard"
    yield (
        "random forest, large, majority",
        (partial(fitted, rf(30, max_depth=4), all_of_cancer, vote="majority")),
        "hard",
    )
    yield "boosting, large", partial(fitted, gb(n_estimators=30, max_depth=3), all_of_cancer), "hard"
    yield "XGBoost, large", partial(fitted, xgb(n_estimators=30, max_depth=3), all_of_cancer), "hard"
    yield "histogram, large", partial(fitted, hist(max_iter=10), iris), "hard"
    yield "random forest, deep", partial(fitted, rf(25), iris), "hard"
    rules = ["if worst radius > 20 then worst area > 1000", "worst radius >= 5 or worst area <= 400"]
    yield "random forest, rules", partial(fitted, rf(8, max_depth=3), cancer, constraints=rules), "proofs"
    yield "random forest, dates", dated, "proofs"
    yield "random forest, verified", partial(fitted, rf(6, max_depth=3), iris, verify=True), "brief"
    yield "random forest, smt", partial(fitted, rf(5, max_depth=2), iris, oracle="smt"), "brief"
    yield (
        "majority forest",
        partial(fitted, tp.MajorityForestClassifier(9, max_depth=3, random_state=0), iris),
        "proofs",
    )
    extra = ensemble.ExtraTreesClassifier(8, max_depth=3, random_state=0)
    yield "extra trees", partial(fitted, extra, iris), "all"
    yield "boosting", partial(fitted, gb(n_estimators=8, max_depth=2), cancer), "proofs"
    yield "boosting, three classes", partial(fitted, gb(n_estimators=4, max_depth=2), iris), "proofs"
    yield "boosting, threshold", partial(fitted, gb(n_estimators=8, max_depth=2), cancer, threshold=0.3), "all"
    yield "boosting, confidence", partial(fitted, gb(n_estimators=8, max_depth=2), cancer, confidence=0.6), "all"
    yield "boosting, verified", partial(fitted, gb(n_estimators=5, max_depth=2), cancer, verify=True), "brief"
    yield "histogram", partial(fitted, hist(max_iter=6, max_leaf_nodes=6), cancer), "proofs"
    yield (
        "histogram, categories",
        (partial(fitted, hist(max_iter=6, max_leaf_nodes=6, categorical_features="from_dtype"), typed)),
        "proofs",
    )
    yield "histogram, three classes", partial(fitted, hist(max_iter=3, max_leaf_nodes=4), iris), "all"
    yield "AdaBoost", partial(fitted, ensemble.AdaBoostClassifier(n_estimators=8, random_state=0), iris), "proofs"
    bagging = ensemble.BaggingClassifier(tree.DecisionTreeClassifier(max_depth=3), n_estimators=7, random_state=0)
    yield "bagging", partial(fitted, bagging, iris), "all"
    for voting in ("hard", "soft"):
        members = [(str(i), tree.DecisionTreeClassifier(max_depth=3, max_features=2, random_state=i)) for i in range(7)]
        yield f"voting, {voting}", partial(fitted, ensemble.VotingClassifier(members, voting=voting), iris), "all"
    yield "XGBoost", partial(fitted, xgb(n_estimators=8, max_depth=2), coded(cancer)), "proofs"
    yield "XGBoost, three classes", partial(fitted, xgb(n_estimators=4, max_depth=2), coded(iris)), "all"
    yield "XGBoost, threshold", partial(fitted, xgb(n_estimators=6, max_depth=2), coded(cancer), threshold=0.6), "all"
    for name in ("model.json", "model.ubj"):
        yield f"XGBoost, {name}", partial(read_again, xgb(n_estimators=6, max_depth=2), name), "all"
    yield "LightGBM", partial(fitted, lgbm(n_estimators=8, num_leaves=5), underscored(cancer)), "proofs"
    yield "LightGBM, categories", partial(fitted, lgbm(n_estimators=6, num_leaves=5), typed), "proofs"
    yield "LightGBM, three classes", partial(fitted, lgbm(n_estimators=3, num_leaves=4), underscored(iris)), "all"
    yield "LightGBM, model.txt", partial(read_again, lgbm(n_estimators=6, num_leaves=5), "model.txt"), "all"

    one_hot, ordinal = preprocessing.OneHotEncoder(drop="if_binary"), preprocessing.OrdinalEncoder()
    yield "pipeline, one-hot", partial(piped, rf(7, max_depth=3), one_hot), "proofs"
    yield "pipeline, ordinal", partial(piped, rf(7, max_depth=3), ordinal), "all"
    yield "pipeline, boosting", partial(piped, gb(n_estimators=6, max_depth=2), one_hot), "all"
    yield "pipeline, threshold", partial(piped, rf(7, max_depth=3), one_hot, threshold=0.6), "all"
    scaled = pipeline.make_pipeline(preprocessing.MinMaxScaler(), rf(7, max_depth=3))
    yield "pipeline, scaler", partial(fitted, scaled, iris), "proofs"

    yield "regressor, forest", partial(fitted, rfr(6, max_depth=3), diabetes, cuts=[120, 180]), "proofs"
    yield (
        "regressor, tree",
        (partial(fitted, tree.DecisionTreeRegressor(max_depth=4, random_state=0), diabetes, cuts=[150])),
        "all",
    )
    yield "regressor, boosting", partial(fitted, gbr(n_estimators=6, max_depth=2), diabetes, cuts=[140, 160]), "proofs"
    yield "regressor, around", partial(around, gbr(n_estimators=8, max_depth=2), 10), "proofs"
    yield "regressor, around, forest", partial(around, rfr(5, max_depth=3), 40), "all"
    reg = xgboost.XGBRegressor(n_estimators=6, max_depth=2, n_jobs=1, random_state=0)
    yield "regressor, XGBoost", partial(fitted, reg, diabetes, cuts=[150]), "all"
    reg = lightgbm.LGBMRegressor(n_estimators=6, num_leaves=5, n_jobs=1, verbose=-1, random_state=0)
    yield "regressor, LightGBM", partial(fitted, reg, diabetes, cuts=[150]), "all"
    reg = ensemble.HistGradientBoostingRegressor(max_iter=6, max_leaf_nodes=5, random_state=0)
    yield "regressor, histogram", partial(fitted, reg, diabetes, cuts=[150]), "all"


def ask_comparisons(ask: Asked) -> None:
    """Two versions of a model."""
    for name, data in (("iris", iris), ("cancer", cancer)):
        X, y = data()
        old, new = (
            tp.Explainer(ensemble.RandomForestClassifier(n, max_depth=3, random_state=n).fit(X, y)) for n in (5, 8)
        )
        ask.case = f"two forests, {name}"
        ask("compare", "", tp.compare, old, new, X[:30])
        ask(
            "compare", "the majority vote", tp.compare, old, tp.Explainer(old.forest, vote="majority"), X[:20], n_jobs=2
        )
        ask("compare", "itself", tp.compare, new, new, X[:5])
    forest, patient = tp.examples.heart_disease()
    simple = tp.build_forest(
        [tp.split("chest-pain", 0.5, "No", "Yes")], columns=forest.column_names, classes=["No", "Yes"]
    )
    ask.case = "two forests, example"
    ask("compare", "", tp.compare, forest, simple, [patient, [0, 1, 1, 80]])


def ask_refusals(ask: Asked) -> None:
    """What is refused, and in which words."""
    ask.case = "refused"
    X, y = iris()
    model = ensemble.RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    regressor = ensemble.RandomForestRegressor(5, max_depth=3, random_state=0).fit(X, y)
    explainer, x = tp.Explainer(model), X.iloc[0]
    make, forest = tp.Explainer, tp.examples.heart_disease()[0]
    nan = [1.0, float("nan"), 2.0, 3.0]
    refuse = partial(ask, "refused")
    refuse("a model that is not fitted", make, ensemble.RandomForestClassifier())
    refuse("another model", make, linear_model.LogisticRegression(max_iter=500).fit(X, y))
    refuse("no model", make, 3)
    refuse("two outputs", make, ensemble.RandomForestClassifier(2).fit(X, np.column_stack([y, y])))
    refuse("a regressor without cuts", make(regressor).abductive, x)
    refuse("three classes", make, model, threshold=0.5)
    refuse("a regressor", make, regressor, confidence=0.5)
    refuse("two statements", make, model, confidence=0.5, cuts=[1])
    refuse("an unknown feature", make, model, kinds={"petal": "binary"})
    refuse("an unknown kind", make, model, kinds={0: "whole"})
    refuse("an unknown rule", make, model, constraints=["petal length (cm) is nice"])
    refuse("empty bounds", make, model, bounds={0: (3, 1)})
    refuse("no data", make, model, domain="observed")
    refuse("an unknown domain", make, model, domain="some")
    refuse("an unknown oracle", make, model, oracle="z3")
    refuse("an unknown option", make, model, kind={0: "binary"})
    refuse("the sat oracle", make, model, oracle="sat")
    refuse("verified by another", make, model, oracle="smt", verify=True)
    refuse("a group of unknown columns", make, forest, one_hot={"group": ["weight", "height"]})
    refuse("a short row", explainer.abductive, [1, 2, 3])
    refuse("a missing value", explainer.abductive, nan)
    refuse("a text", explainer.abductive, ["a", 1, 2, 3])
    refuse("an unknown order", explainer.abductive, x, order="random")
    refuse("no tries", explainer.abductive, x, tries=0)
    refuse("a cost without minimum", explainer.abductive, x, cost={0: 2})
    refuse("a negative cost", explainer.abductive, x, minimum=True, cost={0: -2})
    refuse("a negative time", explainer.abductive, x, timeout=-1)
    refuse("an unknown name", explainer.abductive, x, prefer=["petal lenght (cm)"])
    refuse("an unknown class", explainer.contrastive, x, target=7)
    refuse("the class that it has", explainer.contrastive, x, target=int(model.predict(X[:1])[0]))
    refuse("a feature too many", explainer.contrastive, x, fixed=[0, 1, 2, 3, 4])
    refuse("a direction", explainer.contrastive, x, directions={0: "left"})
    refuse("a scale", explainer.contrastive, x, scale={0: 0})
    refuse("an unknown norm", explainer.robustness, x, "l2")
    refuse("an unknown kind of explanation", explainer.enumerate, x, kind="all")
    refuse("a limit", explainer.enumerate, x, limit=-1)
    refuse("a feature that is not there", explainer.holds, x, [4])
    refuse("no claim", explainer.review, x)
    refuse("neither row nor label", explainer.review, claim="petal length (cm) <= 2")
    refuse("conditions that cannot be read", explainer.review, x, "petal length (cm) about 2")
    refuse("nothing protected", explainer.audit, X[:2], [])
    refuse("a formula of means", explainer.encode, x)
    refuse("an unknown format", explainer.encode, x, format="lp")
    refuse("one of several rows", explainer.batch, [x.tolist(), nan])
    refuse("returned instead", explainer.batch, [x.tolist(), nan], on_error="return")
    refuse("unknown handling", explainer.batch, X[:2], on_error="skip")
    refuse("another model's certificate", tp.check, explainer.abductive(x).certificate(), forest)
    refuse("an empty certificate", tp.check, {}, forest)
    refuse("a column that is not there", tp.build_forest, [tp.split("b", 1, 0, 1)], columns=["a"], classes=[0, 1])
    refuse("a class that is not there", tp.build_forest, [tp.leaf(3)], columns=["a"], classes=[0, 1])


def ask_all(only: str) -> Asked:
    ask = Asked()
    for name, make, how in cases():
        if only not in name:
            continue
        explainer, X, rows = make()
        ask.case = name
        for i in rows:
            if how == "brief":
                ask_briefly(ask, explainer, X, i)
            else:
                ask_about_row(ask, explainer, X, i, hard=how == "hard", proofs=how == "proofs")
        if how != "brief":
            ask_about_model(ask, explainer, X)
    if not only:
        ask_comparisons(ask)
        ask_refusals(ask)
    return ask


# ------------------------------------------------------------------------------------------------- written, compared


def versions() -> dict[str, str]:
    return {library: version(library) for library in LIBRARIES}


def write(path: Path, asked: Asked) -> None:
    lines = [json.dumps({"versions": versions()}), *(json.dumps(answer) for answer in asked.answers.values())]
    path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), 9, mtime=0))
    print(f"{path.stat().st_size:,} bytes in {path.name}")


def differences(stored: Any, now: Any, added: Counter[str], where: str = "") -> Iterator[str]:
    """What differs, of what is stored; keys that came since are counted in `added`."""
    if isinstance(stored, dict) and isinstance(now, dict):
        called = {key: key if key in now else RENAMED.get(key, key) for key in stored}
        added.update(now.keys() - called.values())
        for key, name in called.items():
            if name not in now:
                yield f"{where}.{key}: missing, was {shorten(stored[key])}"
            else:
                yield from differences(stored[key], now[name], added, f"{where}.{key}")
    elif isinstance(stored, list) and isinstance(now, list) and len(stored) == len(now):
        for i, (before, after) in enumerate(zip(stored, now, strict=True)):
            yield from differences(before, after, added, f"{where}[{i}]")
    elif type(stored) is not type(now) or stored != now:
        yield f"{where or 'all'}:\n    was {shorten(stored)}\n    now {shorten(now)}"


def shorten(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]} ..."


def compare(path: Path, asked: Asked, *, data_only: bool, only: str) -> int:
    """Print what differs from the file, by kind of question; return how many answers do."""
    header, *lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    fitted_by = json.loads(header)["versions"]
    if fitted_by != versions():
        print(f"The models may differ: the file was written with {fitted_by}, and here are {versions()}.")
    total: Counter[str] = Counter()
    wrong: dict[str, Counter[str]] = {"data": Counter(), "text": Counter(), "not asked any more": Counter()}
    added: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    shown: Counter[str] = Counter()

    def report(what: str, answer: dict[str, Any], found: list[str]) -> None:
        wrong[what][answer["kind"]] += 1
        shown[what] += 1
        if shown[what] <= SHOWN:
            print(f"{what}: {answer['case']}: {answer['question']}")
            print("\n".join(f"  {line}" for line in found[:SHOWN]))

    for line in lines:
        stored = json.loads(line)
        if only not in stored["case"] or (only and stored["kind"] in ("compare", "refused")):
            continue
        total[stored["kind"]] += 1
        now = asked.answers.pop((stored["case"], stored["question"]), None)
        if now is None:
            report("not asked any more", stored, [])
            continue
        found = list(differences(stored["data"], now["data"], added))
        missing.update(line.partition(":")[0].rpartition(".")[2] for line in found if ": missing, was" in line)
        if found:
            report("data", stored, found)
        if not data_only and stored["text"] != now["text"]:
            report("text", stored, [f"was {stored['text']}", f"now {now['text']}"])
    for name, counted in (("missing", missing), ("new, not compared", added)):
        if counted:
            print(f"keys that are {name}: " + ", ".join(f"{key} ({n:,})" for key, n in sorted(counted.items())))
    if asked.answers:
        print(f"{len(asked.answers):,} answers are not in the file")
    parts = [what for what in wrong if what != "text" or not data_only]
    print(f"{'':<14}{'answers':>9}" + "".join(f"{what:>20}" for what in parts))
    for kind, n in sorted(total.items()):
        print(f"{kind:<14}{n:>9,}" + "".join(f"{wrong[what][kind]:>20,}" for what in parts))
    print(f"{'all':<14}{total.total():>9,}" + "".join(f"{wrong[what].total():>20,}" for what in parts))
    return sum(wrong[what].total() for what in parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", type=Path, metavar="FILE", help="store the answers, as .jsonl.gz")
    action.add_argument("--compare", type=Path, metavar="FILE", help="compare them with stored ones; 1 if any differs")
    parser.add_argument("--data-only", action="store_true", help="do not compare printed texts")
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases whose name contains this")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    asked = ask_all(args.only)
    print(f"{len(asked.answers):,} answers in {time.perf_counter() - start:.0f} s")
    if args.compare:
        return 1 if compare(args.compare, asked, data_only=args.data_only, only=args.only) else 0
    for what, answers in (("", asked.answers.values()), (" refused", asked.answers.values())):
        counts = Counter(
            a["kind"] for a in answers if not what or (isinstance(a["data"], dict) and "error" in a["data"])
        )
        print(f"{what.strip() or 'all'}: " + ", ".join(f"{kind} {n:,}" for kind, n in sorted(counts.items())))
    write(args.write, asked)
    return 0


if __name__ == "__main__":
    sys.exit(main())
