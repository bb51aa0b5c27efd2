"""Forked and spawned processes answer as their parent does, also if they were forked while threads were at work."""

from __future__ import annotations

import multiprocessing
import threading
import warnings

from attack.questions import answer, small_case
from attack.rounds import Round

ASKED = ["abductive", "contrastive", "minimum", "enumerate", "batch", "certificate"]


def attack(round: Round) -> None:
    """Ask in children of both kinds."""
    explainer, row = small_case(round.rng)
    expected = [answer(name, explainer, row) for name in ASKED]
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            answer("batch", explainer, row)

    busy = [threading.Thread(target=work) for _ in range(2)]
    for method in ("fork", "spawn"):
        for thread in busy if method == "fork" else ():
            thread.start()
        with round.case(f"{method}ed process"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer Pythons warn of forks beside threads
            context = multiprocessing.get_context(method)
            with context.Pool(1) as pool:
                found = pool.apply_async(in_child, (explainer, row)).get(timeout=120)
            round.counts[method] += 1
            round.require(found == expected, f"{method}: {found} instead of {expected}")
        stop.set()
    for thread in busy:
        thread.join()


def in_child(explainer, row) -> list[str]:  # type: ignore[no-untyped-def]
    """Answer in a child."""
    return [answer(name, explainer, row) for name in ASKED]
