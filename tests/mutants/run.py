"""Do the tests notice wrong code? ``make mutants``: a thousand small mistakes, each of which a test must catch.

A mutant is the code with one comparison, tie, flag, connective or count off by one. Mutants that no test catches must
be listed in equivalent.toml with the reason why no answer can change; any other survivor is an error, and so is an
entry of that list that no mutant matches any more (``run.py --list`` looks for those alone, in a second).

The C++ core is compiled once, with all its mutants in it, and the environment variable TREEPROOF_MUTANT switches one
on: ``a < b`` becomes ``a < mutant::at(7) < b``, which is ``a <= b`` if 7 is on. Connectives cannot be written so, as
they need not look at their right side: those are compiled one by one. A mutant must be caught by core/tests, without
and then with sanitizers, or by a short campaign and the tests of the checker, which also look at certificates.

A Python module is changed on its way into a process of its own, which runs the tests that are listed for it below.

A run that takes far more time than without the mutant is caught, too. Time is that of the processor, so that a busy
machine catches nothing by itself.
"""

from __future__ import annotations

import argparse
import ast
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import math
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tomllib
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LISTED = Path(__file__).with_name("equivalent.toml")

CORE = (
    *("box.hpp", "scale.hpp", "scale.cpp", "forest.hpp", "forest.cpp", "residual.cpp", "lagrangian.hpp"),
    *("lagrangian.cpp", "branch_and_bound.hpp", "branch_and_bound.cpp", "search.cpp", "deletion.cpp", "inflation.cpp"),
    *("clauses.cpp", "table.cpp", "local_search.cpp", "tally.hpp", "parts.cpp", "rounding.cpp", "trail.cpp"),
)

PROPERTY, UNIT = "tests/property/test_", "tests/unit/"
CAMPAIGN = "tests/regressions/test_campaign.py"
CHECKER, SEARCH = UNIT + "proof/test_checker.py", UNIT + "search/test_"
CELLS, DEADLINES = UNIT + "query/test_cells.py", SEARCH + "deadlines.py"
CONTRASTIVE, MINIMUM = UNIT + "questions/test_contrastive.py", UNIT + "questions/test_minimum.py"
PYTHON = {
    "checker.py": (
        UNIT + "proof/test_checker_rules.py",
        UNIT + "model/test_linear.py",
        CHECKER,
        UNIT + "questions/test_everywhere.py",
        PROPERTY + "everywhere.py",
        PROPERTY + "certificates.py",
    ),
    "model/scores.py": (UNIT + "model/test_scores.py", PROPERTY + "scores.py"),
    "query/cache.py": (
        UNIT + "query/test_cache.py",
        DEADLINES,
        PROPERTY + "closest.py",
        PROPERTY + "explanations.py",
    ),
    "query/cells.py": (CELLS, PROPERTY + "scores.py", CAMPAIGN, PROPERTY + "sums.py"),
    "query/scores.py": (CELLS, PROPERTY + "scores.py", CAMPAIGN, PROPERTY + "sums.py"),
    "search/closest.py": (SEARCH + "closest.py", PROPERTY + "closest.py", CONTRASTIVE, PROPERTY + "change.py"),
    "search/diverse.py": (DEADLINES, CONTRASTIVE, PROPERTY + "change.py"),
    "search/hitting.py": (SEARCH + "hitting.py", MINIMUM, PROPERTY + "minimum.py"),
    "search/inflation.py": (DEADLINES, PROPERTY + "inflation.py"),
    "search/loosen.py": (SEARCH + "loosen.py", PROPERTY + "review.py"),
    "search/map_solver.py": (SEARCH + "map_solver.py", SEARCH + "hitting.py", DEADLINES),
    "search/marco.py": (DEADLINES, PROPERTY + "explanations.py"),
    "search/minimal.py": (
        SEARCH + "minimal.py",
        "tests/regressions/test_sums.py",
        DEADLINES,
        PROPERTY + "explanations.py",
        CAMPAIGN,
    ),
    "search/minimum.py": (SEARCH + "minimum.py", DEADLINES, MINIMUM, PROPERTY + "minimum.py"),
    "search/most_general.py": (SEARCH + "most_general.py", PROPERTY + "general.py"),
    "search/relevance.py": (DEADLINES, UNIT + "questions/test_relevance.py", PROPERTY + "relevance.py"),
}

HEADER = """
#pragma once
#include <cstdlib>
namespace mutant {
inline const int active = std::getenv("TREEPROOF_MUTANT") ? std::atoi(std::getenv("TREEPROOF_MUTANT")) : -1;
struct At { int id; };
inline At at(int id) { return {id}; }
template <typename T> struct Left { const T& value; int id; };
#define MUTANT(op, other)                                                                                     \\
  template <typename T> Left<T> operator op(const T& value, At place) { return {value, place.id}; }            \\
  template <typename T, typename U> bool operator op(const Left<T>& left, const U& right) {                    \\
    return active == left.id ? left.value other right : left.value op right;                                   \\
  }
MUTANT(<, <=) MUTANT(<=, <) MUTANT(>, >=) MUTANT(>=, >) MUTANT(==, !=) MUTANT(!=, ==)
#undef MUTANT
inline int one(int id) { return active == id ? 0 : active == id + 1 ? -1 : 1; }
inline int bit(int id, int value) { return active == id ? 1 - value : value; }
inline bool flag(int id, bool value) { return (active == id) != value; }
template <typename T> T least(int id, T a, T b) { return (active == id) != (b < a) ? b : a; }
template <typename T> T most(int id, T a, T b) { return (active == id) != (a < b) ? b : a; }
}  // namespace mutant
"""

FLIPPED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&"}
OPERATOR = re.compile(r"(?<=\s)(<=|>=|<|>|==|!=|&&|\|\|)(?=\s)")
ONE = re.compile(r"(?<=[\w)\]] )([+-]) 1(?![\w.]| <<)")
EXTREME = re.compile(r"\bstd::(min|max)\(")
FLAG = re.compile(r"\b(true|false)\b")
BIT = re.compile(r"(?<= [=?:] )([01])(?=;| :)|(?<=, )([01])(?=\))")
NOT_CODE = re.compile(r"//[^\n]*|\"[^\"\n]*\"|^[^\n]*(?:constexpr|#include|#pragma|assert\()[^\n]*$", re.MULTILINE)


@dataclass(frozen=True)
class Mutant:
    file: str
    place: str  # the function it is in
    line: int
    text: str  # the line with the change
    id: int  # of the switch; -1: must be compiled
    source: str = ""  # the whole file with the change, if it must be compiled

    @property
    def named(self) -> str:
        """File, function and changed line: an entry of equivalent.toml."""
        return f"{self.file}, {self.place}: {self.text}"


COMMENT_OR_TEXT = re.compile(r"//[^\n]*|\"[^\"\n]*\"")
TYPE_HEAD = re.compile(r"(?:^|\s)(?:class|struct)\s+(\w+)")


@functools.cache
def core_places(code: str) -> list[tuple[int, int, str]]:
    """Return begin, end and name of the functions, classes and structs in C++ code, outer ones first.

    A function begins where the declaration before it ends, so that its arguments and initialisers belong to it.
    """
    masked = COMMENT_OR_TEXT.sub(lambda match: " " * len(match[0]), code)
    places: list[tuple[int, int, str]] = []
    begin, i = 0, 0
    while i < len(masked):
        if masked[i] == "(" or masked[i] == "{":
            end = _closing(masked, i)
            head = masked[begin:i]
            type_name = TYPE_HEAD.search(head)
            if masked[i] == "(":
                i = end  # braces between parentheses are no body
            elif re.search(r"(?:^|\s)namespace\b", head):
                begin = i = i + 1  # its own end is met as a stray brace
                continue
            elif type_name and "(" not in head:
                places.append((begin, end, type_name[1]))
                inside = core_places(code[i + 1 : end])
                places += [(a + i + 1, b + i + 1, name) for a, b, name in inside]
                begin = i = end
            elif name := re.search(r"(~?\w+)\(", head):
                places.append((begin, end, name[1]))
                begin = i = end
            else:
                i = end  # the value of a member
        elif masked[i] in ";}":
            begin = i + 1
        i += 1
    return places


def _closing(code: str, start: int) -> int:
    """Return where the brace or parenthesis that opens here closes."""
    depth = 0
    for i in range(start, len(code)):
        depth += (code[i] in "({") - (code[i] in ")}")
        if depth == 0:
            return i
    raise ValueError("A brace is not closed")


def core_place(code: str, start: int) -> str:
    """Return the name of the function that a place in C++ code is in, else that of the class."""
    around = [name for begin, end, name in core_places(code) if begin <= start <= end]
    return around[-1] if around else "top"


def changed_line(code: str, start: int, end: int, new: str) -> str:
    begin, stop = code.rfind("\n", 0, start) + 1, code.find("\n", end)
    return (code[begin:start] + new + code[end:stop]).strip()


def core_mutants(file: str, code: str, next_id: int) -> tuple[str, list[Mutant]]:
    """Return the code with all mutants that a switch can turn on in it, and the list of all mutants."""
    masked = NOT_CODE.sub(lambda match: " " * len(match[0]), code)
    edits: list[tuple[int, int, str]] = []
    mutants: list[Mutant] = []
    connectives: list[tuple[int, int, str]] = []

    def add(start: int, end: int, with_switch: str, *shown: str) -> None:
        nonlocal next_id
        edits.append((start, end, with_switch.format(id=next_id)))
        for new in shown:
            line = code.count("\n", 0, start) + 1
            mutants.append(Mutant(file, core_place(code, start), line, changed_line(code, start, end, new), next_id))
            next_id += 1

    for match in OPERATOR.finditer(masked):
        op = match[0]
        if op in ("&&", "||"):
            connectives.append((match.start(), match.end(), FLIPPED[op]))
        else:
            add(match.start(), match.end(), f"{op} mutant::at({{id}}) {op}", FLIPPED[op])
    for match in ONE.finditer(masked):
        opposite = "-" if match[1] == "+" else "+"
        add(match.start(), match.end(), f"{match[1]} mutant::one({{id}})", f"{match[1]} 0", f"{opposite} 1")
    for match in EXTREME.finditer(masked):
        other = "max" if match[1] == "min" else "min"
        add(match.start(), match.end(), f"mutant::{'least' if other == 'max' else 'most'}({{id}}, ", f"std::{other}(")
    for match in FLAG.finditer(masked):
        add(match.start(), match.end(), f"mutant::flag({{id}}, {match[0]})", "false" if match[0] == "true" else "true")
    for match in BIT.finditer(masked):
        add(match.start(), match.end(), f"mutant::bit({{id}}, {match[0]})", str(1 - int(match[0])))

    def apply(chosen: list[tuple[int, int, str]]) -> str:
        result = code
        for start, end, new in sorted(chosen, reverse=True):
            result = result[:start] + new + result[end:]
        return result

    for start, end, new in connectives:
        line = code.count("\n", 0, start) + 1
        whole = apply([(start, end, new)])
        mutants.append(Mutant(file, core_place(code, start), line, changed_line(code, start, end, new), -1, whole))
    return apply(edits), sorted(mutants, key=lambda mutant: mutant.line)


def caught(command: list[str], seconds: float, env: dict[str, str], cwd: Path = ROOT, megabytes: int = 3000) -> bool:
    """Return whether a run fails, which is what a mutant should make it do; one without end fails too."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds)))
        if megabytes:
            resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    try:
        quiet = subprocess.DEVNULL
        run = subprocess.run(
            command, timeout=20 * seconds, env=env, cwd=cwd, preexec_fn=limit, stdout=quiet, stderr=quiet, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    return run.returncode != 0


def used() -> float:
    """Return the processor time of the processes that have ended, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Core:
    """The core with all its mutants, built in a scratch folder."""

    flags = ("-std=c++20", "-ffp-contract=off", "-UNDEBUG", "-D_GLIBCXX_ASSERTIONS", "-w", "-include", "mutant.hpp")
    sanitizers = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")

    def __init__(self, scratch: Path, cases: int) -> None:
        self.scratch, self.cases = scratch, cases
        self.mutants: list[Mutant] = []
        shutil.copytree(ROOT / "core", scratch / "core", dirs_exist_ok=True)
        (scratch / "mutant.hpp").write_text(HEADER)
        for file in CORE:
            path = scratch / "core" / file
            switched, mutants = core_mutants(file, path.read_text(), len(self.mutants) + 1)
            path.write_text(switched)
            self.mutants += mutants
        self.sources = [p for p in sorted((scratch / "core").glob("*.cpp")) if p.name != "binding.cpp"]
        self.sources += sorted((scratch / "core" / "tests").glob("*.cpp"))
        self.fast = self.build("fast", ("-O1",))
        self.checked = self.build("checked", ("-O1", *self.sanitizers))
        began = used()
        assert not self.fails(self.fast, cases, 3600, {}), "the tests must pass without a mutant"
        self.seconds = 4 * (used() - began) + 5

    def compile(self, source: Path, target: Path, extra: tuple[str, ...]) -> None:
        compiler = os.environ.get("CXX", "c++")
        command = [compiler, *self.flags, *extra, f"-I{self.scratch}", "-c", str(source), "-o", str(target)]
        subprocess.run(command, check=True, cwd=self.scratch)

    def build(self, name: str, extra: tuple[str, ...]) -> Path:
        (self.scratch / name).mkdir(exist_ok=True)
        for source in self.sources:
            self.compile(source, self.scratch / name / f"{source.stem}.o", extra)
        return self.link(name, extra, {})

    def link(self, name: str, extra: tuple[str, ...], instead: dict[Path, Path]) -> Path:
        objects = [str(instead.get(source, self.scratch / name / f"{source.stem}.o")) for source in self.sources]
        program = self.scratch / name / ("one" if instead else "test_core")
        subprocess.run([os.environ.get("CXX", "c++"), *extra, *objects, "-o", str(program)], check=True)
        return program

    def fails(self, program: Path, cases: int, seconds: float, env: dict[str, str], megabytes: int = 3000) -> bool:
        command = [str(program), "--cases", str(cases)]
        return caught(command, seconds, {**os.environ, **env}, self.scratch, megabytes)

    def catches(self, mutant: Mutant) -> bool:
        env = {"TREEPROOF_MUTANT": str(mutant.id)}
        return self.fails(self.fast, 20, 2, env) or self.fails(self.fast, self.cases, self.seconds, env)

    def catches_slowly(self, mutant: Mutant) -> bool:
        env = {"TREEPROOF_MUTANT": str(mutant.id)}
        return self.fails(self.checked, self.cases // 4, 4 * self.seconds, env, 0)

    def catches_compiled(self, mutant: Mutant) -> bool:
        path = self.scratch / "core" / mutant.file
        before = path.read_text()
        path.write_text(mutant.source)
        changed = [path] if path.suffix == ".cpp" else self.sources
        try:
            for source in changed:
                self.compile(source, source.with_suffix(".o"), ("-O1",))
        finally:
            path.write_text(before)
        program = self.link("fast", ("-O1",), {source: source.with_suffix(".o") for source in changed})
        return self.fails(program, 20, 2, {}) or self.fails(program, self.cases, self.seconds, {})


class Changed(importlib.machinery.SourceFileLoader):
    """Loads another source than the file has."""

    source = ""

    def get_code(self, fullname: str) -> Any:
        """Return the code of the changed source, never that of a cached file."""
        return compile(self.source, self.path, "exec")


class Instead(importlib.abc.MetaPathFinder):
    """Finds one module, with a changed source, or an extension that lies elsewhere."""

    def __init__(self, name: str, path: Path, source: str = "") -> None:
        self.name, self.path, self.source = name, path, source

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Return where the module is, if it is this one."""
        if fullname != self.name:
            return None
        loader = None
        if self.source:
            loader = Changed(fullname, str(self.path))
            loader.source = self.source
        return importlib.util.spec_from_file_location(fullname, self.path, loader=loader)


def run_tests(instead: list[Instead], tests: tuple[str, ...], seconds: float, env: dict[str, str]) -> None:
    """Run tests in this process, which ends with their exit code."""
    sys.meta_path[:0] = instead
    os.environ.update(env)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background ignores it, tests do not
    os.chdir(ROOT)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    limit = math.ceil(seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    import pytest

    code = pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", *tests])
    assert all(finder.name in sys.modules for finder in instead)
    os._exit(int(code))


class Package:
    """The package, some modules of which may be changed; each run has a process of its own."""

    def __init__(self) -> None:
        for name in ("pytest", "sklearn.ensemble", "scipy.stats", "pandas"):  # once for all processes
            importlib.import_module(name)
        assert not any(name.startswith("treeproof") for name in sys.modules)
        self.processes = multiprocessing.get_context("fork")
        self.folder = ROOT / "src" / "treeproof"

    def catches(self, instead: list[Instead], tests: tuple[str, ...], seconds: float, mutant: int = -1) -> bool:
        """Return whether a test fails, or does not end."""
        env = {"TREEPROOF_MUTANT": str(mutant), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        process = self.processes.Process(target=run_tests, args=(instead, tests, seconds, env))
        process.start()
        process.join(20 * seconds)
        if process.is_alive():
            process.kill()
            process.join()
        return process.exitcode != 0

    def changed(self, mutant: Mutant) -> Instead:
        """Return the module of a mutant."""
        name = "treeproof." + mutant.file.removesuffix(".py").replace("/", ".")
        return Instead(name, self.folder / mutant.file, mutant.source)


def build_extension(scratch: Path) -> Instead:
    """Build the extension with the core's mutants in it, as an installation of the package does."""
    for name in ("CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, scratch)
    shutil.copytree(ROOT / "src", scratch / "src", dirs_exist_ok=True)
    flags = f"cmake.define.CMAKE_CXX_FLAGS=-w -include {scratch.resolve()}/mutant.hpp"
    wheels = scratch / "wheels"
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--wheel-dir", str(wheels), f"--config-settings={flags}", str(scratch)], check=True)
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if Path(name).name.startswith("_core.") and name.endswith(".so"))
        return Instead("treeproof._core", Path(archive.extract(name, wheels)))


COMPARED = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in"}
COMPARED |= {ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is"}
SPELLED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.In: "in"}
SPELLED |= {ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not", ast.And: "and", ast.Or: "or"}


def python_edits(code: str) -> Iterator[tuple[int, int, str]]:
    """Yield where to replace what, outside annotations and messages of errors."""
    starts = [0]
    for line in code.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))

    def begin(node: ast.expr) -> int:
        return starts[node.lineno - 1] + node.col_offset

    def end(node: ast.expr) -> int:
        return starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)

    def between(left: ast.expr, right: ast.expr, word: str, new: str) -> Iterator[tuple[int, int, str]]:
        gap = code.encode()[end(left) : begin(right)].decode()
        found = re.search(rf"(?<![\w<>=!]){re.escape(word)}(?![\w<>=])", gap)
        if found:
            yield end(left) + found.start(), end(left) + found.end(), new

    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Compare):
            for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
                yield from between(left, right, SPELLED[type(op)], COMPARED[type(op)])
        elif isinstance(node, ast.BoolOp):
            word = SPELLED[type(node.op)]
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield from between(left, right, word, "or" if word == "and" else "and")
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            plus = isinstance(node.op, ast.Add)
            if isinstance(node.right, ast.Constant) and node.right.value in (1, 2, 3):
                yield begin(node.right), end(node.right), str(node.right.value - 1)
                yield from between(node.left, node.right, "+" if plus else "-", "-" if plus else "+")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max"):
            yield begin(node.func), end(node.func), "max" if node.func.id == "min" else "min"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("any", "all"):
            yield begin(node.func), end(node.func), "all" if node.func.id == "any" else "any"
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield begin(node), end(node), str(not node.value)
        elif isinstance(node, ast.Constant) and type(node.value) is int and node.value in (0, 1):
            yield begin(node), end(node), str(1 - node.value)


def python_mutants(file: str, code: str) -> list[Mutant]:
    mutants = {}
    encoded = code.encode()
    functions = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    for start, end, new in sorted(set(python_edits(code))):
        whole = (encoded[:start] + new.encode() + encoded[end:]).decode()
        line = encoded.count(b"\n", 0, start) + 1
        text = whole.splitlines()[line - 1].strip()
        around = [node for node in functions if node.lineno <= line <= (node.end_lineno or 0)]
        place = max(around, key=lambda node: node.lineno).name if around else "top"
        if not text.startswith(("from ", "import ", "@", "#", ">>>")):
            mutants[whole] = Mutant(file, place, line, text, -1, whole)
    return list(mutants.values())


def listed() -> set[str]:
    """Return the mutants that equivalent.toml explains, as `Mutant.named` writes them."""
    groups = tomllib.loads(LISTED.read_text())["equivalent"]
    return {mutant for group in groups for mutant in group["mutants"]}


def stale(known: set[str]) -> list[str]:
    """Return entries of the list that are no mutants of the code as it is now."""
    made = {m.named for file in CORE for m in core_mutants(file, (ROOT / "core" / file).read_text(), 1)[1]}
    for file in PYTHON:
        made |= {m.named for m in python_mutants(file, (ROOT / "src" / "treeproof" / file).read_text())}
    return sorted(known - made)


class Tally:
    """What became of the mutants."""

    def __init__(self, log: Path | None) -> None:
        self.known = listed()
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.unexplained: list[Mutant] = []
        self.log = log

    def add(self, mutant: Mutant, caught: bool) -> None:
        """Count a mutant; print it if nothing caught or explains it."""
        fate = "caught" if caught else "explained" if mutant.named in self.known else "survived"
        self.counts[mutant.file].update(["made", fate])
        if fate == "survived":
            self.unexplained.append(mutant)
            print(f"    '{mutant.named}',  # line {mutant.line}, switch {mutant.id}", flush=True)
        if self.log:
            with self.log.open("a") as log:
                log.write(f"{fate}\t{mutant.file}\t{mutant.place}\t{mutant.line}\t{mutant.id}\t{mutant.text}\n")

    def report(self) -> None:
        """Print a table: for each file, how many were made, caught, explained, and what is left."""
        total: Counter[str] = Counter()
        for file, count in self.counts.items():
            total.update(count)
            self._line(f"`{file}`", count)
        self._line("all", total)

    @staticmethod
    def _line(name: str, count: Counter[str]) -> None:
        print(
            f"| {name} | " + " | ".join(str(count[key]) for key in ("made", "caught", "explained", "survived")) + " |"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", choices=["core", "python", "all"], default="all")
    parser.add_argument("--only", default="", help="files whose name contains this")
    parser.add_argument("--lines", default="0-", help="only those on these lines, as in 1-500")
    parser.add_argument("--share", type=float, default=1.0, help="share of the mutants, chosen at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time (default: 2)")
    parser.add_argument("--cases", type=int, default=600, help="cases of core/tests (default: 600)")
    parser.add_argument("--scratch", type=Path, default=ROOT / "build" / "mutants")
    parser.add_argument("--log", type=Path, help="write every mutant with its fate here")
    parser.add_argument("--list", action="store_true", help="only see whether equivalent.toml is about this code")
    args = parser.parse_args()
    if unmatched := stale(listed()):
        print("No mutants of this code, but listed in equivalent.toml:", *unmatched, sep="\n    ")
    if args.list:
        return 1 if unmatched else 0
    shutil.rmtree(args.scratch, ignore_errors=True)
    args.scratch.mkdir(parents=True)
    chance, tally, package = random.Random(args.seed), Tally(args.log), Package()

    first, last = (int(end or sys.maxsize) for end in args.lines.split("-"))

    def chosen(mutants: list[Mutant]) -> list[Mutant]:
        those = [m for m in mutants if args.only in m.file and first <= m.line <= last]
        return [m for m in those if chance.random() < args.share]

    def judge(mutants: list[Mutant], catches: Callable[[Mutant], bool], jobs: int = args.jobs) -> None:
        with ThreadPoolExecutor(jobs) as pool:
            for mutant, is_caught in zip(mutants, pool.map(catches, mutants), strict=True):
                tally.add(mutant, is_caught)

    if args.part in ("core", "all"):
        core = Core(args.scratch, args.cases)
        extension = [build_extension(args.scratch)]
        certificates = (CAMPAIGN, CHECKER)
        assert not package.catches(extension, certificates, 600), "the campaign must pass without a mutant"

        def catches(mutant: Mutant) -> bool:
            if core.catches(mutant):
                return True
            if mutant.named in tally.known:
                return False
            return core.catches_slowly(mutant) or package.catches(extension, certificates, 200, mutant.id)

        mutants = chosen(core.mutants)
        judge([m for m in mutants if m.id > 0], catches)
        judge([m for m in mutants if m.id < 0], core.catches_compiled, jobs=1)
    if args.part in ("python", "all"):
        for file, tests in PYTHON.items():
            path = package.folder / file
            mutants = chosen(python_mutants(file, path.read_text()))
            began = used()
            if mutants and package.catches([], tests, 600):
                raise SystemExit(f"the tests of {file} must pass without a mutant")
            seconds = 4 * (used() - began) + 5
            judge(mutants, lambda m, t=tests, s=seconds: package.catches([package.changed(m)], t, s))
    tally.report()
    return 1 if tally.unexplained or unmatched else 0


if __name__ == "__main__":
    sys.exit(main())
