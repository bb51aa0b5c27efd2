"""The documentation builds as a site without a warning, and all its links lead somewhere."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
MISSING = [name for name in ("sphinx", "myst_parser", "furo") if importlib.util.find_spec(name) is None]

needs_sphinx = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}; extra 'docs'")


class Page(HTMLParser):
    """The anchors of a page, what it links to, and its pictures."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.pictures: list[dict[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := found.get(name))}
        if tag in ("a", "link") and found.get("href"):
            self.links.append(found["href"])
        if tag in ("img", "script") and found.get("src"):
            self.links.append(found["src"])
        if tag == "img" and (found.get("src") or "").startswith("_images/"):
            self.pictures.append(found)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-E", "-b", "html"]
    built = subprocess.run(
        [*command, "-d", str(folder / "doctrees"), str(DOCS), str(folder / "html")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    pages = {
        path.relative_to(folder / "html").as_posix(): Page(path.read_text(encoding="utf-8"))
        for path in (folder / "html").rglob("*.html")
    }
    return folder / "html", pages


@needs_sphinx
def test_every_page_is_built(site):
    _, pages = site
    assert {f"{path.stem}.html" for path in DOCS.glob("*.md")} <= set(pages)


@needs_sphinx
def test_all_links_lead_to_a_page_and_a_place_on_it(site):
    root, pages = site
    checked = 0
    for name, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            path = (root / name).parent / unquote(parts.path) if parts.path else root / name
            assert path.is_file(), f"{name}: {link}"
            target = path.resolve().relative_to(root.resolve()).as_posix()
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].anchors, f"{name}: {link}"
                checked += 1
    assert checked > 100


@needs_sphinx
def test_pictures_say_in_words_what_they_show(site):
    _, pages = site
    shown = [(name, picture) for name, page in pages.items() for picture in page.pictures]
    assert shown
    for name, picture in shown:
        assert len(picture.get("alt") or "") > 20, f"{name}: {picture}"


def test_pages_read_well_without_sphinx():
    """Few pages have directives; links go to files of the folder, as they do on GitHub."""
    for path in DOCS.glob("*.md"):
        text = path.read_text(encoding="utf-8")
        assert "\N{EM DASH}" not in text, path.name
        if path.stem not in ("index", "api"):
            assert not re.search(r"^(```|:::)\{", text, re.MULTILINE), path.name
        prose = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#]+)", prose):
            assert target.startswith("http") or (DOCS / target).is_file(), f"{path.name}: {target}"


def test_every_page_is_in_the_table_of_the_index():
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    for path in DOCS.glob("*.md"):
        if path.stem != "index":
            assert f"]({path.name})" in text, path.name
            assert re.search(rf"^(.* <)?{path.stem}>?$", text, re.MULTILINE), path.name
