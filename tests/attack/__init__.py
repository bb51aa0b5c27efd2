"""An attack on everything that takes a file, a row, an argument or a signal: ``make attack SECONDS=60 SEED=7``.

Each file is one kind of attack, with a function ``attack(round)``. A round is a forked process with limits of time and
memory; it tries many cases, counts them, and reports what should not have happened: a crash, an exception that is not
ours, a message without end, a lost or half-written file, and above all a false statement. `KINDS` lists the kinds; a
round is done again with the command that a failure prints.
"""

from __future__ import annotations

KINDS = {  # each with its share of the time
    "certificates": 10,
    "files": 5,
    "arguments": 2,
    "tables": 2,
    "threads": 2,
    "interrupts": 2,
    "names": 1,
    "kills": 1,
    "disk": 1,
    "processes": 1,
}
