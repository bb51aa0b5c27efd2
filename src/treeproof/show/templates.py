"""HTML from template files, with every value escaped."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from treeproof.show.text import visible


def render(name: str, **values: Any) -> str:
    """Return the template `name` of this folder, filled in; a missing value is an error."""
    return _environment().get_template(name).render(values)


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # most programs never make a report

    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printed,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _printed(value: Any) -> Any:
    """Return a value as text without unprintable characters, some of which reverse the text after them."""
    if hasattr(value, "__html__"):  # markup already
        return value
    return "\n".join(map(visible, str(value).split("\n")))
