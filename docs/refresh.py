"""Run the code of the documentation, and write what it prints below it.

``python docs/refresh.py [--check]``: in every page, the python blocks run in order in one namespace; a text block that
follows a python block is what that block prints. A block that needs a library of `OPTIONAL` which is not installed is
left as it is. With ``--check`` nothing is written, and pages that would change are an error.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path

PAGES = Path(__file__).parent
OPTIONAL = ("xgboost", "lightgbm", "polars")
BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<text>.*?)```\n)?", re.DOTALL)


def refreshed(page: str) -> str:
    """Return the text of a page with every output as the code prints it now."""
    names: dict[str, object] = {"__name__": "__docs__"}

    def run(block: re.Match[str]) -> str:
        try:
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(block["code"], "page", "exec"), names)
        except ModuleNotFoundError as error:
            if error.name not in OPTIONAL:
                raise
            return block[0]
        output = printed.getvalue()
        return f"```python\n{block['code']}```\n" + (f"\n```text\n{output}```\n" if output else "")

    return BLOCK.sub(run, page)


def main(arguments: list[str]) -> int:
    """Refresh all pages, or check them; return the exit code."""
    stale = []
    for path in sorted(PAGES.glob("*.md")):
        before = path.read_text(encoding="utf-8")
        after = refreshed(before)
        if after != before:
            stale.append(path.name)
            if "--check" not in arguments:
                path.write_text(after, encoding="utf-8")
    sys.stdout.write("".join(f"{name}\n" for name in stale))
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
