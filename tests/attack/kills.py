"""kill -9 while something is written: the old file or the new one is there, never half of it."""

from __future__ import annotations

import os
import signal
import time

from attack.outputs import content, writers
from attack.rounds import Round


def attack(round: Round) -> None:
    """Kill writers of every kind of file."""
    versions = [writers(round.folder, version) for version in (0, 1)]
    for name in versions[0]:
        path, known, took = round.folder / name, set(), 0.0
        for write in (versions[0][name], versions[1][name]):
            start = time.monotonic()
            write()
            took = time.monotonic() - start
            known.add(content(path))
        for _ in range(max(1, round.n_cases // 15)):
            child = os.fork()
            if child == 0:
                while True:
                    versions[0][name]()
                    versions[1][name]()
            time.sleep(float(round.rng.uniform(0, 2.5 * took)))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            with round.case(f"{name} killed"):
                round.counts["kills"] += 1
                try:
                    left = content(path)
                except (ValueError, FileNotFoundError) as error:
                    left = repr(error)
                round.require(left in known, f"{name}: neither the old nor the new file: {left[:300]}")
