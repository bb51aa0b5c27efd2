from __future__ import annotations

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, PowerTransformer, QuantileTransformer, StandardScaler

from treeproof.errors import UnsupportedModelError
from treeproof.model.importers.rough import ROUGH, _tried, shifted, twin

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


def test_a_table_that_runs_backwards_in_memory_need_not_give_the_same_to_the_last_digit():
    def odd(values):  # as numpy's logarithm on processors with AVX-512
        backwards = np.ndim(values) == 1 and values.strides[0] < 0
        return np.nextafter(values, 0) if backwards else values

    assert np.array_equal(_tried(odd, X), X)


def test_functions_that_do_are_refused():
    def odd(values):
        return np.asarray(values) + np.size(values)

    with pytest.raises(UnsupportedModelError, match="numpy's odd must give the same value for a number alone"):
        _tried(odd, X)
