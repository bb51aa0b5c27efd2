"""Names of labels: shown everywhere, accepted everywhere, and never in the way of the model's own label."""

import json
import pickle

import lightgbm
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import treeproof as tp
from treeproof.cli.main import main
from treeproof.model.files import save_forest
from treeproof.model.labels import name_labels

NAMES = {0: "good", 1: "bad"}
X = np.random.default_rng(0).normal(size=(60, 3)).round(1)
Y = (X[:, 0] + X[:, 1] > 0).astype(int)


@pytest.fixture(scope="module")
def model():
    return RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, Y)


def test_names_are_shown_and_accepted_and_labels_stay_the_models_own(model):
    explainer = tp.Explainer(model, names=NAMES)
    x = X[Y == 0][0]
    why, change = explainer.abductive(x), explainer.contrastive(x, target="bad")
    assert str(why).startswith("good, because")
    assert "good" in why._repr_html_()
    assert change.title == "bad instead of good, if"
    assert (why.label, change.target, change.witness_label) == (0, 1, 1)
    assert (change.label.name, change.target.name) == ("good", "bad")
    assert change == explainer.contrastive(x, target=1) == tp.Explainer(model).contrastive(x, target=1)
    assert "force bad" in explainer.review(claim="x0 >= 3 and x1 >= 3", label="bad").title
    assert json.loads(json.dumps(change.to_dict()))["witness_label"] == 1
    assert change.to_dict()["witness_label_name"] == "bad"
    again = pickle.loads(pickle.dumps((explainer, change)))
    assert again[0].abductive(x).title == again[1].title.replace("bad instead of good, if", "good, because")
    assert change.plot().get_title(loc="left") == "bad instead of good, if"
    assert change.certificate().check()
    assert "good" in str(explainer.audit([x], protected=["x2"]).rows[0])


@pytest.mark.parametrize("labels", [[False, True], ["a", "b"], [0.5, 2.0], [3, 4]])
def test_every_type_of_label_can_have_a_name(labels):
    first, second = name_labels(labels, {labels[1]: "yes"})
    assert (first, second) == tuple(labels)
    assert hash(second) == hash(labels[1])
    assert f"{second:>4}" == " yes"
    assert second.label is labels[1]
    forest = tp.build_forest([tp.split("x", 0, *labels)], columns=["x"], classes=labels)
    explainer = tp.Explainer(forest, names={labels[1]: "yes"})
    assert explainer.contrastive([-1], target="yes") == explainer.contrastive([-1], target=second)
    shown = explainer.abductive([1]).to_dict()["label"]
    assert shown == labels[1]
    assert type(shown) is type(labels[1])


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({2: "bad"}, "one of \\[0, 1\\]. Got 2"),
        ({0: "1"}, "Got '1' twice"),
        ({0: "same", 1: "same"}, "Got 'same' twice"),
        ({0: 1}, "which are text"),
        (["good", "bad"], "must map labels"),
    ],
)
def test_names_that_cannot_be_told_apart_are_refused(model, names, message):
    with pytest.raises(tp.InputError, match=message):
        tp.Explainer(model, names=names)


def test_an_unknown_name_lists_the_known_ones(model):
    with pytest.raises(tp.InputError, match=r"of \[0 \(good\), 1 \(bad\)\]. Got 'badly' instead. Did you mean 'bad'"):
        tp.Explainer(model, names=NAMES).contrastive(X[Y == 0][0], target="badly")


def test_labels_that_the_model_kept_need_no_names():
    words = np.array(["no", "yes"])[Y]
    boosted = lightgbm.LGBMClassifier(n_estimators=3, min_child_samples=2, verbose=-1).fit(X, words)
    assert tp.Explainer(boosted).abductive(X[0]).label == words[0]


def test_the_command_line_takes_names(model, tmp_path, capsys):
    save_forest(tp.Explainer(model).forest, tmp_path / "model.json")
    row = X[Y == 0][0]
    (tmp_path / "data.csv").write_text("x0,x1,x2\n" + ",".join(map(str, row)) + "\n")
    files = [str(tmp_path / "model.json"), str(tmp_path / "data.csv")]
    told = ["--kind", "contrastive", "--names", "0=good,1=bad", "--target", "bad"]
    assert main(["explain", *files, *told]) == 0
    assert "bad instead of good" in capsys.readouterr().out
    assert main(["explain", *files, *told, "--json"]) == 0
    record = json.loads(capsys.readouterr().out.splitlines()[0])
    assert (record["witness_label"], record["witness_label_name"]) == (1, "bad")
    assert main(["explain", *files, "--names", "good"]) == 2
    assert "LABEL=NAME" in capsys.readouterr().err
