"""Eight threads that ask one explainer different questions, against the same questions one after the other."""

from __future__ import annotations

import threading

from attack.questions import QUESTIONS, answer, small_case
from attack.rounds import Round


def attack(round: Round) -> None:
    """Ask in threads, and compare."""
    for _ in range(max(1, round.n_cases // 20)):
        explainer, row = small_case(round.rng)
        asked = [str(name) for name in round.rng.choice(list(QUESTIONS), 24)]
        found: dict[int, str] = {}
        start = threading.Barrier(8)

        def work(part: int, explainer=explainer, row=row, asked=asked, found=found, start=start) -> None:  # type: ignore[no-untyped-def]
            start.wait()
            for i in range(part, len(asked), 8):
                try:
                    found[i] = answer(asked[i], explainer, row)
                except BaseException as error:
                    found[i] = f"raised {error!r}"

        threads = [threading.Thread(target=work, args=(part,)) for part in range(8)]
        with round.case(f"eight threads: {asked}"):
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for i, name in enumerate(asked):
                alone = answer(name, explainer, row)
                round.counts["answers"] += 1
                round.require(found[i] == alone, f"{name}: in threads {found[i]!r}, alone {alone!r}")
