"""ONNX models, as converters write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from catalogue import Entry


def _of(model: Any, regression: bool = False, kind: type = np.float32, whole: bool = False) -> Any:
    """Return what fits a model of scikit-learn and converts it by skl2onnx."""

    def make() -> tuple[Any, Any]:
        for package in ("onnx", "onnxruntime", "skl2onnx"):
            pytest.importorskip(package, reason="ONNX models are made by skl2onnx, and run by onnxruntime")
        from skl2onnx import to_onnx

        from onnx_sessions import Model

        X, y = load_diabetes(return_X_y=True) if regression else load_iris(return_X_y=True)
        X = (np.round(X[:, :5]) if whole else X[:, :5]).astype(kind)
        return Model(to_onnx(model.fit(X, y), X[:1])), X

    return make


def _boosted(library: str, name: str) -> Any:
    """Return what fits a boosted model and converts it by onnxmltools."""

    def make() -> tuple[Any, Any]:
        module = pytest.importorskip(library, reason="its models are converted to ONNX")
        for package in ("onnx", "onnxruntime", "onnxmltools"):
            pytest.importorskip(package, reason="ONNX models are made by onnxmltools, and run by onnxruntime")
        import onnxmltools
        from onnxmltools.convert.common.data_types import FloatTensorType

        from onnx_sessions import Model

        X, y = load_iris(return_X_y=True)
        options = {"verbose": -1} if library == "lightgbm" else {}
        model = getattr(module, name)(n_estimators=8, max_depth=3, n_jobs=1, **options).fit(X, y)
        convert = getattr(onnxmltools, f"convert_{library}")
        return Model(convert(model, initial_types=[("X", FloatTensorType([None, 4]))])), X

    return make


CUTS = {"cuts": [140]}
FOREST = RandomForestClassifier(10, max_depth=4, random_state=0)
SCALED = make_pipeline(SimpleImputer(), StandardScaler(), FOREST)
ENTRIES = [
    Entry("ONNX", "`RandomForestClassifier` by skl2onnx", _of(FOREST)),
    Entry("ONNX", "`ExtraTreesClassifier` by skl2onnx", _of(ExtraTreesClassifier(10, max_depth=4, random_state=0))),
    Entry("ONNX", "`GradientBoostingClassifier` by skl2onnx", _of(GradientBoostingClassifier(n_estimators=8))),
    Entry(
        "ONNX", "`RandomForestRegressor` by skl2onnx", _of(RandomForestRegressor(10, max_depth=4), True), options=CUTS
    ),
    Entry(
        "ONNX",
        "`GradientBoostingRegressor` by skl2onnx",
        _of(GradientBoostingRegressor(n_estimators=8), True),
        options=CUTS,
    ),
    Entry("ONNX", "imputer, scaler and `RandomForestClassifier` by skl2onnx", _of(SCALED)),
    Entry("ONNX", "`RandomForestClassifier` by skl2onnx, float64 inputs", _of(FOREST, kind=np.float64)),
    Entry("ONNX", "`XGBClassifier` by onnxmltools", _boosted("xgboost", "XGBClassifier")),
    Entry("ONNX", "`LGBMClassifier` by onnxmltools", _boosted("lightgbm", "LGBMClassifier")),
    Entry("ONNX", "`BaggingClassifier` by skl2onnx", _of(BaggingClassifier(n_estimators=3)), "The first output"),
    Entry(
        "ONNX",
        "`OneHotEncoder` before trees, by skl2onnx",
        _of(make_pipeline(OneHotEncoder(handle_unknown="ignore"), FOREST), whole=True),
        "Steps before the trees",
    ),
]
