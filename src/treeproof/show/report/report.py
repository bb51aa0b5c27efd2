"""Self-contained HTML reports: explanations of chosen rows, with certificates and the checker next to the page."""

from __future__ import annotations

import datetime
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from treeproof import checker
from treeproof.checker import CheckError, Model
from treeproof.errors import (
    InputError,
    InternalError,
    MissingExtraError,
    TreeproofError,
    require_bool,
    require_list,
    require_mapping,
    require_one_of,
    require_path,
)
from treeproof.explainer import Explainer
from treeproof.model.columns import Label
from treeproof.model.files import forest_to_json, write_whole
from treeproof.model.forest import Forest
from treeproof.model.rows import as_row, by_number
from treeproof.proof.certificate import fingerprint
from treeproof.query.context import Order, check_timeout
from treeproof.questions.abductive import Abductive, Inflate, in_ranges
from treeproof.questions.certified import Certify
from treeproof.questions.contrastive import Contrastive
from treeproof.questions.enumerate import ExplanationKind
from treeproof.questions.parallel import bar, track
from treeproof.questions.result import Result, Role
from treeproof.questions.waiting import waiting
from treeproof.show import plots
from treeproof.show.report.about import AboutModel, Question, ask_about, chosen_questions
from treeproof.show.report.page import Facts, render
from treeproof.show.report.rows import Filed, ReportedRow

FIRST_ROWS = 5
MOST_BEHIND = 1000  # rows whose distribution is drawn


@dataclass(frozen=True, slots=True, repr=False)
class Report(Result):
    """A written report: its page, the folder of its certificates, if they were saved, its rows, and the model.

    `rows` has what is said of rows, `about` what is said of the whole model.
    """

    out: Path
    certificates: Path | None
    rows: tuple[ReportedRow, ...]
    about: tuple[AboutModel, ...] = ()

    @property
    def accepted(self) -> int:
        """Number of certificates that the independent checker accepted."""
        return sum(filed.accepted is True for filed in self._answers)

    @property
    def rejected(self) -> int:
        """Number of certificates that the independent checker rejected."""
        return sum(filed.accepted is False for filed in self._answers)

    @property
    def late(self) -> tuple[int, ...]:
        """The rows that timed out before everything was proved and certified."""
        return tuple(row.row for row in self.rows if any(filed.late for filed in row.answers))

    @property
    def failed(self) -> tuple[int, ...]:
        """The rows for which something could not be explained; the page says why."""
        return tuple(row.row for row in self.rows if row.failed)

    @property
    def _answers(self) -> list[Filed]:
        about = [filed for answer in self.about for filed in answer.proofs]
        return [*(filed for row in self.rows for filed in row.answers), *about]

    @property
    def open(self) -> tuple[Question, ...]:
        """The questions about the model that were not decided, or not certified, in time, or not answered at all."""
        return tuple(answer.question for answer in self.about if answer.late or answer.answer is None)

    @property
    def title_role(self) -> Role:
        """Whether all is proved, something is open, or a certificate is rejected."""
        return "refuted" if self.rejected else "proved" if self.decided else "open"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        return {
            "kind": "report",
            "out": str(self.out),
            "certificates": None if self.certificates is None else str(self.certificates),
            "rows": [row.row for row in self.rows],
            "accepted": self.accepted,
            "rejected": self.rejected,
            "late": list(self.late),
            "about": [answer.question for answer in self.about],
            "open": list(self.open),
            "failed": list(self.failed),
        }

    @property
    def decided(self) -> bool:
        """Whether everything about every row is explained and certified, and no certificate is rejected."""
        return not (self.rejected or self.late or self.failed or self.open)

    @property
    def title(self) -> str:
        """How many rows there are, how they were answered, and where the report is."""
        n = len(self.rows)
        parts = [f"{n} row{'s' * (n != 1)}", f"{self.accepted} certificate{'s' * (self.accepted != 1)} accepted"]
        parts += [f"{self.rejected} REJECTED"] if self.rejected else []
        parts += [f"{len(self.late)} timed out, not fully proved"] if self.late else []
        parts += [f"{len(self.failed)} not explained, the page says why"] if self.failed else []
        parts += [f"about the model open: {', '.join(self.open)}"] if self.open else []
        beside = "" if self.certificates is None else f", certificates in {self.certificates}"
        return f"{'; '.join(parts)}. Saved to {self.out}{beside}"


def report(
    explainer: Explainer,
    X: Any,
    out: str | os.PathLike[str],
    *,
    rows: Iterable[int] | None = None,
    kind: ExplanationKind = "both",
    target: Label | None = None,
    within: float | None = None,
    minimum: bool = False,
    inflate: Inflate | None = None,
    order: Order = "importance",
    timeout: float | None = None,
    about_model: bool | Iterable[Question] = False,
    protected: Iterable[str | int] = (),
    of: Any = None,
    model_timeout: float = 60.0,
    title: str | None = None,
    certificates: str | os.PathLike[str] | bool = True,
    force: bool = False,
    progress: bool = False,
    inputs: Mapping[str, str | os.PathLike[str]] | None = None,
    command: str | None = None,
    model: str | os.PathLike[str] | None = None,
) -> Report:
    """Write a self-contained HTML report on chosen rows, each answer certified and checked; return a summary.

    The page is one file that loads nothing from elsewhere. It is written atomically, after its certificates.
    A row that cannot be explained is on the page with its error; if none can, the first error is raised and nothing
    is written.

    Parameters
    ----------
    explainer
        The explainer, with its settings.
    X
        Rows, as the model takes them. Their distribution is drawn behind the pictures.
    out
        Where the page is written.
    rows
        Which rows, counted from 0; by default the first five.
    kind
        ``"abductive"`` (why), ``"contrastive"`` (what would change it) or ``"both"``.
    target
        The class that changes must reach; by default any other.
    within
        For a regressor: explain why each score stays within this distance of its prediction, as in `Explainer.around`.
    minimum
        Whether both explanations and changes must have as few features as possible, with proof, as in
        `Explainer.abductive`.
    inflate
        Whether, and how far, to widen the conditions of a reason, as in `Explainer.abductive`; by default if it takes
        no more than a few seconds. The row's own values are on the page in any case.
    order
        As in `Explainer.abductive`.
    timeout
        Seconds for each explanation, and for each certificate. Unfinished answers are labelled as such.
    about_model
        Whether the page has a section about the whole model: ``True``, or some of ``"extremes"``, ``"effect"``,
        ``"monotone"`` and ``"rules"``, as the methods of `Explainer`; rules are those that cover many rows of X.
    protected
        Features whose effect is asked for in that section.
    of
        The class whose score is meant there; by default the second of two.
    model_timeout
        Seconds for all of that section. What they left open is labelled as such.
    title
        Title of the page.
    certificates
        The folder for certificates, the forest and a copy of the checker. By default one next to the page, named after
        it; with False none is written, but certificates are still made and checked.
    force
        Whether a page may be overwritten, and the folder may have certificates about another model. Otherwise both are
        refused before anything is done.
    progress
        Whether to show a progress bar on standard error.
    inputs
        Role of each input file to its path, such as ``{"Data": "data.csv"}``: the page lists names and fingerprints.
    command
        The command line that reproduces the page, if there is one.
    model
        The model's own file, if ``treeproof check`` can check certificates against it.

    Examples
    --------
    >>> import tempfile, treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = tp.report(tp.Explainer(forest), [patient, [0, 1, 0, 80]], f"{folder}/report.html")
    ...     sorted(path.name for path in made.certificates.iterdir())
    ['checker.py', 'forest-...json', 'row-0-change.json', 'row-0-why.json', 'row-1-change.json', 'row-1-why.json']
    >>> made.accepted
    4
    """
    require_one_of("kind", kind, ("abductive", "contrastive", "both"))
    if not isinstance(explainer, Explainer):
        raise InputError(f"The 'explainer' parameter must be an Explainer. Got {explainer!r} instead.")
    check_timeout(timeout)
    check_timeout(model_timeout)
    questions = chosen_questions(explainer, about_model, protected, of)
    if target is not None and within is None:
        explainer._context.class_index(target)
    n_rows, part = by_number(X)
    chosen = _chosen(rows, n_rows)
    page, folder = _places(out, certificates)
    if model is not None:
        require_path("model", model)
    require_bool("force", force)
    require_mapping("inputs", inputs, "what a file is to its path")
    for path in (inputs or {}).values():
        require_path("inputs", path)
    for parameter, text in (("title", title), ("command", command)):
        if not (text is None or isinstance(text, str)):
            raise InputError(f"The {parameter!r} parameter must be text. Got {text!r} instead.")
    if not force:
        _keep_others(page, folder, None if within is not None else f"forest-{fingerprint(explainer.forest)[:12]}.json")
    asks = _Asks(explainer, kind, target, within, minimum, inflate, order, timeout)
    done = [asks.about(row, part) for row in track(chosen, len(chosen), bar(progress, "explaining"))]
    _raise_if_none(done)
    with waiting("answering about the model"):
        table = _read_rows(X, part, n_rows) if "rules" in questions else ()
        about = ask_about(explainer, questions, table, protected, of, model_timeout, asks.filed)
    answers = [*(answer for row in done for answer in row.answers), *(one for part in about for one in part.proofs)]
    filed = [(answer.name, answer.certificate) for answer in answers if answer.certificate]
    files = [*asks.forests.items(), ("checker.py", Path(checker.__file__).read_bytes()), *filed] if filed else []
    facts = Facts(
        title=title or f"Explanations: {explainer._source.partition(' of ')[0]}",
        date=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        source=explainer._source,
        forest=explainer.forest,
        fingerprint=fingerprint(explainer.forest),
        space=asks.space,
        versions=_versions(explainer._source),
        inputs=[(what, os.path.basename(path), _sha256(Path(path))) for what, path in (inputs or {}).items()],
        n_rows=n_rows,
        behind=_behind(explainer.forest, n_rows, part),
        folder=None if folder is None or not files else _seen_from(page, folder),
        files=[(name, len(content), hashlib.sha256(content).hexdigest()) for name, content in files],
        command=command,
        model=None if model is None else _seen_from(page, Path(model)),
        widens=inflate is not False,
    )
    text = render(facts, done, about)
    if folder is not None and files:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files:
            write_whole(folder / name, content)
    write_whole(page, text.encode())
    return Report(page, folder if files else None, tuple(done), tuple(about))


def _read_rows(X: Any, part: Callable[[int], Any], n_rows: int) -> Any:
    """Return a table as it is; of rows that are read on demand, those that can be read."""
    if isinstance(X, list | np.ndarray) or hasattr(X, "columns"):
        return X
    found = []
    for i in range(n_rows):
        with suppress(InputError):
            found.append(part(i))
    return found


class _Asks:
    """Explains rows, and has every certificate checked. It keeps the forests that certificates are about."""

    def __init__(
        self,
        explainer: Explainer,
        kind: ExplanationKind,
        target: Label | None,
        within: float | None,
        minimum: bool,
        inflate: Inflate | None,
        order: Order,
        timeout: float | None,
    ) -> None:
        self.explainer, self.kind, self.within, self.timeout = explainer, kind, within, timeout
        both: dict[str, Any] = {"minimum": minimum, "order": order, "timeout": timeout}
        self.why_options, self.inflate = both, inflate
        self.change_options = {**both, "target": target}
        self.forests: dict[str, bytes] = {}
        self._models: dict[str, Model] = {}
        self.space = explainer.space if within is None else None

    def about(self, row: int, part: Any) -> ReportedRow:
        """Explain a row; what cannot be explained is replaced by the error."""
        try:
            x = part(row)
            asked = self.explainer if self.within is None else self.explainer.around(x, self.within)
            asked._context.instance(x)
        except TreeproofError as error:
            return ReportedRow(row, error=error)
        self.space = asked.space
        why = change = None
        if self.kind != "contrastive":
            why = self._filed(f"row-{row}-why.json", lambda: self._why(partial(asked.abductive, x)))
        if self.kind != "abductive":
            change = self._filed(f"row-{row}-change.json", lambda: asked.contrastive(x, **self.change_options))
        return ReportedRow(row, why, change)

    def _why(self, ask: Callable[..., Abductive]) -> Abductive:
        ask = partial(ask, **self.why_options)
        return in_ranges(ask(), self.timeout) if self.inflate is None else ask(inflate=self.inflate)

    def _filed(self, name: str, ask: Any) -> Filed:
        try:
            result: Abductive | Contrastive = ask()
        except InternalError:
            raise  # a bug: nothing is claimed of any row
        except TreeproofError as error:
            return Filed(error)
        if isinstance(result, Contrastive) and result.status in ("impossible", "unknown", "sound"):
            remark = "no proof of this is kept." if result.status == "impossible" else "timed out."
            return Filed(result, remark=remark)
        return self.filed(result, name, result.certificate, self.timeout)

    def filed(self, result: Result, name: str, certify: Certify, timeout: float | None) -> Filed:
        """Return a result with its certificate, as far as there is one in time, and what the checker says of it."""
        try:
            made = certify(timeout)
        except InternalError:
            raise
        except TreeproofError as error:
            return Filed(result, remark=str(error))
        forest = f"forest-{made.document['model'][:12]}.json"
        if forest not in self.forests:
            text = forest_to_json(made.forest)
            self.forests[forest], self._models[forest] = text.encode(), Model(text)
        try:
            checked = checker.check(made.text, self._models[forest])
        except CheckError as error:
            return Filed(result, name, forest, made.content(), False, str(error))
        return Filed(result, name, forest, made.content(), True, f"Proved: {checked.text}.")


def _chosen(rows: Iterable[int] | None, n_rows: int) -> list[int]:
    if rows is None:
        chosen = list(range(min(FIRST_ROWS, n_rows)))
    else:
        chosen = []
        require_list("rows", rows, "numbers of rows")
        for row in rows:
            if isinstance(row, bool) or not isinstance(row, int | np.integer) or not 0 <= row < n_rows:
                raise InputError(f"Rows must be whole numbers between 0 and {n_rows - 1}. Got {row!r}.")
            chosen.append(int(row))
    if not chosen:
        raise InputError("A report must have at least one row. Got none.")
    return list(dict.fromkeys(chosen))


def check_page(out: str | os.PathLike[str]) -> Path:
    """Return the path of the page; InputError if it cannot be written."""
    require_path("out", out)
    page = Path(out)
    if page.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"The page must end in .html or .htm. Got {str(out)!r}.")
    if not page.parent.is_dir():
        raise InputError(f"The folder of the page must exist. Got {str(out)!r}.")
    if page.is_dir():
        raise InputError(f"The page must be a file. Got {str(out)!r}, which is a folder.")
    return page


def _places(out: str | os.PathLike[str], certificates: str | os.PathLike[str] | bool) -> tuple[Path, Path | None]:
    """Return the paths of the page and its certificates; raise early if they cannot be written."""
    page = check_page(out)
    if certificates is False:
        return page, None
    if certificates is True:
        certificates = page.with_name(f"{page.stem}-certificates")
    require_path("certificates", certificates)
    folder = Path(certificates)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"The certificates must go to a folder. Got {str(folder)!r}, which is a file.")
    return page, folder


def _keep_others(page: Path, folder: Path | None, forest: str | None) -> None:
    """Raise InputError if a page would be overwritten, or certificates about two models would be in one folder."""
    if page.exists():
        raise InputError(
            f"{page} exists and was not overwritten. Choose another file, or overwrite it: force=True (--force on the "
            "command line)."
        )
    others = sorted(path.name for path in (folder.glob("forest-*.json") if folder else ()) if path.name != forest)
    if others:
        raise InputError(
            f"{folder} has certificates about another model ({others[0]}). Choose another folder, or mix them: "
            "force=True (--force on the command line)."
        )


def _raise_if_none(done: Sequence[ReportedRow]) -> None:
    """Raise the first error if nothing was explained."""
    errors: list[TreeproofError] = []
    for row in done:
        for found in (row.error, *(filed.result for filed in row.answers)):
            if isinstance(found, TreeproofError):
                errors.append(found)
            elif found is not None:
                return
    raise errors[0]


def _behind(forest: Forest, n_rows: int, part: Any) -> list[list[Any]]:
    """Return evenly spaced rows for the distributions, without those that cannot be read."""
    try:
        plots.axes.pyplot()
    except MissingExtraError:
        return []
    return list(_readable(forest, range(0, n_rows, -(-n_rows // MOST_BEHIND)), part))


def _readable(forest: Forest, rows: Iterable[int], part: Any) -> Iterator[list[Any]]:
    for row in rows:
        with suppress(TreeproofError):
            numbers = as_row(part(row), forest.columns, forest.floats).tolist()
            yield [
                value if column.categories is None else column.category(int(value))
                for value, column in zip(numbers, forest.columns, strict=True)
            ]


def _versions(source: str) -> dict[str, str]:
    import platform
    from importlib.metadata import PackageNotFoundError, version

    names = ["treeproof", "scikit-learn", "numpy"]
    names += [name for name in ("xgboost", "lightgbm") if f"of {name}" in source]
    found = {}
    for name in names:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return {**found, "Python": platform.python_version()}


def _seen_from(page: Path, path: Path) -> str:
    try:
        return Path(os.path.relpath(path, page.parent)).as_posix()
    except ValueError:  # another drive on Windows
        return str(path)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
