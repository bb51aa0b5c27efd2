"""One small model in every format that is read, as bytes; made once, in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import tempfile
import warnings
from functools import lru_cache
from importlib import import_module
from pathlib import Path

import numpy as np


def prepare() -> None:
    """Import once what all rounds import, and make the files."""
    for name in ("catboost", "joblib", "lightgbm", "onnx", "onnxruntime", "sklearn.ensemble", "skops.io", "xgboost"):
        with contextlib.suppress(ImportError):
            import_module(name)
    model_files()


@lru_cache(maxsize=1)
def model_files() -> dict[str, bytes]:
    """Return file names with contents. Made by a child: some libraries leave threads, which do not survive a fork."""
    answer = tempfile.TemporaryFile()  # noqa: SIM115
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answer.write(pickle.dumps(_made()))
            answer.flush()
            code = 0
        finally:
            os._exit(code)
    os.waitpid(child, 0)
    answer.seek(0)
    found: dict[str, bytes] = pickle.loads(answer.read())
    return found


def _made() -> dict[str, bytes]:
    import joblib
    from sklearn import ensemble, pipeline, preprocessing

    import treeproof as tp

    rng = np.random.default_rng(0)
    X = rng.choice(np.arange(8) / 8, (60, 3))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0.7).astype(int)
    found: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def kept(file: str) -> None:
            found[file] = (folder / file).read_bytes()

        models = {
            "forest": ensemble.RandomForestClassifier(4, max_depth=3, random_state=0),
            "boosted": ensemble.GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0),
            "hist": ensemble.HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=3),
            "pipe": pipeline.make_pipeline(
                preprocessing.StandardScaler(), ensemble.ExtraTreesClassifier(3, max_depth=3, random_state=0)
            ),
        }
        for kind, model in models.items():
            model.fit(X, y)
            tp.save_forest(tp.import_model(model), folder / f"{kind}.json")
            kept(f"{kind}.json")
            joblib.dump(model, folder / f"{kind}.joblib")
            kept(f"{kind}.joblib")
            try:
                from treeproof.model.files import save_model

                save_model(model, folder / f"{kind}.skops")
                kept(f"{kind}.skops")
            except tp.MissingExtraError:
                pass
        tree = tp.isin("a", ["red", "blue"], tp.split("b", 0.5, "no", "yes"), "no")
        columns = [tp.Column("a", ("red", "green", "blue")), "b", "c"]
        named = tp.build_forest([tree, tp.split("c", 0.1, "yes", "no")], columns=columns, classes=["no", "yes"])
        tp.save_forest(named, folder / "named.json")
        kept("named.json")
        _add_libraries(found, folder, kept, X, y, models)
    return found


def _add_libraries(found: dict[str, bytes], folder: Path, kept: object, X: object, y: object, models: dict) -> None:
    """Add the files of libraries that are installed."""
    try:
        import xgboost

        model = xgboost.XGBClassifier(n_estimators=4, max_depth=2, n_jobs=1).fit(X, y)
        for ending in ("json", "ubj"):
            model.save_model(folder / f"xgb.{ending}")
            kept(f"xgb.{ending}")  # type: ignore[operator]
    except ImportError:
        pass
    try:
        import lightgbm

        model = lightgbm.LGBMClassifier(n_estimators=4, max_depth=2, min_child_samples=3, n_jobs=1, verbose=-1)
        model.fit(X, y).booster_.save_model(folder / "lgb.txt")
        kept("lgb.txt")  # type: ignore[operator]
    except ImportError:
        pass
    try:
        import catboost

        options = {"iterations": 4, "depth": 2, "thread_count": 1, "verbose": False, "allow_writing_files": False}
        model = catboost.CatBoostClassifier(**options).fit(X, y)
        for ending in ("json", "cbm"):
            model.save_model(str(folder / f"cat.{ending}"), format=ending)
            kept(f"cat.{ending}")  # type: ignore[operator]
        found["cat.json"] = json.dumps(json.loads(found["cat.json"])).encode()
    except ImportError:
        pass
    try:
        import skl2onnx

        made = skl2onnx.to_onnx(models["forest"], np.float32([[0, 0, 0]]), options={"zipmap": False})
        found["forest.onnx"] = made.SerializeToString()
    except ImportError:
        pass
