"""Local questions: scales, what results say, and what is refused."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction

import numpy as np
import pytest

import treeproof as tp
from treeproof.model.build import build_forest, isin, leaf, split
from treeproof.questions.nearby import spreads_of


def forest() -> tp.Forest:
    """Three trees vote: a > 10, b > 10, red."""
    yes, no = leaf("yes"), leaf("no")
    trees = [
        split("a", 10.0, no, yes),
        split("b", 10.0, no, yes),
        isin("colour", ["red"], yes, no),
    ]
    return build_forest(
        trees, columns=["a", "b", tp.Column("colour", ("red", "blue"))], classes=["no", "yes"], vote="majority"
    )


@pytest.fixture(scope="module")
def explainer() -> tp.Explainer:
    return tp.Explainer(forest())


ROW = [12, 13, "red"]


def test_a_feature_is_needed_as_soon_as_its_cut_is_within_reach(explainer):
    scale = {"a": 4, "b": 4}
    assert explainer.abductive(ROW, within=0.4999, scale=scale).features == ()
    # 10 goes the other way, so at 2 / 4 the cut is crossed; but one vote alone does not change the majority.
    assert explainer.abductive(ROW, within=0.5, scale=scale).features == ()
    assert explainer.abductive(ROW, within=0.75, scale=scale).feature_names == ("b",)
    assert explainer.abductive(ROW, within=0.7499, scale=scale).features == ()
    assert len(explainer.abductive(ROW, within=1, scale=scale).features) == len(explainer.abductive(ROW).features) == 2


def test_a_radius_counts_as_the_decimal_that_it_is_written_as(explainer):
    scale = {"a": 0.1, "b": 0.1}  # 30 * 0.1 is 3, and 0.1 as a float is a little more
    assert explainer.abductive(ROW, within=30, scale=scale).feature_names == ("b", "colour")
    assert (
        explainer.abductive(ROW, within=Fraction("29.999999999999999999"), scale={**scale, "colour": 0.01}).features
        == ()
    )


def test_what_is_said(explainer):
    why = explainer.abductive(ROW, within=0.75, scale={"a": 4, "b": 4})
    assert str(why).splitlines() == [
        "yes, because",
        "  b = 13",
        "Proved: this 1 of 3 features forces the prediction as long as no other feature moves by more than 0.75 of its "
        "scale; it cannot be dropped.",
        "Scale: as given for a, b, otherwise the span of the forest's cuts; named and missing values are 1 apart.",
    ]
    assert [str(condition) for condition in why.others] == ["colour = red"]
    assert [line.role for line in why.lines] == ["condition", "proved", "note"]
    plain = json.loads(json.dumps(why.to_dict()))
    assert (plain["within"], plain["within_exact"], plain["others"][0]["values"]) == (0.75, "3/4", ["red"])
    assert pickle.loads(pickle.dumps(why)) == why
    assert "0.75 of its scale" in why._repr_html_()
    assert explainer.abductive(ROW).within is None
    none = explainer.abductive(ROW, within=0)
    assert none.title == "yes, whatever the input nearby"
    assert none.claim == "Proved: no input has another label as long as no feature moves by more than 0 of its scale."


def test_verdicts_and_changes_say_how_far(explainer):
    options = {"within": 1, "scale": {"a": 4, "b": 4}}
    assert "as long as no other feature moves by more than 1 of its scale" in str(
        explainer.holds(ROW, [0, 1], **options)
    )
    assert "kept and the others within 1 of their scale" in str(explainer.holds(ROW, [2], **options))
    change = explainer.contrastive(ROW, **options)
    assert change.limits == ("every feature within 1 of its scale",)
    none = explainer.contrastive(ROW, within=0.5, scale={"a": 4, "b": 4})
    assert (
        none.claim == "Proved: no input of the space gives another label, with every feature within 0.5 of its scale."
    )


def test_limits_and_the_ball_must_share_a_value(explainer):
    """The cell b <= 10 has values in the ball and values up to 5, but none that is both."""
    options = {"within": 1, "scale": {"a": 4, "b": 4, "colour": 0.01}}
    assert explainer.contrastive(ROW, **options).status == "minimal"
    assert explainer.contrastive(ROW, limits={"b": (None, 5)}, **options).status == "impossible"
    assert explainer.contrastive(ROW, limits={"b": (None, 9)}, **options).witness[1] == 9


def test_scales_of_data():
    rng = np.random.default_rng(0)
    space = tp.Explainer(
        build_forest([split("normal", 0.0, 0, 1)], columns=["normal", "rare", "constant", "flag"], classes=[0, 1]),
        kinds={"flag": "binary"},
    ).space
    rows = np.zeros((1000, 4))
    rows[:, 0] = rng.normal(scale=3, size=1000)
    rows[:3, 0] = 1e9
    rows[:100, 1] = 50
    rows[900:, 0] = np.nan
    normal, rare, constant, flag = spreads_of(space, rows)
    assert 2.7 < normal < 3.3
    known = sorted(rows[:900, 0].tolist())
    low, high = known[143], known[755]
    assert normal == (Fraction(high) - Fraction(low)) / 2
    assert (rare, constant, flag) == (5, 1, 1)


def test_data_gives_the_scales_of_every_distance():
    data = [[a, b, "red"] for a, b in zip(range(100), range(0, 200, 2), strict=True)]
    explainer = tp.Explainer(forest(), data=data)
    why = explainer.abductive(ROW, within=0.04)
    assert why.scale.startswith("half the distance between the 16th and the 84th percentile of the data")
    apart = explainer.robustness(ROW, keep=["colour"])
    assert apart.nearest_exact == Fraction(2, 34)  # both numbers must reach their cuts: 2 of 34 and 3 of 68
    assert "with colour kept" in apart.claim


@pytest.mark.parametrize("within", [-0.1, float("nan"), float("inf"), "near", True])
def test_a_radius_is_a_number(explainer, within):
    with pytest.raises(tp.InputError, match="'within' parameter must be a number of at least 0"):
        explainer.abductive(ROW, within=within)


def test_a_scale_needs_a_radius(explainer):
    with pytest.raises(tp.InputError, match="'scale' requires 'within'"):
        explainer.abductive(ROW, scale={"a": 2})
    with pytest.raises(tp.InputError, match="must be a positive number"):
        explainer.abductive(ROW, within=1, scale={"a": 0})


def test_a_picture_says_that_it_is_local(explainer):
    pytest.importorskip("matplotlib")
    ax = explainer.abductive(ROW, within=0.75, scale={"a": 4, "b": 4}).plot()
    shown = " ".join(text.get_text() for text in ax.figure.findobj(lambda a: hasattr(a, "get_text")))
    assert "as long as no other feature moves by more than 0.75 of its scale" in " ".join(shown.split())


def test_a_local_explanation_is_not_reviewed_as_a_global_one(explainer):
    why = explainer.abductive(ROW, within=0.75, scale={"a": 4, "b": 4})
    review = explainer.review(ROW, why)
    assert review.holds
    assert "as long as no other feature moves by more than 0.75 of its scale" in review.title
    assert not explainer.review(ROW, why.rule).holds
    assert explainer.review(ROW, why.rule, within=0.75, scale={"a": 4, "b": 4}) == review
    with pytest.raises(tp.InputError, match="needs the row"):
        explainer.review(None, why)
    other = tp.Explainer(tp.examples.heart_disease()[0])
    with pytest.raises(tp.InputError, match="does not say what the scales are here"):
        other.review([1, 0, 1, 70], why)
    assert explainer.holds(ROW, why.features, within=0.75, scale={"a": 4, "b": 4})


def test_a_budget_is_a_number_of_features_and_nothing_else():
    forest, patient = tp.examples.heart_disease()
    explainer = tp.Explainer(forest)
    for wrong in (-1, 1.5, True, "3"):
        with pytest.raises(tp.InputError, match="'at_most' parameter must be a whole number"):
            explainer.abductive(patient, at_most=wrong)
    for name, value in {"within": 0.5, "tries": 3, "prefer": ["weight"], "cost": {"weight": 2}}.items():
        with pytest.raises(tp.InputError, match=f"'{name}' must not be combined with 'at_most'"):
            explainer.abductive(patient, at_most=2, **{name: value})


def test_a_deadline_leaves_what_was_proved():
    forest, patient = tp.examples.heart_disease()
    explainer = tp.Explainer(forest)
    why = explainer.abductive(patient, at_most=1, timeout=0)
    assert (why.features, why.furthest, why.decided) == ((), None, False)
    assert "Timed out" in why.claim
    profile = explainer.profile(patient, timeout=0)
    assert (profile.complete, profile.decided, len(profile.steps)) == (False, False, 1)
    assert "Timed out" in profile.claim


def test_a_profile_is_a_frame_and_a_picture(capfd):
    forest, patient = tp.examples.heart_disease()
    profile = tp.Explainer(forest).profile(patient, progress=True)
    assert "features" in capfd.readouterr().err
    frame = profile.to_frame()
    assert frame.index.tolist() == [0, 2]
    assert frame["radius"].tolist() == [0.5, np.inf]
    assert frame["joined"].tolist() == [(), ("blocked-arteries", "chest-pain")]
    assert [step["within"] for step in profile.to_dict()["steps"]] == [0.5, None]
    assert [text.get_text() for text in profile.plot().texts] == ["0.5", "any value"]


@pytest.mark.parametrize(
    ("radius", "shown"),
    [(1, "2.35"), ("0.3501", "2.35"), ("0.35", "2.346"), ("0.34567894", "2.3456789300000005")],  # 2.35 is read as more
)
def test_a_change_within_a_radius_has_as_few_digits_as_the_radius_allows(radius, shown):
    cut = split("a", 2.34567893, leaf("no"), leaf("yes"))
    found = build_forest([cut], columns=["a"], classes=["no", "yes"], dtype="float64")
    change = tp.Explainer(found).contrastive([2.0], within=Fraction(radius), scale={"a": 1})
    assert change.changes[0].after == shown
    assert ("up to rounding" in str(change)) == change.changes[0].rounded == (len(shown) < 9)
    assert Fraction(shown) - 2 <= Fraction(radius)
    assert found.predict([[float(shown)]]) == [change.witness_label]
