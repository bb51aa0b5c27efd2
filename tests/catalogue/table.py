"""Write the tables of what is taken and what is refused into docs/models.md, from a run.

``python tests/catalogue/table.py``. `test_catalogue.py` has each line compared.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from catalogue import Entry, entries, outcome

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
START, END = "<!-- catalogue: written by tests/catalogue/table.py -->", "<!-- end of catalogue -->"


def line(entry: Entry, found: str) -> str:
    """Return the line of an entry; of a refusal without the list of all that would be taken, and without addresses."""
    text = re.sub(r" It takes: .*", "", found.replace("\n", " "))
    return f"| {entry.name} | {text.replace('|', '&#124;')} |"


def main() -> None:
    """Run every entry and write one table for each family."""
    families: dict[str, list[str]] = {}
    for entry in entries():
        families.setdefault(entry.family, []).append(line(entry, outcome(entry)))
    tables = [f"### {family}\n\n| | |\n|---|---|\n" + "\n".join(lines) for family, lines in families.items()]
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + "\n\n".join([START, *tables, END]) + after, encoding="utf-8")


if __name__ == "__main__":
    main()
