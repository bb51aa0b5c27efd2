"""``treeproof demo``: the paper's running example, then a forest on iris."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from treeproof.cli.show import say, say_card, terminal
from treeproof.examples import heart_disease
from treeproof.explainer import Explainer

ROW = 63


def run(args: argparse.Namespace) -> int:
    """Print both examples."""
    remark = (lambda text: None) if args.json or args.quiet else say

    def answer(question: str, result: Any, end: str = "\n") -> None:
        if args.json:
            say(json.dumps({"question": question, **result.to_dict()}))
        elif terminal() is not None:
            say_card(str(result), question)
        else:
            say(f"{question}\n{result}{end}")

    forest, patient = heart_disease()
    names = forest.column_names
    explainer = Explainer(forest, kinds={**dict.fromkeys(names[:3], "binary"), names[3]: "ordinal"})
    remark("The running example of Izza and Marques-Silva (IJCAI 2021): three trees, one patient")
    remark("  " + ", ".join(f"{name} = {value}" for name, value in zip(names, patient, strict=True)) + "\n")
    answer("Why?", explainer.abductive(patient))
    answer("What would change it?", explainer.contrastive(patient))
    remark("All minimal explanations")
    results = explainer.enumerate(patient, kind="both")
    for result in results:
        remark(f"  {type(result).__name__.lower():<12} {{{', '.join(result.feature_names)}}}")
    remark(f"  complete: {results.complete}\n")

    from sklearn.datasets import load_iris  # only now: nobody else waits for them
    from sklearn.ensemble import RandomForestClassifier

    iris = load_iris()
    model = RandomForestClassifier(100, max_depth=6, random_state=0).fit(iris.data, iris.target_names[iris.target])
    model.feature_names_in_ = [name.removesuffix(" (cm)") for name in iris.feature_names]
    explainer = Explainer(model)
    flower = iris.data[ROW]
    remark("A random forest of 100 trees on iris, scikit-learn's own predict, one flower")
    remark("  " + ", ".join(f"{n} = {v}" for n, v in zip(explainer.space.names, flower.tolist(), strict=True)) + "\n")
    start = time.perf_counter()
    why = explainer.abductive(flower)
    seconds = time.perf_counter() - start
    answer("Why?", why, end="")
    questions = why.stats.entailed + why.stats.refuted
    remark(f"({1000 * seconds:.1f} ms, {questions} questions to the {why.stats.oracle} oracle)\n")
    for target in [label for label in model.classes_.tolist() if label != why.label]:
        answer(f"Why not {target}?", explainer.contrastive(flower, target=target))
    return 0
