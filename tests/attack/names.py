"""Names of columns, labels and values with markup, control characters, formulas and mathematics, wherever they show."""

from __future__ import annotations

import csv
import html.parser
import io
from typing import Any

import treeproof as tp
from attack.rounds import Round

EVIL = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'; DROP TABLE x; --",
    "{{7*7}}",
    "{% include 'x' %}",
    "&lt;b&gt;",
    "</title></style></svg><b>",
    "a\x1b[2Jb",
    "a\x9b1mb",
    "\u202eevil",
    "tab\there",
    "line\nbreak",
    "\x07bell",
    "=1+1",
    "+cmd|' /C calc'!A0",
    "@SUM(1)",
    "-2+3",
    "$\\frac{1}$",
    "$x$ and $",
    "%s%n",
    "a or b",
    "a <= 3",
    "missing",
    "None",
    "[bold]x[/bold]",
    "[/]",
    "{name}",
    "\u0000nul",
    "é\u0301\u200b",
    "//",
    "x" * 300,
]


def attack(round: Round) -> None:
    """Show results about a forest with such names in every way, and compare the pages with those of harmless names."""
    rng = round.rng
    names = [str(name) for name in rng.choice(EVIL, 6, replace=False)]
    pages = [_shown(round, names), _shown(round, ["a", "b", "red", "green", "no", "yes"])]
    round.require(pages[0] <= pages[1], f"markup by names {names}: {sorted(pages[0] - pages[1])}")


def _shown(round: Round, names: list[str]) -> set[str]:
    """Write everything; return the tags, with their attributes, of all pages."""
    column, number, red, green, no, yes = names
    tree = tp.isin(column, [red], tp.split(number, 0.5, no, yes), no)
    columns = [tp.Column(column, (red, green)), number]
    pages: list[str] = []
    with round.case(f"names {names}"):
        forest = tp.build_forest([tree, tp.split(number, 2, yes, no)], columns=columns, classes=[no, yes])
        explainer, row = tp.Explainer(forest), [red, 1]
        why, change = explainer.abductive(row, inflate=True), explainer.contrastive(row)
        others = [explainer.relevance(row), explainer.attribution(row), explainer.robustness(row)]
        others += [explainer.audit([row], [column]), explainer.review(row, [number])]
        for result in (why, change, *others):
            pages.append(result._repr_html_())
            round.require(_is_plain(str(result)), f"control characters in {str(result)!r}")
        round.require(_is_plain(str(why.certificate().check())), f"control characters in a check: {names}")
        again = explainer.review(row, str(why.conditions[0])) if why.conditions else None
        round.require(again is None or again.holds is not None, f"a condition cannot be read back: {why.conditions}")
        try:
            import matplotlib

            matplotlib.use("svg")
            figure = why.plot().figure
            figure.savefig(io.StringIO(), format="svg")
            matplotlib.pyplot.close(figure)
        except tp.MissingExtraError:
            pass
        tp.save_forest(forest, round.folder / "evil.json")
        with (round.folder / "evil.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([[column, number], row])
        tp.report(explainer, [row], round.folder / "evil.html", force=True)
        pages.append((round.folder / "evil.html").read_text(encoding="utf-8"))
    _commands(round, names)
    return {tag for page in pages for tag in tags(page)}


def _commands(round: Round, names: list[str]) -> None:
    files = ["evil.json", "evil.csv"]
    for words in (["explain"], ["explain", "--kind", "contrastive"], ["enumerate"], ["ask", "relevance"]):
        printed = round.command(f"{words} {names}", [*words[:2], *files, *words[2:]])
        round.require(_is_plain(printed), f"{words}: control characters in {printed!r}")
    round.command(f"--out {names}", ["explain", *files, "--out", "out.csv"])
    if (round.folder / "out.csv").exists():
        with (round.folder / "out.csv").open(newline="", encoding="utf-8") as file:
            cells = [cell for line in csv.reader(file) for cell in line]
        formulas = [cell for cell in cells if cell.startswith(("=", "+", "@", "-", "\t", "\r"))]
        round.require(not formulas, f"formulas in a CSV file: {formulas}")


def _is_plain(text: str) -> bool:
    return not any((ord(c) < 32 and c != "\n") or "\x7f" <= c < "\xa0" or c in "\u202a\u202b\u202d\u202e" for c in text)


def tags(page: str) -> set[str]:
    """Return every tag of a page with the names of its attributes; and what a script or a link could do."""
    found: set[str] = set()

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag: str, attributes: list[tuple[str, Any]]) -> None:
            found.update(f"{tag} {name}" for name, _ in attributes)
            found.add(tag)
            found.update(f"{tag} {name}={value}" for name, value in attributes if name in ("href", "src", "action"))

        def handle_startendtag(self, tag: str, attributes: list[tuple[str, Any]]) -> None:
            self.handle_starttag(tag, attributes)

    Reader().feed(page)
    return {tag for tag in found if "href=#" not in tag and "evil-certificates" not in tag}
