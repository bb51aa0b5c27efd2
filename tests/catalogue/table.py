"""Write the tables of what is taken and what is refused into docs/models.md, from a run; ``--check``: compare only."""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from catalogue import entries, outcome

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
START, END = "<!-- catalogue: written by tests/catalogue/table.py -->", "<!-- end of catalogue -->"


def tables() -> str:
    """Return one Markdown table for each family, made by running every entry."""
    families: dict[str, list[str]] = {}
    for entry in entries():
        found = outcome(entry)
        families.setdefault(entry.family, []).append(f"| {entry.name} | {found} |")
    parts = [f"### {family}\n\n| model | |\n|---|---|\n" + "\n".join(rows) for family, rows in families.items()]
    return f"{START}\n\n" + "\n\n".join(parts) + f"\n\n{END}"


def main() -> int:
    """Write the page, or say that it would change."""
    page = PAGE.read_text(encoding="utf-8")
    new = re.sub(f"{re.escape(START)}.*{re.escape(END)}", lambda _: tables(), page, flags=re.DOTALL)
    if "--check" in sys.argv:
        if new != page:
            sys.stderr.write("docs/models.md does not say what happens: run python tests/catalogue/table.py\n")
        return int(new != page)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
