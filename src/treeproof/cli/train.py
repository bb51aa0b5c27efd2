"""``treeproof train``: train a forest as the paper does, also on tables with text, dates and gaps.

The defaults repeat the published experiments: duplicate rows dropped, 80 % of the rows for training, 100 trees,
entropy, and the same seeds, so that the forests of the paper's Table 1 are reproduced node for node. A table with text
gives a pipeline: categories are one-hot encoded, a missing one counts as a category; dates count days; trees send
missing numbers to the side that they learnt.
"""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from treeproof.cli import codes
from treeproof.cli.columns import FEW, Kind, Reading, read_column
from treeproof.cli.options import add_output, add_size, count, listed, section
from treeproof.cli.output import check_writable
from treeproof.cli.table import STANDARD_INPUT, as_labels, few, is_empty, is_number, read_table
from treeproof.cli.terminal import say
from treeproof.errors import InputError, MissingExtraError, TreeproofError, did_you_mean
from treeproof.model.columns import Column, Missing
from treeproof.model.files import load_model, save_forest, save_model
from treeproof.model.forest import Forest
from treeproof.model.importers import import_model

EXAMPLES = """
treeproof train data.csv
treeproof train data.csv --target diagnosis --trees 50 --depth 4
treeproof train data.csv --vote mean --out model.skops
"""
SPLIT_SEED = 0
FOREST_SEED = 324089


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument(
        "data",
        metavar="DATA",
        help="CSV file with a header, or - for standard input; may have text, dates (2024-02-29) and gaps",
    )
    model = section(parser, "model")
    model.add_argument(
        "--target", "--class", dest="target", metavar="COLUMN", help="the column to predict (default: the last)"
    )
    model.add_argument("--trees", type=int, default=100, metavar="N", help="number of trees (default: %(default)s)")
    model.add_argument(
        "--depth", type=int, default=5, metavar="N", help="maximum depth of a tree (default: %(default)s)"
    )
    model.add_argument(
        "--vote",
        choices=["majority", "mean"],
        default="majority",
        help="majority: Breiman's vote, as in the paper; mean: scikit-learn's own (default: %(default)s)",
    )
    model.add_argument(
        "--criterion",
        choices=["entropy", "gini"],
        default="entropy",
        help="split criterion (default: %(default)s)",
    )
    model.add_argument(
        "--seed", type=int, default=FOREST_SEED, metavar="N", help="seed of the forest (default: %(default)s)"
    )
    add_size(parser)
    add_output(
        parser, out="where to save the model, .json or .skops (default: the name of DATA with .json, in this folder)"
    )


def run(args: argparse.Namespace) -> int:
    """Train a model, print its accuracy on the 20 % of rows that were held out, and save it."""
    from sklearn.model_selection import train_test_split  # slow imports, needed only here
    from sklearn.pipeline import Pipeline

    stem = "forest" if args.data == STANDARD_INPUT else Path(args.data).name.split(".")[0]
    out = args.out or f"{stem}.json"
    _check_out(out, given=args.out is not None)
    for name, low, high in (("trees", 1, 10**6), ("depth", 1, 10**6), ("seed", 0, 2**32 - 1)):
        if not low <= getattr(args, name) <= high:
            raise InputError(f"--{name} must be between {low} and {high}. Got {getattr(args, name)}.")
    table = read_table(args.data, args.max_mb)
    target = args.target or table.header[-1]
    if target not in table.header:
        near = did_you_mean(target, table.header)
        raise InputError(f"The class column must be one of {few(table.header)}. Got {target!r}.{near}")
    place = table.header.index(target)
    rows: dict[tuple[str, ...], int] = {}  # of duplicate rows, the first, with its number
    for i, row in enumerate(table.rows):
        if not is_empty(row[place]):
            rows.setdefault(tuple(row), i)
    n_unlabelled = sum(is_empty(row[place]) for row in table.rows)
    if len(rows) < 5:
        raise InputError(f"{table.path} must have at least 5 distinct rows with a class. Got {len(rows)}.")
    labels = _labels([row[place] for row in rows], target)
    columns = [
        read_column(name, [row[j] for row in rows], table.path, list(rows.values()))
        for j, name in enumerate(table.header)
        if j != place
    ]
    read = [column for column in columns if column.kind != "dropped"]
    if not read:
        whys = ", ".join(map(str, columns))
        raise InputError(f"{table.path} must have a column besides the class to learn from. Got: {whys or 'none'}.")
    X, model = _frame(read), _model(args, read)
    X_train, X_test, y_train, y_test = train_test_split(X, np.array(labels), test_size=0.2, random_state=SPLIT_SEED)
    model.fit(X_train, y_train)
    accuracy = float(np.mean(model.predict(X_test) == y_test))
    forest = model if not isinstance(model, Pipeline) else model[-1]
    if forest is model:
        model.feature_names_in_ = np.array([column.name for column in read], dtype=object)
    if Path(out).suffix.lower() == ".json":
        save_forest(_marked(import_model(model), read), out)
    else:
        save_model(model, out)
    n_nodes = sum(tree.tree_.node_count for tree in forest.estimators_)
    n_repeated = len(table.rows) - n_unlabelled - len(rows)
    if args.json:
        facts = {
            "rows": len(rows),
            "repeated": n_repeated,
            "unlabelled": n_unlabelled,
            "features": len(read),
            "columns": {column.name: column.kind for column in columns},
            "target": target,
            "classes": model.classes_.tolist(),
            "trees": args.trees,
            "depth": args.depth,
            "nodes": n_nodes,
            "vote": args.vote,
            "held_out": len(y_test),
            "accuracy": accuracy,
            "out": str(out),
        }
        say(json.dumps(facts))
    elif not args.quiet:
        gone = f", {n_unlabelled} without a class left out" if n_unlabelled else ""
        say(
            f"{count(len(rows), 'distinct row')} ({count(n_repeated, 'duplicate')} dropped{gone}), "
            f"{count(len(read), 'feature')}, {count(len(model.classes_), 'class', 'classes')} in {target!r}"
        )
        say("\n".join(_said(columns)))
        say(
            f"{args.trees} trees of depth at most {args.depth}, {n_nodes} nodes, {args.vote} vote\n"
            f"accuracy on the {len(y_test)} held-out rows: {100 * accuracy:.1f} %\n"
            f"saved to {out}; next: treeproof explain {shlex.join([str(out), args.data, *_needed(out, read)])} --row 0"
        )
    return codes.DONE


def _labels(texts: list[str], target: str) -> list[Any]:
    """Return the classes; InputError if they are numbers to be estimated, or names of rows."""
    n = len(set(texts))
    measured = all(map(is_number, texts)) and not all(float(text).is_integer() for text in texts)
    if n > FEW and (measured or 2 * n > len(texts)):
        raise InputError(
            f"The class column must have few different values. {target!r} has {n} in {len(texts)} rows; name another "
            "column with --target, or turn its values into classes, such as low and high."
        )
    return as_labels(texts)


def _frame(columns: Sequence[Reading]) -> Any:
    """Return the columns as scikit-learn takes them: an array, if all are numbers, else a frame."""
    if not any(column.kind == "category" for column in columns):
        return np.array([column.values for column in columns], dtype=np.float64).T.astype(np.float32)
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("To train on text, pandas is needed: pip install 'treeproof[pandas]'.") from error
    return pd.DataFrame(
        {
            column.name: pd.Series(column.values, dtype=object if column.kind == "category" else np.float64)
            for column in columns
        }
    )


def _model(args: argparse.Namespace, columns: Sequence[Reading]) -> Any:
    """Return a forest or, if some columns are categories, a pipeline that encodes these, and passes the others on."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    from treeproof.model.majority import MajorityForestClassifier

    kind = MajorityForestClassifier if args.vote == "majority" else RandomForestClassifier
    forest = kind(args.trees, max_depth=args.depth, criterion=args.criterion, random_state=args.seed)
    names = [column.name for column in columns if column.kind == "category"]
    if not names:
        return forest
    encoder = OneHotEncoder(handle_unknown="ignore")
    return make_pipeline(make_column_transformer((encoder, names), remainder="passthrough"), forest)


def _marked(forest: Forest, columns: Sequence[Reading]) -> Forest:
    """Return the forest with what the table says about its columns: dates, whole numbers, and where gaps occur."""
    read = {column.name: column for column in columns}
    return replace(forest, columns=tuple(_mark(column, read[column.name]) for column in forest.columns))


def _mark(column: Column, read: Reading) -> Column:
    if column.categories is not None:
        return column
    missing: Missing = "expected" if read.n_gaps and column.missing != "never" else column.missing
    return replace(column, date=read.kind == "date", integer=read.kind == "whole number", missing=missing)


def _said(columns: Sequence[Reading]) -> Iterator[str]:
    """Yield a line for each kind: which columns are read in that way."""
    titles: dict[Kind, str] = {
        "number": "numbers",
        "whole number": "whole numbers",
        "date": "dates",
        "category": "categories",
        "dropped": "dropped",
    }
    for kind, title in titles.items():
        found = [str(column) for column in columns if column.kind == kind]
        if found:
            yield f"  {title}: {listed(found)}"


def _needed(out: str, columns: Sequence[Reading]) -> list[str]:
    """Return the options that a model in scikit-learn's own form needs: it knows neither dates nor whole numbers."""
    if Path(out).suffix.lower() == ".json":
        return []
    words: list[str] = []
    for option, names in (
        ("--date", [column.name for column in columns if column.kind == "date"]),
        ("--integer", [column.name for column in columns if column.kind == "whole number"]),
        ("--missing", [column.name for column in columns if column.n_gaps and column.kind != "category"]),
    ):
        words += [option, *names] if names else []
    return words


def _check_out(out: str, given: bool) -> None:
    """Raise InputError early if the model cannot be saved; a default name must not overwrite anything but a model."""
    if Path(out).suffix.lower() not in (".json", ".skops"):
        raise InputError(f"--out must end in .json or .skops. Got {out}.")
    check_writable(out)
    if given or not Path(out).exists():
        return
    try:
        load_model(out)
    except TreeproofError as error:
        raise InputError(
            f"{out} exists and is not a model, so it was not overwritten. Choose another file: --out FILE."
        ) from error
