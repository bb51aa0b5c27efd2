"""What does each technique of the core bring? The same explanations with one of them switched off at a time.

``python -m treeproof_bench.ablation [--without lanes] [--seed 1] [--instances 10]``

The core is compiled anew for each technique, from a copy of its source in which some lines say otherwise; so this needs
the repository, pip and a C++ compiler. Models are those of `production`, and as there fitted ones stay in ``--models``.

A technique may only decide how soon an answer comes: `same` counts the rows that are explained by the same features as
with all of them, of those that came in time both times. `work` is counted, not timed: the nodes of residual forests
that were gone over, in millions; the same work may take longer without vectors. Milliseconds are CPU time.
"""

from __future__ import annotations

import argparse
import importlib.machinery
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

Row = dict[str, Any]  # treeproof, and what imports it, is not imported before its core is chosen

SOURCE = Path(__file__).parents[2]  # of a checkout
NEEDED = ("CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE", "core", "src")

Edits = Sequence[tuple[str, str, str]]  # a file of the core, what is there once, and what the copy has instead
SEARCH = "search.cpp"
TECHNIQUES: Mapping[str, Edits] = {
    "moved witnesses": [(SEARCH, "const bool moved = claim.kind", "const bool moved = false && claim.kind")],
    "local search": [
        (SEARCH, "if (depth == 0 && i % kLocalInterval", "if (false && i % kLocalInterval"),
        (SEARCH, "outcome_.boxes >= kLocalAfter", "false"),
    ],
    "local search below the root": [(SEARCH, "outcome_.boxes >= kLocalAfter", "false")],
    "random starts": [(SEARCH, "scatters_ = !scatters_;", "scatters_ = false;")],
    "absorbed trees": [("residual.cpp", "if (!forest_.ordered[f]) return false;", "if (f >= 0) return false;")],
    "lanes": [(SEARCH, "const bool in_lanes = narrows", "const bool in_lanes = false && narrows")],
    "residual forests from those around": [
        (SEARCH, "const bool is_within = narrows", "const bool is_within = false && narrows")
    ],
    "further splits in lanes": [("parts.cpp", "kMostSplits = 6", "kMostSplits = Parts::kSplits")],
    "shared prices": [  # each node pays for its own gate only
        ("residual.cpp", "begin + fork.left_end,", "begin + fork.gate + 1,"),
        ("residual.cpp", "begin + fork.right_begin, fork.node", "begin + fork.gate, fork.node"),
    ],
    "fine unit": [("scale.hpp", "kBits = 20", "kBits = 14")],
    "reduced costs": [(SEARCH, "if (here.lagrangian.fix(", "if (false && here.lagrangian.fix(")],
    "narrower bands": [(SEARCH, "if (narrowed || bound", "if (true || narrowed || bound")],
}


def compiled(source: Path, edits: Edits, folder: Path) -> Path:
    """Return the core of a copy of the source with these edits."""
    copy = folder / "source"
    for name in NEEDED:
        if not (source / name).exists():
            sys.exit(f"--source must be a checkout of treeproof. There is no {name} in {source}.")
        if (source / name).is_dir():
            shutil.copytree(source / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        else:
            copy.mkdir(parents=True, exist_ok=True)
            shutil.copy(source / name, copy / name)
    for file, there, instead in edits:
        path = copy / "core" / file
        text = path.read_text()
        if text.count(there) != 1:
            sys.exit(f"core/{file} must hold this once, it has it {text.count(there)} times: {there}")
        path.write_text(text.replace(there, instead))
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--wheel-dir", str(folder / "wheels"), str(copy)], check=True)
    (wheel,) = (folder / "wheels").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith((".so", ".pyd")))
        return Path(archive.extract(name, folder))


def use(core: Path) -> None:
    """Let treeproof, which must not have been imported, use this core."""
    assert not any(name.split(".")[0] == "treeproof" for name in sys.modules), "it has its own core already"
    loader = importlib.machinery.ExtensionFileLoader("treeproof._core", str(core))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None, "a loader of extensions has a spec"
    sys.modules[loader.name] = module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)


def measure(args: argparse.Namespace) -> Iterator[Row]:
    """Yield a line for each model, measured with the core at hand."""
    import treeproof as tp
    from treeproof_bench.production import binary_models, forest_models, many_models
    from treeproof_bench.timing import medians, take_turns

    for models in (binary_models, many_models, forest_models):
        for model in models(args):
            if not importlib.util.find_spec(model.library) or args.model not in model.name:
                continue
            population = model.population()
            chosen = np.random.default_rng(1).choice(len(population.X), args.instances, replace=False)
            for meaning, options in model.options.items():
                explainer = tp.Explainer(model.fitted(args, population), **options)
                explain = partial(explainer.abductive, timeout=args.timeout)
                timed = take_turns({"explain": explain}, population.X[chosen], args.repeats)["explain"]
                found, times = timed.results, medians(timed)
                yield {
                    "model": model.name + meaning,
                    "work": sum(why.stats.work for why in found) / 1e6,
                    "median_ms": float(np.median(times)),
                    "worst_ms": float(np.max(times)),
                    "sum_ms": float(np.sum(times)),
                    "features": [why.features if why.status == "minimal" else None for why in found],
                }


def run(args: argparse.Namespace) -> None:
    """Measure all techniques and each of them off, and print a table for each model, line by line as they come."""
    from treeproof_bench.harness import Table

    unknown = [name for name in args.without or () if name not in TECHNIQUES]
    if unknown:
        sys.exit(f"--without must name some of: {', '.join(TECHNIQUES)}. Got {', '.join(unknown)}.")
    table = Table(
        f"each technique off in turn: seed {args.seed}, at most {args.timeout:g} s for an answer",
        "off:28 model:36 work:10.1f times:7.2f median_ms:11.1f worst_ms:10.1f sum_ms:9.0f minimal:9 same:6 "
        "instances:11",
    )
    before: dict[str, Row] = {}
    for name in ("nothing", *(args.without or TECHNIQUES)):
        with tempfile.TemporaryDirectory() as folder:
            core = compiled(args.source, TECHNIQUES.get(name, ()), Path(folder))
            command = [sys.executable, "-m", __spec__.name, *args.given, "--core", str(core)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as child:
                assert child.stdout is not None, "it is piped"
                for line in child.stdout:
                    row = json.loads(line)
                    first = before.setdefault(row["model"], row)
                    both = [pair for pair in zip(first["features"], row["features"], strict=True) if None not in pair]
                    row["times"] = row["work"] / first["work"]
                    row["minimal"] = sum(features is not None for features in row["features"])
                    row["same"] = sum(one == other for one, other in both)
                    table.add({"off": name, **row, "instances": args.instances})
            if child.returncode != 0:
                sys.exit(f"The explanations without {name} failed.")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--without", nargs="+", help="techniques to switch off, by default each")
    parser.add_argument("--model", default="", help="only models with this in their names")
    parser.add_argument("--instances", type=int, default=10, help="rows for each model")
    parser.add_argument("--repeats", type=int, default=1, help="repeats of each explanation; the median counts")
    parser.add_argument("--rows", type=int, default=100_000, help="rows to train on")
    parser.add_argument("--seed", type=int, default=1, help="of the population")
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds for one answer")
    models = Path(tempfile.gettempdir()) / "treeproof-models"
    parser.add_argument("--models", type=Path, default=models, help="folder for fitted models")
    parser.add_argument("--source", type=Path, default=SOURCE, help="a checkout of treeproof")
    parser.add_argument("--core", type=Path, help=argparse.SUPPRESS)  # of a run for one table line after the other
    args = parser.parse_args(argv)
    if args.core is None:
        args.given = list(sys.argv[1:] if argv is None else argv)
        run(args)
        return
    use(args.core)
    for row in measure(args):
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
