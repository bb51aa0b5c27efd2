"""Tables that no program wrote on purpose: as CSV, packed, and in formats that are not read."""

from __future__ import annotations

import csv
import gzip
import io

import numpy as np

import treeproof as tp
from attack.mutate import damaged_bytes
from attack.rounds import Round

COLUMNS = [tp.Column("colour", ("red", "green", "None")), "width", tp.Column("age", missing="expected")]
CELLS = [
    "",
    "1_000",
    "\u0663",
    "0x10",
    "1e400",
    "-nan",
    "inf",
    " 1 ",
    "1,5",
    "=1+1",
    "None",
    "NaN",
    "'",
    '"',
    "\x00",
    "é",
]
CELLS += ["\x1b[2J", "9" * 5000, "red", "-0", "1e-400", "2024-02-30", "\u202e", "true", "1;2", "\r", "\ufeff1"]


def model() -> tp.Forest:
    """A forest with named values, numbers, and numbers that may be missing."""
    tree = tp.isin("colour", ["red", "None"], tp.split("width", 1.5, "no", "yes"), "no")
    old = tp.split("age", 30, "no", "yes", missing="no")
    return tp.build_forest([tree, old, tp.split("width", 3, "yes", "no")], columns=COLUMNS, classes=["no", "yes"])


def attack(round: Round) -> None:
    """Explain the rows of damaged tables."""
    rng = round.rng
    tp.save_forest(model(), round.folder / "model.json")
    for _ in range(round.n_cases):
        name, content = hostile_table(rng)
        path = round.folder / name
        path.write_bytes(content)
        commands = [
            ["explain"],
            ["explain", "--kind", "contrastive"],
            ["ask", "audit", "--protected", "age"],
            ["train"],
        ]
        words = commands[rng.choice(4, p=[0.5, 0.2, 0.2, 0.1])]
        files = [str(path)] if words == ["train"] else ["model.json", str(path)]
        options = ["--out", "trained.json"] if words == ["train"] else ["--all", "--timeout", "2", "--max-mb", "20"]
        printed = round.command(f"{' '.join(words)} {name}", [*words[:2], *files, *words[2:], *options])
        bad = [letter for letter in printed if (ord(letter) < 32 and letter not in "\n") or "\x7f" <= letter < "\xa0"]
        round.require(not bad, f"{name}: control characters {bad[:3]} in {printed[:300]!r}")


def hostile_table(rng: np.random.Generator) -> tuple[str, bytes]:
    """Return a file name and a table."""
    header, rows = ["colour", "width", "age"], [["red", "1", "20"], ["green", "2.5", ""], ["None", "4", "40"]]
    rows = [rows[rng.integers(3)][:] for _ in range(int(rng.integers(1, 6)))]
    for _ in range(int(rng.integers(0, 3))):
        rows[rng.integers(len(rows))][rng.integers(3)] = CELLS[rng.integers(len(CELLS))]
    match int(rng.integers(12)):
        case 0:
            header[rng.integers(3)] = str(rng.choice(["age", "", "width", "=cmd", "\x1b[2J"]))
        case 1:
            rows[0] = rows[0][: int(rng.integers(3))]
        case 2:
            header, rows = header * 5000, [row * 5000 for row in rows]
        case 3:
            rows = []
        case 4:
            header += [f"more{i}" for i in range(20_000)]
            rows = [row + ["0"] * 20_000 for row in rows]
    text = io.StringIO()
    writer = csv.writer(text, delimiter=str(rng.choice([",", ";", "\t"])), quoting=csv.QUOTE_MINIMAL)
    writer.writerows([header, *rows])
    content = text.getvalue().encode("utf-8")
    match int(rng.integers(9)):
        case 0:
            return "table.csv", damaged_bytes(rng, content)
        case 1:
            return "table.csv.gz", damaged_bytes(rng, gzip.compress(content))
        case 2:
            return "table.csv.gz", gzip.compress(content) + gzip.compress(content) + b"more"
        case 3:
            return "table.csv", text.getvalue().encode("utf-16")
        case 4:
            return "bomb.csv.gz", gzip.compress(content + b"0" * int(rng.choice([10, 3 * 10**7])), 1)
        case 5:
            return "table.csv", text.getvalue().encode("latin-1", errors="replace")
        case 6:
            return "table.parquet", _parquet(rows, header)
    return str(rng.choice(["table.csv", "table.tsv", "table.data"])), content


def _parquet(rows: list[list[str]], header: list[str]) -> bytes:
    """A table in a format that is written and not read."""
    try:
        import pandas as pd

        packed = io.BytesIO()
        pd.DataFrame([dict(zip(header, row, strict=False)) for row in rows], dtype=object).to_parquet(packed)
        return packed.getvalue()
    except (ImportError, ValueError):
        return b"PAR1"
