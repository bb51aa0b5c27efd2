"""Pipelines: steps in front of a model, for a table with numbers, names, gaps, in all types that pandas has."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_selection import (
    RFE,
    RFECV,
    SelectFdr,
    SelectFromModel,
    SelectKBest,
    SelectPercentile,
    SequentialFeatureSelector,
    VarianceThreshold,
)
from sklearn.impute import IterativeImputer, KNNImputer, MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier

from catalogue import Entry

# Newer versions of scikit-learn warn without it, and older ones do not know it.
_KNOWN = "quantile_method" in inspect.signature(KBinsDiscretizer).parameters
QUANTILES = {"quantile_method": "averaged_inverted_cdf"} if _KNOWN else {}
NUMBERS = ["age", "income", "balance"]
NAMES = ["city", "job"]


def people(n: int = 150, *, gaps: bool = True, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """A table with numbers and names, some of them missing, and two classes."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "income": np.round(rng.lognormal(8, 0.6, n), 2),
            "balance": np.round(rng.normal(0, 900, n), 2),
            "city": pd.Series(rng.choice(["Bern", "Graz", "Lyon", "Oslo"], n, p=[0.4, 0.3, 0.25, 0.05]), dtype=object),
            "job": pd.Series(rng.choice(["clerk", "cook", "nurse"], n), dtype=object),
            "owner": rng.random(n) < 0.5,
            "children": rng.integers(0, 4, n),
        }
    )
    rich = X["income"].rank() + X["age"].rank() + 60 * (X["city"] == "Bern") - 50 * (X["job"] == "cook")
    y = np.where(rich + 30 * X["owner"] + 10 * X["children"] > rich.median() + 30, "good", "bad")
    if gaps:
        for name in (*NUMBERS, *NAMES):
            X.loc[rng.random(n) < 0.1, name] = math.nan
    return X, y


def forest() -> Any:
    return RandomForestClassifier(6, max_depth=4, random_state=0)


def impute(**options: Any) -> Any:
    return SimpleImputer(**{"strategy": "most_frequent", **options})


def columns(numbers: Any = None, names: Any = None, rest: Any = "drop", **options: Any) -> ColumnTransformer:
    """Return the usual first step: one way for numbers, one for names."""
    return ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()) if numbers is None else numbers, NUMBERS),
            (
                "names",
                make_pipeline(impute(), OneHotEncoder(handle_unknown="ignore")) if names is None else names,
                NAMES,
            ),
        ],
        remainder=rest,
        **options,
    )


def _entry(
    family: str,
    name: str,
    *steps: Any,
    data: Callable[[pd.DataFrame], Any] = lambda X: X,
    gaps: bool = True,
    final: Any = None,
    refused: str = "",
    output: str = "",
    options: dict[str, Any] | None = None,
) -> Entry:
    def make() -> tuple[Any, Any]:
        X, y = people(gaps=gaps)
        X = data(X)
        model = make_pipeline(*(clone(step) for step in steps), forest() if final is None else clone(final))
        if output:
            model.set_output(transform=output)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of empty columns, and bins that are too small
            return model.fit(X, y), X

    return Entry(f"Pipelines: {family}", name, make, refused, options or {})


def _imputers() -> list[Entry]:
    family = "imputers"
    numbers = {
        "mean": SimpleImputer(),
        "median": SimpleImputer(strategy="median"),
        "most frequent number": SimpleImputer(strategy="most_frequent"),
        "constant number": SimpleImputer(strategy="constant", fill_value=-7),
        "constant number by default": SimpleImputer(strategy="constant"),
        "number with `add_indicator`": SimpleImputer(add_indicator=True),
        "`missing_values=-1`": SimpleImputer(missing_values=-1),
        "`missing_values=-1`, `add_indicator`": SimpleImputer(missing_values=-1, add_indicator=True),
    }
    names = {
        "most frequent name": impute(),
        "constant name": impute(strategy="constant", fill_value="unknown"),
        "constant name by default": impute(strategy="constant"),
        "name with `add_indicator`": impute(add_indicator=True),
        "`missing_values=None`": impute(missing_values=None),
        "`missing_values=pd.NA`": impute(missing_values=pd.NA),
        '`missing_values="?"`': impute(missing_values="?"),
    }
    found = []
    for name, step in numbers.items():
        marked = step.missing_values == -1
        data = (lambda X: X[NUMBERS].fillna(-1)) if marked else (lambda X: X[NUMBERS])
        found.append(_entry(family, f"`SimpleImputer`: {name}", step, data=data))
    for name, step in names.items():
        mark = step.missing_values
        steps = columns(names=make_pipeline(step, OneHotEncoder(handle_unknown="ignore")))
        found.append(
            _entry(family, f"`SimpleImputer`: {name}", steps, data=lambda X, mark=mark: _marked(X, NAMES, mark))
        )
    empty = lambda X: X[NUMBERS].assign(balance=math.nan)  # noqa: E731
    found += [
        _entry(family, "`SimpleImputer`: an empty column left out", SimpleImputer(), data=empty),
        _entry(family, "`SimpleImputer`: `keep_empty_features`", SimpleImputer(keep_empty_features=True), data=empty),
        _entry(family, "`SimpleImputer` behind a scaler", StandardScaler(), SimpleImputer(), data=lambda X: X[NUMBERS]),
        _entry(
            family,
            "`KNNImputer`",
            KNNImputer(),
            data=lambda X: X[NUMBERS],
            refused="KNNImputer",
        ),
        _entry(family, "`IterativeImputer`", IterativeImputer(), data=lambda X: X[NUMBERS], refused="IterativeImputer"),
        _entry(
            family,
            "`MissingIndicator`",
            FeatureUnion([("value", SimpleImputer()), ("gap", MissingIndicator(features="all"))]),
            data=lambda X: X[NUMBERS],
        ),
    ]
    return found


def _marked(X: pd.DataFrame, names: list[str], mark: Any) -> pd.DataFrame:
    """Return the table with gaps of names written in some other way."""
    if isinstance(mark, float):
        return X
    changed = {name: [mark if value != value else value for value in X[name]] for name in names}
    return X.assign(**{name: pd.Series(values, dtype=object) for name, values in changed.items()})


def _encoders() -> list[Entry]:
    family = "encoders"
    encoders = {
        "`OneHotEncoder`": OneHotEncoder(),
        "`OneHotEncoder`, dense": OneHotEncoder(sparse_output=False),
        '`OneHotEncoder(drop="first")`': OneHotEncoder(drop="first"),
        '`OneHotEncoder(drop="if_binary")`': OneHotEncoder(drop="if_binary"),
        "`OneHotEncoder(drop=[...])`": OneHotEncoder(drop=["Graz", "cook"]),
        '`OneHotEncoder(handle_unknown="ignore")`': OneHotEncoder(handle_unknown="ignore"),
        '`OneHotEncoder(handle_unknown="ignore", drop="first")`': OneHotEncoder(handle_unknown="ignore", drop="first"),
        '`OneHotEncoder(handle_unknown="infrequent_if_exist")`': OneHotEncoder(
            handle_unknown="infrequent_if_exist", min_frequency=20
        ),
        '`OneHotEncoder(handle_unknown="infrequent_if_exist", drop="first")`': OneHotEncoder(
            handle_unknown="infrequent_if_exist", max_categories=2, drop="first"
        ),
        '`OneHotEncoder(handle_unknown="warn")`': OneHotEncoder(handle_unknown="warn", min_frequency=20),
        "`OneHotEncoder(min_frequency=0.1)`": OneHotEncoder(min_frequency=0.1),
        "`OneHotEncoder(max_categories=3)`": OneHotEncoder(max_categories=3, sparse_output=False),
        "`OneHotEncoder(categories=[...])`": OneHotEncoder(
            categories=[["Oslo", "Lyon", "Graz", "Bern", "Rome"], ["nurse", "cook", "clerk"]]
        ),
        "`OrdinalEncoder`": OrdinalEncoder(),
        '`OrdinalEncoder(handle_unknown="use_encoded_value")`': OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=-1
        ),
        "`OrdinalEncoder(unknown_value=nan)`": OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=math.nan
        ),
        "`OrdinalEncoder(min_frequency=20)`": OrdinalEncoder(min_frequency=20),
        "`OrdinalEncoder(max_categories=2)`": OrdinalEncoder(
            max_categories=2, handle_unknown="use_encoded_value", unknown_value=9
        ),
    }
    found = []
    for name, encoder in encoders.items():
        listed = "categories=[" in name or "drop=[" in name
        found.append(_entry(family, name, columns(names=make_pipeline(impute(), encoder) if listed else encoder)))
    found += [
        _entry(
            family,
            "`OrdinalEncoder(encoded_missing_value=-1)`",
            columns(names=OrdinalEncoder(encoded_missing_value=-1)),
        ),
        _entry(
            family,
            "`OrdinalEncoder(encoded_missing_value=-2, unknown_value=-1)`",
            columns(
                names=OrdinalEncoder(
                    encoded_missing_value=-2, handle_unknown="use_encoded_value", unknown_value=-1, min_frequency=20
                )
            ),
        ),
        _entry(
            family,
            "an encoder of whole numbers and booleans",
            ColumnTransformer([("code", OneHotEncoder(drop="if_binary"), ["children", "owner"])]),
        ),
        _entry(
            family,
            "one column, encoded twice",
            FeatureUnion([("one", OneHotEncoder(sparse_output=False)), ("two", OrdinalEncoder())]),
            data=lambda X: X[NAMES].fillna("none"),
        ),
    ]
    for target in ("auto", "binary"):
        encoder = TargetEncoder(target_type=target)
        found.append(_entry(family, f'`TargetEncoder(target_type="{target}")`', columns(names=encoder)))
    return found


def _other_values() -> list[Entry]:
    family = "other categories than those known"
    encoders = {
        '`OneHotEncoder(handle_unknown="ignore")`, `other="all"`': OneHotEncoder(handle_unknown="ignore"),
        '`OneHotEncoder(handle_unknown="infrequent_if_exist")`, `other="all"`': OneHotEncoder(
            handle_unknown="infrequent_if_exist", min_frequency=20
        ),
        '`OneHotEncoder(handle_unknown="warn")`, `other="all"`': OneHotEncoder(handle_unknown="warn", max_categories=3),
        '`OrdinalEncoder(handle_unknown="use_encoded_value")`, `other="all"`': OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=-1
        ),
        '`TargetEncoder`, `other="all"`': TargetEncoder(),
    }
    found = [
        _entry(family, name, columns(names=make_pipeline(impute(), encoder)), options={"other": "all"})
        for name, encoder in encoders.items()
    ]
    code = OneHotEncoder(handle_unknown="ignore")
    return [
        *found,
        _entry(
            family,
            "whole and other numbers as categories",
            ColumnTransformer([("code", code, ["children", "size"])], remainder="drop"),
            data=lambda X: X.assign(size=X["children"] % 3 / 2),
            options={"other": ["children", "size"]},
        ),
        _entry(
            family,
            "names as `category`",
            columns(names=code),
            data=lambda X: X.astype({"city": "category"}),
            gaps=False,
            options={"other": ["city"]},
        ),
        _entry(
            family,
            "a category that is called other",
            columns(names=code),
            data=lambda X: X.replace({"city": {"Oslo": "other"}}),
            options={"other": ["city"]},
        ),
    ]


def _types() -> list[Entry]:
    family = "types of columns"

    def typed(**types: Any) -> Callable[[pd.DataFrame], pd.DataFrame]:
        return lambda X: X.astype(types)

    textbook, whole = columns(rest="passthrough"), columns(rest=SimpleImputer())
    return [
        _entry(family, "names as objects", textbook),
        _entry(family, "names as pandas' `str`", textbook, data=typed(city="str", job="str")),
        _entry(
            family,
            "names as `string`, `missing_values=pd.NA`",
            columns(names=make_pipeline(impute(missing_values=pd.NA), OneHotEncoder())),
            data=typed(city="string", job="string"),
        ),
        _entry(family, "names as `category`", textbook, data=typed(city="category", job="category")),
        _entry(family, "names as `str`, gaps as a category", columns(names=OneHotEncoder()), data=typed(city="str")),
        _entry(
            family,
            "names as `category`, gaps as a category",
            columns(names=OneHotEncoder()),
            data=typed(city="category"),
        ),
        _entry(
            family,
            "numbers as `float32` in training (claims are about float64)",
            textbook,
            data=typed(age="float32", income="float32"),
        ),
        _entry(family, "numbers as `Int64`, `Float64`", textbook, data=typed(age="Int64", income="Float64")),
        _entry(family, "booleans as `boolean`", textbook, data=typed(owner="boolean", children="Int64")),
        _entry(family, "whole numbers, `remainder` an imputer", whole, data=typed(owner="float")),
        _entry(
            family,
            "an array of numbers",
            SimpleImputer(),
            MinMaxScaler(),
            data=lambda X: X[NUMBERS].to_numpy(),
        ),
        _entry(
            family,
            "an array of objects",
            ColumnTransformer(
                [
                    ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), [0, 1, 2]),
                    ("names", make_pipeline(impute(), OneHotEncoder(handle_unknown="ignore")), [3, 4]),
                ]
            ),
            data=lambda X: X.to_numpy(dtype=object),
        ),
        _entry(
            family,
            "dates, left out",
            columns(),
            data=lambda X: X.assign(day=pd.Timestamp("2024-02-29")),
        ),
        _entry(
            family,
            "dates, encoded",
            ColumnTransformer(
                [("numbers", SimpleImputer(), NUMBERS), ("day", OrdinalEncoder(), ["day"])],
            ),
            data=lambda X: X.assign(day=pd.Timestamp("2024-02-29") + pd.to_timedelta(X["children"], unit="D")),
            refused="day",
        ),
    ]


def _columns() -> list[Entry]:
    family = "choosing columns"
    plain = ["age", "income", "balance", "owner", "children"]
    chosen = {
        "by name": NUMBERS,
        "by index": [0, 2, -1],
        "by slice": slice(0, 3),
        "by slice of names": slice("age", "balance"),
        "by mask": [True, False, True, False, True],
        "by `make_column_selector`": make_column_selector(dtype_include=float),
        "by `make_column_selector(pattern=...)`": make_column_selector(pattern="^[ac]"),
        "by function": lambda X: [name for name in X.columns if "a" in name],
    }
    found = [
        _entry(
            family,
            f"`ColumnTransformer`: {name}",
            ColumnTransformer([("chosen", StandardScaler(), which)], remainder=rest),
            data=lambda X: X[plain],
            gaps=False,
        )
        for name, which in chosen.items()
        for rest in (["passthrough"] if name != "by index" else ["drop"])
    ]
    found += [
        _entry(family, "`remainder` an estimator", columns(rest=MinMaxScaler()), gaps=False),
        _entry(
            family,
            '`set_output(transform="pandas")`',
            columns(names=make_pipeline(impute(), OneHotEncoder(sparse_output=False))),
            VarianceThreshold(),
            output="pandas",
        ),
        _entry(
            family,
            '`set_output(transform="polars")`',
            columns(names=make_pipeline(impute(), OneHotEncoder(sparse_output=False))),
            VarianceThreshold(),
            output="polars",
        ),
        _entry(
            family,
            "nested pipelines and transformers",
            make_pipeline(
                Pipeline([("nothing", "passthrough"), ("inner", columns(rest="passthrough"))]),
                ColumnTransformer([("some", StandardScaler(), slice(0, 3))], remainder="passthrough"),
            ),
        ),
        _entry(
            family,
            "a column in several parts",
            ColumnTransformer(
                [
                    ("mean", SimpleImputer(), ["age", "income"]),
                    (
                        "bins",
                        make_pipeline(SimpleImputer(), KBinsDiscretizer(3, encode="ordinal", strategy="uniform")),
                        ["age"],
                    ),
                    ("code", OneHotEncoder(), ["children"]),
                    ("number", MinMaxScaler(), ["children"]),
                ]
            ),
        ),
        _entry(
            family,
            "`FeatureUnion`",
            SimpleImputer(),
            FeatureUnion([("a", StandardScaler()), ("b", KBinsDiscretizer(3, encode="ordinal", strategy="uniform"))]),
            data=lambda X: X[NUMBERS],
        ),
        _entry(
            family,
            "`FeatureUnion` with `transformer_weights`",
            SimpleImputer(),
            FeatureUnion(
                [("a", StandardScaler()), ("b", "passthrough"), ("c", "drop"), ("d", MinMaxScaler())],
                transformer_weights={"a": 3.3, "b": 0.7, "d": 0.0},
            ),
            data=lambda X: X[NUMBERS],
        ),
        _entry(
            family,
            "`FeatureUnion` of selections",
            FeatureUnion(
                [
                    ("numbers", ColumnTransformer([("n", SimpleImputer(), NUMBERS)])),
                    ("names", ColumnTransformer([("n", OneHotEncoder(), NAMES)])),
                ]
            ),
        ),
    ]
    for selector in (
        VarianceThreshold(0.05),
        SelectKBest(k=4),
        SelectPercentile(percentile=50),
        SelectFdr(alpha=0.5),
        SelectFromModel(ExtraTreesClassifier(5, random_state=0), max_features=4),
        RFE(DecisionTreeClassifier(random_state=0), n_features_to_select=4),
        RFECV(DecisionTreeClassifier(random_state=0), cv=2, step=3),
        SequentialFeatureSelector(DecisionTreeClassifier(max_depth=2, random_state=0), n_features_to_select=2, cv=2),
    ):
        steps = columns(names=make_pipeline(impute(), OrdinalEncoder()), rest="passthrough")
        found.append(_entry(family, f"`{type(selector).__name__}`", steps, selector))
    return found


def _scalers() -> list[Entry]:
    family = "steps that treat each number alone"
    steps: dict[str, Any] = {
        "`StandardScaler`": StandardScaler(),
        "`MinMaxScaler(clip=True)`": MinMaxScaler(clip=True),
        "`MaxAbsScaler`": MaxAbsScaler(),
        "`RobustScaler`": RobustScaler(),
        "`Binarizer`": Binarizer(threshold=40),
        '`KBinsDiscretizer(encode="ordinal")`': KBinsDiscretizer(4, encode="ordinal", **QUANTILES),
        "`KBinsDiscretizer`, a column per bin": KBinsDiscretizer(4, strategy="uniform"),
        '`KBinsDiscretizer(strategy="kmeans")`': KBinsDiscretizer(
            4, encode="onehot-dense", strategy="kmeans", random_state=0
        ),
        "`FunctionTransformer()`": FunctionTransformer(),
        "`FunctionTransformer(np.floor)`": FunctionTransformer(np.floor),
        "`FunctionTransformer(np.clip)`": FunctionTransformer(np.clip, kw_args={"a_min": 30, "a_max": 5000}),
        '`PowerTransformer(method="yeo-johnson")`': PowerTransformer(),
        "`PowerTransformer(standardize=False)`": PowerTransformer(standardize=False),
        "`QuantileTransformer`": QuantileTransformer(n_quantiles=50),
        '`QuantileTransformer(output_distribution="normal")`': QuantileTransformer(
            n_quantiles=20, output_distribution="normal"
        ),
    }
    for name in ("sqrt", "log", "log1p", "log2", "log10", "cbrt", "arcsinh"):
        steps[f"`FunctionTransformer(np.{name})`"] = FunctionTransformer(getattr(np, name))
    for name in ("exp", "expm1", "exp2", "sinh", "tanh", "arctan"):
        steps[f"`FunctionTransformer(np.{name})`, scaled"] = make_pipeline(
            MinMaxScaler(), FunctionTransformer(getattr(np, name)), StandardScaler()
        )
    steps['`PowerTransformer(method="box-cox")`'] = PowerTransformer(method="box-cox")
    steps["several of them"] = make_pipeline(FunctionTransformer(np.log1p), PowerTransformer(), StandardScaler())
    found = [
        _entry(family, name, step, data=lambda X: X[["age", "income"]], gaps=False) for name, step in steps.items()
    ]
    found += [
        _entry(
            family,
            f"`FunctionTransformer(np.{name})`",
            FunctionTransformer(getattr(np, name)),
            data=lambda X: X[NUMBERS],
            gaps=False,
            refused=f"FunctionTransformer of {name}",
        )
        for name in ("square", "abs", "negative")
    ]
    mixing: dict[str, Any] = {
        "`PCA`": PCA(2),
        "`PolynomialFeatures`": PolynomialFeatures(),
        "`SplineTransformer`": SplineTransformer(),
        "`Normalizer`": Normalizer(),
    }
    found += [
        _entry(family, name, step, data=lambda X: X[NUMBERS], gaps=False, refused=type(step).__name__)
        for name, step in mixing.items()
    ]
    return found


def _finals() -> list[Entry]:
    from lightgbm import LGBMClassifier

    finals = [
        DecisionTreeClassifier(max_depth=5, random_state=0),
        GradientBoostingClassifier(n_estimators=6, random_state=0),
        HistGradientBoostingClassifier(max_iter=6, min_samples_leaf=5, random_state=0),
        LGBMClassifier(n_estimators=6, num_leaves=8, min_child_samples=5, n_jobs=1, verbose=-1),
    ]
    return [_entry("models", f"the textbook's steps and `{type(f).__name__}`", columns(), final=f) for f in finals]


ENTRIES: list[Entry] = [
    *_imputers(),
    *_encoders(),
    *_other_values(),
    *_types(),
    *_columns(),
    *_scalers(),
    *_finals(),
]
