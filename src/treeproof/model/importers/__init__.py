"""From a fitted model to a `Forest`. One file for each library; each registers here what it takes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Literal

import numpy.typing as npt

from treeproof.errors import InputError, TreeproofError, UnsupportedModelError
from treeproof.model.decision import Vote, check_vote
from treeproof.model.forest import Forest
from treeproof.model.importers.hints import hint

Function = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
"""Maps sums of leaf values to numbers that a model makes of them, in its own arithmetic; never decreases."""

_IMPORTERS = (
    "sklearn",
    "gradient_boosting",
    "hist_gradient_boosting",
    "ada_boost",
    "bagging",
    "voting",
    "isolation_forest",
    "wrappers",
    "one_vs_rest",
    "outputs",
    "xgboost",
    "lightgbm",
    "catboost",
    "onnx",
    "pipeline",
)


def _importers() -> list[Any]:
    """Return the importers. They import scikit-learn, which takes a second, so nobody waits for them before that."""
    return [import_module(f"{__name__}.{name}") for name in _IMPORTERS]


def import_model(model: Any, *, vote: Vote | None = None, output: str | int | None = None, data: Any = None) -> Forest:
    """Return the forest that predicts exactly as `model`, or under another vote of its trees.

    Parameters
    ----------
    model
        A fitted classifier, or a `Forest`, which is returned as it is.
    vote
        ``None``: the model's own ``predict``. ``"majority"`` or ``"mean"``: that vote of the model's trees.
    output
        Of a model with several outputs, which one: its number from 0, or its name if it has one.
    data
        Rows as the model takes them; models that do not know how their categories are called need them: CatBoost's,
        and XGBoost's where names have letters beyond ASCII.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import_model(RandomForestClassifier(10, random_state=0).fit(*load_iris(return_X_y=True)))
    Forest(10 trees, ... nodes, 4 columns, 3 classes, mean vote)
    """
    if vote is not None:
        check_vote(vote)
    model = selected(model, output)
    if isinstance(model, Forest):
        return model if vote is None else model.with_vote(vote)
    importers = _importers()
    for importer in importers:
        if importer.takes(model):
            with _damage(model):
                reads_data = hasattr(importer, "needs_data")
                found: Forest = importer.load(model, vote, data) if reads_data else importer.load(model, vote)
            return found
    got = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
    known = hint(model, is_taken)
    listed = f" It takes: {'; '.join(i.TAKES for i in importers)}; or a treeproof.Forest."
    raise UnsupportedModelError(
        f"The model must be a fitted tree ensemble that treeproof can follow. Got {got} instead.{known or listed}"
    )


@contextmanager
def _damage(model: Any) -> Iterator[None]:
    """Say in a sentence that a model is not as its library makes it: an attribute is missing, or of another type."""
    try:
        yield
    except (TreeproofError, OSError, MemoryError):
        raise
    except Exception as error:
        raise UnsupportedModelError(
            f"{type(model).__name__} is not as its library makes it: {type(error).__name__}: {error}. It is damaged, "
            "or was saved with another version of the library: train or save it again with the installed one. If its "
            "own predict works, please report this."
        ) from error


def is_taken(model: Any) -> bool:
    """Return whether some importer takes models of this kind."""
    return any(importer.takes(model) for importer in _importers())


def selected(model: Any, output: str | int | None) -> Any:
    """Return the model for one output of a model with several; without `output`, the model as it is, unwrapped."""
    if output is None:
        return unwrapped(model)
    if isinstance(model, Forest):
        raise InputError(f"A forest has one output. Got output={output!r}; leave it out.")
    chosen = import_module(f"{__name__}.outputs").select(model, output)
    return unwrapped(chosen)


def needs_data(model: Any) -> tuple[str, ...]:
    """Return the names of a model's columns if `import_model` needs rows to know its categories; else nothing."""
    model = unwrapped(model)
    if isinstance(model, Forest):
        return ()
    for importer in _importers():
        if hasattr(importer, "needs_data") and importer.takes(model):
            names: tuple[str, ...] = importer.needs_data(model)
            return names
    return ()


def unwrapped(model: Any) -> Any:
    """Return the estimator that a fitted search, such as GridSearchCV, or a FrozenEstimator predicts with.

    Any other model is returned as it is.
    """
    if "sklearn.model_selection" not in sys.modules:  # then nobody has made a search yet
        return model
    from sklearn.frozen import FrozenEstimator
    from sklearn.model_selection._search import BaseSearchCV

    from treeproof.errors import NotFittedError

    while isinstance(model, BaseSearchCV | FrozenEstimator):
        if isinstance(model, FrozenEstimator):
            model = model.estimator
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            raise NotFittedError(f"The search must be fitted, with refit=True. Got an unfitted {type(model).__name__}.")
    return model


def probability_of(model: Any) -> Callable[[float], float] | None:
    """Return the function from a sum of leaf values to the probability of the second class, in the model's arithmetic.

    None for models whose probabilities are means of leaf values, or cannot be followed.
    """
    found: Callable[[float], float] | None = _function_of(model, "probability")
    return found


def decision_of(model: Any) -> Function | None:
    """Return the function from sums to the decision function of a classifier of two classes; None if not known."""
    found: Function | None = _function_of(model, "decision")
    return found


def link_of(model: Any) -> Function | None:
    """Return the function from sums to what a regressor predicts, in its own arithmetic; None if that is the sum.

    It can be pickled, as an explainer keeps it.
    """
    found: Function | None = _function_of(model, "link")
    return found


def narrows(model: Any) -> bool:
    """Return whether steps of the model compute in float32 on float32 data, and in float64 on other."""
    members = (member for member in getattr(unwrapped(model), "estimators_", ()) if hasattr(member, "steps"))
    return bool(_function_of(model, "narrows")) or any(map(narrows, members))


def recorded_kinds(model: Any) -> dict[int, Literal["integer", "binary"]]:
    """Return the columns that held whole numbers, or truth values, in training, where the model kept a record."""
    found: dict[int, Literal["integer", "binary"]] = _function_of(model, "kinds") or {}
    return found


def _function_of(model: Any, name: str) -> Any:
    """Return what a function of the model's importer, if it has one of this name, gives for the model."""
    model = unwrapped(model)
    if isinstance(model, Forest):
        return None
    for importer in _importers():
        if importer.takes(model):
            found = getattr(importer, name, None)
            with _damage(model):
                return None if found is None else found(model)
    return None
