from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)

from treeproof.errors import UnsupportedModelError
from treeproof.model.importers.rough import ROUGH, _alone, _tried, only_for, shifted, twin

X = np.abs(np.random.default_rng(0).normal(size=(60, 3))) + 0.1
STEPS = [
    FunctionTransformer(np.log),
    PowerTransformer(),
    PowerTransformer(method="box-cox"),
    QuantileTransformer(n_quantiles=9),
    QuantileTransformer(n_quantiles=9, output_distribution="normal"),
    make_pipeline(StandardScaler(), PowerTransformer()),
    FeatureUnion([("a", StandardScaler()), ("b", FunctionTransformer(np.exp))]),
    ColumnTransformer([("a", FunctionTransformer(np.log1p), [0, 2])], remainder="passthrough"),
]


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_shifted_steps_enclose_the_step_and_stay_close(step):
    made = step.fit(X).transform(X)
    assert np.array_equal(twin(step, lambda part: shifted(part, 0)).transform(X), made)
    up, down = (twin(step, lambda part, way=way: shifted(part, way)).transform(X) for way in (1, -1))
    assert (down <= made).all()
    assert (made <= up).all()
    assert (down < up).any()
    assert np.allclose(down, up, rtol=1e-8, atol=1e-12)


def test_what_a_step_refuses_is_missing_in_its_twin():
    step = PowerTransformer(method="box-cox").fit(X)
    assert np.isnan(shifted(step, 0).transform([[0.0, -1.0, 1.0]])).tolist() == [[True, True, False]]


@pytest.mark.parametrize("function", ROUGH, ids=lambda function: function.__name__)
def test_functions_do_not_depend_on_how_many_numbers_there_are(function):
    assert np.array_equal(_tried(function, X), function(X))


class Odd:
    """A function of numpy's kind that gives other values where a condition on the array holds."""

    __name__ = "odd"

    def __init__(self, condition):
        self.condition = condition

    def __call__(self, values, where=True, out=None):
        values = np.asarray(values)
        made = np.nextafter(values, 0) if self.condition(values, where) else values
        if out is None:
            return made
        out[where] = made[where]
        return out


def test_a_table_that_runs_backwards_in_memory_need_not_give_the_same_to_the_last_digit():
    odd = Odd(lambda values, _: values.ndim == 1 and values.strides[0] < 0)  # as numpy's on processors with AVX-512
    assert np.array_equal(_tried(odd, X), X)


@pytest.mark.parametrize(
    "condition",
    [
        lambda values, _: values.ndim == 1,
        lambda values, _: values.strides[0] > values.itemsize and values.ndim == 1,
        lambda _, where: where is not True,
    ],
    ids=["flat", "spread", "alone"],
)
def test_functions_that_do_are_refused(condition):
    with pytest.raises(UnsupportedModelError, match="numpy's odd must give the same value for a number alone"):
        _tried(Odd(condition), X)


@pytest.mark.parametrize("function", ROUGH, ids=lambda function: function.__name__)
def test_numbers_alone_are_those_that_a_mask_singles_out(function):
    values = X.ravel()
    assert np.array_equal(_alone(function, values, np.empty_like(values)), [function(value) for value in values])


@pytest.mark.parametrize("density", [0, 1])
def test_steps_for_some_columns_make_the_same_of_them_and_leave_others_alone(density):
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(d=np.where(X[:, 0] > 1, "x", "y"))
    columns = ColumnTransformer(
        [
            ("l", FunctionTransformer(np.log1p), ["a"]),
            ("o", OneHotEncoder(), ["d"]),
            ("s", StandardScaler(), ["c", "b"]),
        ],
        sparse_threshold=density,
    )
    steps = make_pipeline(make_pipeline(columns), StandardScaler(with_mean=False)).fit(table)

    def made_of(steps):
        return np.asarray(steps.transform(table).todense() if density else steps.transform(table))

    whole = made_of(steps)
    for taken, made in (([0], [0]), ([1], [3, 4]), ([3, 0], [0, 1, 2])):
        part = made_of(only_for(steps, taken))
        assert np.array_equal(part[:, made], whole[:, made])
        assert not part[:, [o for o in range(5) if o not in made]].any()


def test_steps_that_make_frames_stay_as_they_are():
    columns = ColumnTransformer([("a", FunctionTransformer(np.log1p), [0])], remainder=StandardScaler())
    steps = make_pipeline(columns).set_output(transform="pandas").fit(pd.DataFrame(X))
    assert only_for(steps, [0]) is steps


def test_parts_without_columns_are_no_trouble():
    columns = ColumnTransformer(
        [("n", StandardScaler(), []), ("l", FunctionTransformer(np.log1p), [0])], remainder="passthrough"
    )
    steps = make_pipeline(columns).fit(X)
    part = only_for(steps, [0]).transform(X)
    assert np.array_equal(part[:, 0], steps.transform(X)[:, 0])
    assert not part[:, 1:].any()
