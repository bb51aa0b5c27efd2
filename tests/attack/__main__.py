"""Runs the attack; exit code 1 if something happened that must not."""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

from attack import KINDS
from attack.rounds import run_round
from treeproof import checker


def fingerprint() -> str:
    """Return what identifies the checker: the first digits of the SHA-256 of its file."""
    return hashlib.sha256(Path(checker.__file__).read_bytes()).hexdigest()[:12]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m attack", description="Attack treeproof with hostile inputs.")
    parser.add_argument("--seconds", type=float, default=60, help="how long (default: 60)")
    parser.add_argument(
        "--seed", type=int, default=int(time.time()), help="start of the random numbers (default: the time)"
    )
    parser.add_argument("--kind", choices=KINDS, nargs="+", default=list(KINDS), help="these kinds (default: all)")
    parser.add_argument("--round", type=int, help="this round alone")
    parser.add_argument("--rounds", type=int, help="so many rounds of each kind, however long they take")
    parser.add_argument("--cases", type=int, default=60, help="cases of a round, about (default: 60)")
    parser.add_argument("--log", type=Path, help="append what was counted to this file")
    args = parser.parse_args()
    used_checker = fingerprint()  # its file may be edited later
    print(f"seed {args.seed}, checker {used_checker}", flush=True)
    end = time.monotonic() + args.seconds
    used: dict[str, float] = defaultdict(float)
    done: Counter[str] = Counter()
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in args.kind}
    seen: Counter[str] = Counter()
    shown: set[str] = set()
    most = 1 if args.round is not None else args.rounds
    while True:
        todo = [kind for kind in args.kind if most is None or done[kind] < most]
        if not todo or (most is None and time.monotonic() >= end):
            break
        kind = min(todo, key=lambda kind: used[kind] / KINDS[kind])
        start = time.monotonic()
        try:
            made = run_round(kind, args.seed, done[kind] if args.round is None else args.round, args.cases)
        except KeyboardInterrupt:  # what was counted so far is said all the same
            break
        used[kind] += max(time.monotonic() - start, 0.001)
        done[kind] += 1
        counts[kind].update(made.counts)
        counts[kind]["failures"] += len(made.failures)
        for failure in made.failures:
            seen[kind] += 1
            place = failure.rpartition(" (")[2]  # of an exception: the line of code
            if place in shown and ".py:" in place:
                continue
            shown.add(place)
            print(f"FAILED {kind}: {failure}\n  again: {made.again} --cases {args.cases}", flush=True)
    for kind, of_kind in counts.items():
        listed = ", ".join(f"{n:,} {what}" for what, n in sorted(of_kind.items()) if what != "failures")
        line = f"{kind}: {done[kind]:,} rounds, {listed}; {seen[kind]} failures"
        print(line)
        if args.log is not None:
            with args.log.open("a", encoding="utf-8") as log:
                log.write(f"seed {args.seed}, checker {used_checker}, {line}\n")
    return 1 if seen else 0


if __name__ == "__main__":
    sys.exit(main())
