"""``treeproof demo``: the paper's running example, then a forest on iris."""

from __future__ import annotations

import argparse
import time

from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

from treeproof.examples import heart_disease
from treeproof.explainer import Explainer

ROW = 63


def run(args: argparse.Namespace) -> int:
    """Print both examples."""
    say = args.say
    forest, patient = heart_disease()
    names = forest.column_names
    explainer = Explainer(forest, kinds={**dict.fromkeys(names[:3], "binary"), names[3]: "ordinal"})
    say("The running example of Izza and Marques-Silva (IJCAI 2021): three trees, one patient")
    say("  " + ", ".join(f"{name} = {value}" for name, value in zip(names, patient, strict=True)) + "\n")
    say(f"Why?\n{explainer.abductive(patient)}\n")
    say(f"What would change it?\n{explainer.contrastive(patient)}\n")
    say("All minimal explanations")
    results = explainer.enumerate(patient, kind="both")
    for result in results:
        say(f"  {type(result).__name__.lower():<12} {{{', '.join(result.feature_names)}}}")
    say(f"  complete: {results.complete}\n")

    iris = load_iris()
    model = RandomForestClassifier(100, max_depth=6, random_state=0).fit(iris.data, iris.target_names[iris.target])
    model.feature_names_in_ = [name.removesuffix(" (cm)") for name in iris.feature_names]
    explainer = Explainer(model)
    flower = iris.data[ROW]
    say("A random forest of 100 trees on iris, scikit-learn's own predict, one flower")
    say("  " + ", ".join(f"{n} = {v}" for n, v in zip(explainer.space.names, flower.tolist(), strict=True)) + "\n")
    start = time.perf_counter()
    why = explainer.abductive(flower)
    seconds = time.perf_counter() - start
    say(f"Why?\n{why}")
    questions = why.stats.entailed + why.stats.refuted
    say(f"({1000 * seconds:.1f} ms, {questions} questions to the {why.stats.oracle} oracle)\n")
    for target in [label for label in model.classes_.tolist() if label != why.label]:
        say(f"Why not {target}?\n{explainer.contrastive(flower, target=target)}\n")
    return 0
