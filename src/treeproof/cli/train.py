"""``treeproof train``: train a forest as the paper does.

The defaults repeat the published experiments: duplicate rows dropped, 80 % of the rows for training, 100 trees,
entropy, and the same seeds, so that the forests of the paper's Table 1 are reproduced node for node.
"""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path

import numpy as np

from treeproof.cli import codes
from treeproof.cli.options import add_output, count, section
from treeproof.cli.output import check_writable
from treeproof.cli.table import as_labels, read_table
from treeproof.cli.terminal import say
from treeproof.errors import InputError, TreeproofError, did_you_mean
from treeproof.model.files import load_model, save_model

EXAMPLES = """
treeproof train data.csv
treeproof train data.csv --class diagnosis --trees 50 --depth 4
treeproof train data.csv --vote mean --out model.skops
"""
SPLIT_SEED = 0
FOREST_SEED = 324089


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument(
        "data", metavar="DATA", help="CSV file with a header; all columns but the class must be numbers"
    )
    model = section(parser, "model")
    model.add_argument("--class", dest="target", metavar="COLUMN", help="class column (default: the last)")
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
    add_output(
        parser, out="where to save the model, .json or .skops (default: the name of DATA with .json, in this folder)"
    )


def run(args: argparse.Namespace) -> int:
    """Train a model, print its accuracy on the 20 % of rows that were held out, and save it."""
    from sklearn.ensemble import RandomForestClassifier  # slow imports, needed only here
    from sklearn.model_selection import train_test_split

    from treeproof.model.majority import MajorityForestClassifier

    out = args.out or f"{Path(args.data).name.split('.')[0]}.json"
    _check_out(out, given=args.out is not None)
    table = read_table(args.data)
    target = args.target or table.header[-1]
    if target not in table.header:
        near = did_you_mean(target, table.header)
        raise InputError(f"The class column must be one of {table.header}. Got {target!r}.{near}")
    for name in ("trees", "depth"):
        if getattr(args, name) < 1:
            raise InputError(f"--{name} must be at least 1. Got {getattr(args, name)}.")
    place = table.header.index(target)
    names = [name for name in table.header if name != target]
    if not names:
        raise InputError(f"{args.data} must have at least one column besides the class.")
    rows = {tuple(row): i for i, row in reversed(list(enumerate(table.rows)))}  # of duplicate rows, the first
    rows = dict(sorted(rows.items(), key=lambda item: item[1]))
    labels = as_labels([row[place] for row in rows])
    values = [
        [table.number(cell, table.header[j], i) for j, cell in enumerate(row) if j != place] for row, i in rows.items()
    ]
    X = np.array(values, dtype=np.float32)
    if not np.isfinite(X).all():
        raise InputError(f"All numbers in {args.data} must be finite float32 values.")
    y = np.array(labels)
    if len(rows) < 5:
        raise InputError(f"{args.data} must have at least 5 distinct rows. Got {len(rows)}.")
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=SPLIT_SEED)
    kind = MajorityForestClassifier if args.vote == "majority" else RandomForestClassifier
    model = kind(args.trees, max_depth=args.depth, criterion=args.criterion, random_state=args.seed)
    model.fit(X_train, y_train)
    accuracy = float(np.mean(model.predict(X_test) == y_test))
    model.feature_names_in_ = np.array(names, dtype=object)
    save_model(model, out)
    n_nodes = sum(tree.tree_.node_count for tree in model.estimators_)
    if args.json:
        facts = {
            "rows": len(rows),
            "repeated": len(table.rows) - len(rows),
            "features": len(names),
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
        say(
            f"{count(len(rows), 'distinct row')} ({len(table.rows) - len(rows)} duplicates dropped), "
            f"{count(len(names), 'feature')}, {count(len(model.classes_), 'class', 'classes')} in {target!r}\n"
            f"{args.trees} trees of depth at most {args.depth}, {n_nodes} nodes, {args.vote} vote\n"
            f"accuracy on the {len(y_test)} held-out rows: {100 * accuracy:.1f} %\n"
            f"saved to {out}; next: treeproof explain {shlex.join([str(out), args.data])} --row 0"
        )
    return codes.DONE


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
