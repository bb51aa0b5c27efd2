"""Results drawn as SVG inside a page: in its colours, with unique ids, letters as outlines."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from treeproof.errors import MissingExtraError
from treeproof.questions.abductive import Abductive
from treeproof.questions.contrastive import Contrastive
from treeproof.questions.rules import Rules
from treeproof.show import plots

MOST_LINES = 24  # of a picture

_INK, _GROUND = "#010203", "#fdfcfb"  # stand for the colours of the page
_COLOURS = {_INK: "currentColor", _GROUND: "var(--ground)", plots.lines.PROVED: "var(--proved)"}
_REFERENCE = re.compile(r"(?<=url\(#)[^)]+|(?<=^#).+")


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG element: its view box, and its content as markup. `alt` describes it in words."""

    view_box: str
    content: str
    alt: str


class Pictures:
    """Draws results; without matplotlib it draws nothing, and `lacking` says why."""

    def __init__(self, behind: Sequence[Any]) -> None:
        self.behind = behind
        self.lacking: str | None = None
        self._n = 0
        try:
            plots.axes.pyplot()
        except MissingExtraError as error:
            self.lacking = str(error)

    def result(self, result: Abductive | Contrastive, alt: str) -> Picture | None:
        """Return an explanation as a picture, unless there is nothing to draw, or too much."""
        n_lines = _n_lines(result)

        def draw(figure: Any) -> None:
            ax = result.plot(self.behind or None, ax=figure.add_subplot())
            ax.set_title("", loc="left")  # the card and the statement below say it
            ax.set_xlabel("")

        return self._drawn(7, 0.6 + 0.85 * n_lines, draw, alt) if 0 < n_lines <= MOST_LINES else None

    def is_too_long(self, result: Abductive | Contrastive) -> bool:
        """Return whether a result has no picture because it has too many lines."""
        return self.lacking is None and _n_lines(result) > MOST_LINES

    def rules(self, result: Any) -> Picture | None:
        """Return how many rows rules cover as a picture; of other results None."""
        if not isinstance(result, Rules) or not 0 < len(result) <= MOST_LINES:
            return None

        def draw(figure: Any) -> None:
            result.plot(figure.add_subplot())

        return self._drawn(7, 1.2 + 0.6 * len(result), draw, f"{result.title}, as a picture")

    def overview(self, results: Sequence[Any], alt: str) -> Picture | None:
        """Return what results have in common as a picture."""
        n_lines = min(len({name for result in results for name in result.feature_names}), plots.MOST_FEATURES)

        def draw(figure: Any) -> None:
            plots.overview(results, figure.subplots(1, 2, width_ratios=[3, 2]))

        return self._drawn(9, 0.9 + 0.23 * max(n_lines, 2), draw, alt)

    def _drawn(self, width: float, height: float, draw: Callable[[Any], None], alt: str) -> Picture | None:
        if self.lacking is not None:
            return None
        import matplotlib as mpl
        from matplotlib.figure import Figure

        self._n += 1
        style: Any = {
            **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), _INK),
            "axes.facecolor": _GROUND,
            "figure.facecolor": "none",
            "savefig.facecolor": "none",
            "svg.fonttype": "path",
            "svg.hashsalt": "treeproof",
        }
        text = io.StringIO()
        # Characters that no font has are drawn as boxes; the text next to the picture has them.
        with mpl.rc_context(), warnings.catch_warnings():
            mpl.rcdefaults()
            mpl.rcParams.update(style)
            warnings.filterwarnings("ignore", message="(?s).*[Gg]lyph.*missing")
            warnings.filterwarnings("ignore", message="constrained_layout not applied")
            figure = Figure(figsize=(width, height), layout="constrained")
            draw(figure)
            figure.savefig(text, format="svg", metadata={"Date": None})
        return _inline(text.getvalue(), f"p{self._n}-", alt)


def _n_lines(result: Abductive | Contrastive) -> int:
    return len(result.rule if isinstance(result, Abductive) else result.changes)


def _inline(svg: str, prefix: str, alt: str) -> Picture:
    """Return matplotlib's SVG file for use inside a page: ids get a prefix, unused ids and all text are removed.

    The content is rewritten from shapes and their attributes alone, so it contains no text from a model.
    """
    root = ElementTree.fromstring(svg)  # comments, in which matplotlib keeps the text of a picture, are skipped
    used: set[str] = set()

    def owned(value: str) -> str:
        used.update(_REFERENCE.findall(value))
        for colour, name in _COLOURS.items():
            value = value.replace(colour, name)
        return _REFERENCE.sub(lambda found: prefix + found[0], value)

    for element in root.iter():
        for child in list(element):
            if _local(child.tag) in ("metadata", "style"):
                element.remove(child)
        element.tag, element.text, element.tail = _local(element.tag), None, None
        element.attrib = {_local(name): owned(value) for name, value in element.attrib.items()}
    for element in root.iter():
        name = element.attrib.pop("id", None)
        if name in used:
            element.set("id", f"{prefix}{name}")
    content = "".join(ElementTree.tostring(child, encoding="unicode") for child in root)
    return Picture(root.attrib["viewBox"], content, alt)


def _local(name: str) -> str:
    """Return a name without its namespace, which HTML does not need."""
    return name.rpartition("}")[2]
