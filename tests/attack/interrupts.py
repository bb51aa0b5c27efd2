"""Interrupts at random moments: they arrive, soon, and the explainer answers afterwards as it did before."""

from __future__ import annotations

import signal
import time

from attack.questions import QUESTIONS, answer, small_case
from attack.rounds import Round

SOON = 1.0  # seconds of CPU from the signal to the exception


def attack(round: Round) -> None:
    """Interrupt questions."""
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    for _ in range(max(1, round.n_cases // 12)):
        explainer, row = small_case(round.rng)
        name = str(round.rng.choice(list(QUESTIONS)))
        with round.case(f"interrupted {name}"):
            start = time.monotonic()
            before = answer(name, explainer, row)
            took = time.monotonic() - start
            for _ in range(5):
                at = float(round.rng.uniform(1e-4, max(2e-4, 1.2 * took)))
                began = time.process_time()
                signal.setitimer(signal.ITIMER_REAL, at)
                try:
                    answer(name, explainer, row)
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except KeyboardInterrupt:
                    round.counts["interrupts"] += 1
                    late = time.process_time() - began - at
                    round.require(late < SOON, f"{name}: the interrupt came {late:.2f} s late")
                try:  # it may come this late
                    after = answer(name, explainer, row)
                except KeyboardInterrupt:
                    after = answer(name, explainer, row)
                round.require(after == before, f"{name}: before the interrupt {before!r}, after it {after!r}")
