"""What a region costs: `with region("name"): pass`, made anew and kept, against an empty with-block.

    python benchmarks/regions.py [ROUNDS]

Every round times each way once, in random order, as a batch of calls; the numbers are medians over the rounds.
"""

import random
import sys
import timeit

from deep500.measure import interval, region

CALLS = 5_000
LIMIT_NS = 1_000


class Empty:
    """A with-block in Python that does nothing: what any region must cost at least."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        pass


WAYS = {
    "empty with-block": "with empty: pass",
    "with region('x')": "with region('x'): pass",
    "with kept region": "with kept: pass",
    "nested, per region": "with region('x'):\n with region('y'): pass",
    "decorated, per call": "decorated()",
    "plain function, per call": "plain()",
}


def plain() -> None:
    pass


def measure(rounds: int) -> dict[str, list[float]]:
    """Nanoseconds per with-block (or call) of every way, one value per round."""
    names = {
        "empty": Empty(),
        "region": region,
        "kept": region("x"),
        "plain": plain,
        "decorated": region("f")(plain),
    }
    timers = {
        way: timeit.Timer(statement, globals=names) for way, statement in WAYS.items()
    }
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way in random.sample(list(WAYS), len(WAYS)):
            each = 2 if way.startswith("nested") else 1
            found[way].append(timers[way].timeit(CALLS // each) / CALLS * 1e9)
    return found


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    found = measure(rounds)
    beyond = [
        a - b
        for a, b in zip(
            found["with region('x')"], found["empty with-block"], strict=True
        )
    ]
    found["region beyond the empty with-block"] = beyond
    print(
        f"nanoseconds, medians of n = {rounds} rounds of {CALLS} calls, 95 % intervals"
    )
    for way, values in found.items():
        it = interval(values)
        print(
            f"{way:36} {it.estimate:7.0f}  [{it.low:.0f}, {it.high:.0f}]   best {min(values):.0f}"
        )
    cost = interval(found["with region('x')"])
    print(
        f"limit {LIMIT_NS} ns: {'kept' if cost.high < LIMIT_NS else 'NOT kept, or not known at this noise'}"
    )


if __name__ == "__main__":
    main()
