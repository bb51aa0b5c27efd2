"""``treeproof demo``: the paper's running example, then a forest on iris."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from treeproof.cli import codes
from treeproof.cli.options import add_output, section
from treeproof.cli.serve import add_address, serve
from treeproof.cli.terminal import Listing, line_text, say, say_view, terminal
from treeproof.explainer import Explainer
from treeproof.model.examples import heart_disease
from treeproof.questions.result import Line

EXAMPLES = """
treeproof demo
treeproof demo --serve
treeproof demo --json
"""
NEXT = """Next, try your own data, a CSV file whose last column is the class:
  treeproof train data.csv
  treeproof explain data.json data.csv --row 0"""
LINES = """import treeproof as tp
from sklearn.datasets import load_iris
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

iris = load_iris()


def explained(model):
    model.fit(iris.data, iris.target_names[iris.target])
    model.feature_names_in_ = [name.removesuffix(" (cm)") for name in iris.feature_names]
    return tp.Explainer(model, data=iris.data)


explainer = explained(RandomForestClassifier(100, max_depth=6, random_state=0))
other = explained(ExtraTreesClassifier(100, max_depth=6, random_state=0))"""
ROW = 63


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    section(parser, "workbench").add_argument(
        "--serve", action="store_true", help="open the iris forest in the workbench, a page in the browser"
    )
    add_address(parser)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Print both examples, or open the second one in the workbench."""
    if args.serve:
        return _serve(args)
    remarks = not (args.json or args.quiet)

    def remark(text: str, *, bold: bool = False) -> None:
        console = terminal()
        if remarks and console is not None:
            for line in text.split("\n"):
                console.print(
                    line_text(Line("note", line.lstrip(" ")), " " * (len(line) - len(line.lstrip(" "))), bold=bold)
                )
        elif remarks:
            say(text)

    def answer(question: str, result: Any) -> None:
        if args.json:
            say(json.dumps({"question": question, **result.to_dict()}))
        elif terminal() is not None:
            say_view(result, question)
        else:
            say(f"{question}\n{result}\n")

    forest, patient = heart_disease()
    names = forest.column_names
    explainer = Explainer(forest, kinds={**dict.fromkeys(names[:3], "binary"), names[3]: "integer"})
    remark("1. The example of Izza and Marques-Silva (IJCAI 2021): three trees, one patient", bold=True)
    remark("  " + ", ".join(f"{name} = {value}" for name, value in zip(names, patient, strict=True)) + "\n")
    answer("Why?", explainer.abductive(patient))
    answer("What would change it?", explainer.contrastive(patient))
    if remarks:
        remark("All minimal explanations", bold=True)
        results = explainer.enumerate(patient, kind="both")
        listing = Listing()
        for result in results:
            listing.add(result)
        listing.end(results)
        remark("")

    from sklearn.datasets import load_iris  # slow imports, needed only here
    from sklearn.ensemble import RandomForestClassifier

    iris = load_iris()
    model = _fit_iris(RandomForestClassifier(100, max_depth=6, random_state=0), iris)
    explainer = Explainer(model)
    flower = iris.data[ROW]
    remark("2. A random forest of 100 trees on iris, scikit-learn's own predict, one flower", bold=True)
    remark("  " + ", ".join(f"{n} = {v}" for n, v in zip(explainer.space.names, flower.tolist(), strict=True)) + "\n")
    start = time.perf_counter()
    why = explainer.abductive(flower)
    seconds = time.perf_counter() - start
    answer("Why?", why)
    for target in [label for label in model.classes_.tolist() if label != why.label]:
        answer(f"Why not {target}?", explainer.contrastive(flower, target=target))
    questions = why.stats.entailed + why.stats.refuted
    remark(f"The first answer took {1000 * seconds:.1f} ms, {questions} questions to the {why.stats.oracle} oracle.\n")
    remark(NEXT)
    return codes.DONE


def _fit_iris(model: Any, iris: Any) -> Any:
    """Return a model that was fitted to the flowers, with short names of columns."""
    model.fit(iris.data, iris.target_names[iris.target])
    model.feature_names_in_ = [name.removesuffix(" (cm)") for name in iris.feature_names]
    return model


def _serve(args: argparse.Namespace) -> int:
    """Open the flowers in the workbench, with two models to compare."""
    from sklearn.datasets import load_iris
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

    iris = load_iris()
    models = {
        "random forest": RandomForestClassifier(100, max_depth=6, random_state=0),
        "extra trees": ExtraTreesClassifier(100, max_depth=6, random_state=0),
    }
    explainers = [Explainer(_fit_iris(model, iris), data=iris.data) for model in models.values()]
    return serve(args, explainers, iris.data, title="Iris flowers", names=list(models), lines=LINES.splitlines())
