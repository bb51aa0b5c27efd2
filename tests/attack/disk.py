"""A full disk: writing fails with a sentence, the old file stays, and nothing half-written is left beside it."""

from __future__ import annotations

import resource
import signal

from attack.outputs import content, writers
from attack.rounds import Round


def attack(round: Round) -> None:
    """Write everything when files must not grow beyond some bytes."""
    old, new = (writers(round.folder, version) for version in (0, 1))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # as on a full disk, an error and not the end
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    for name, write in old.items():
        write()
        path = round.folder / name
        before, size, beside = content(path), path.stat().st_size, set(round.folder.iterdir())
        limit = int(round.rng.integers(1, max(2, size // 3)))
        with round.case(f"{name} on a full disk"):
            at, round.at = round.at, None  # nothing is written about the case meanwhile
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most[1]))
            try:
                new[name]()
                said = "nothing"
            except OSError as error:
                said = str(error)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, most)
                round.at = at
            round.require("large" in said or "space" in said, f"{name}: said {said[:300]}")
            round.require(content(path) == before, f"{name}: the old file is not as it was")
            left = set(round.folder.iterdir()) - beside
            round.require(not left, f"{name}: left behind {sorted(p.name for p in left)}")
