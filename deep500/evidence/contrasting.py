"""Two bundles side by side: every entry they share, and what differs between their environments."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ..bundle import read
from ..errors import Deep500Error, TooFewSamples
from ..measure.machine import Difference, Environment, environment_difference
from ..measure.results import Result
from ..measure.statistics.comparison import Comparison
from ..measure.statistics.groups import compare_family
from ..measure.statistics.intervals import ONE_PROCESS


@dataclass(frozen=True)
class Contrast:
    """B against A; the two ran at different times, so the environments belong to the answer."""

    a: str
    b: str
    comparisons: dict[str, Comparison | TooFewSamples]
    only_in_a: tuple[str, ...]
    only_in_b: tuple[str, ...]
    differences: tuple[Difference, ...]
    plan_differences: tuple[str, ...] = ()

    @property
    def slower(self) -> list[str]:
        return [
            name
            for name, c in self.comparisons.items()
            if isinstance(c, Comparison) and c.verdict == "slower"
        ]

    def to_json(self) -> dict:
        return {
            "a": self.a,
            "b": self.b,
            "only_in_a": list(self.only_in_a),
            "only_in_b": list(self.only_in_b),
            "comparisons": [{"name": name} | _json(c) for name, c in self.comparisons.items()],
            "plan": list(self.plan_differences),
            "environment": [asdict(d) for d in self.differences],
        }


def contrast(a: Path, b: Path, margin: float = 0.02, level: float = 0.95) -> Contrast:
    """Compare the entries of the same name, as one family; two bundles of one entry each need not agree on its name."""
    first, second = Result.load(a), Result.load(b)
    if len(first.names) == len(second.names) == 1:
        pairs = [(first.names[0], second.names[0])]
    else:
        pairs = [(name, name) for name in first.names if name in second.names]
    if not pairs:
        raise Deep500Error(
            f"nothing to compare: {a} has {', '.join(first.names)}; {b} has {', '.join(second.names)}"
        )
    found = [
        _judged(c, first, second)
        for c in compare_family(
            [(first.samples(x), second.samples(y)) for x, y in pairs], margin, level
        )
    ]
    names = [x if x == y else f"{x} → {y}" for x, y in pairs]
    before, after = (
        Environment.from_json(read(path).documents.get("environment.json")) for path in (a, b)
    )
    return Contrast(
        str(a),
        str(b),
        dict(zip(names, found, strict=True)),
        tuple(n for n in first.names if n not in {x for x, _ in pairs}),
        tuple(n for n in second.names if n not in {y for _, y in pairs}),
        tuple(environment_difference(before, after)),
        _plan_differences(first, second),
    )


def _judged(c: Comparison | TooFewSamples, *results: Result) -> Comparison | TooFewSamples:
    """No verdict from one process on a side: how far processes (and moments) lie apart is then unknown."""
    alone = any(len(r.processes) == 1 and not r.each_call_is_a_process for r in results)
    if isinstance(c, TooFewSamples) or not alone:
        return c
    return replace(c, verdict="inconclusive", notes=(*c.notes, f"no verdict: {ONE_PROCESS}"))


def _plan_differences(first: Result, second: Result) -> tuple[str, ...]:
    """In what the two runs were told to do differ, apart from seed and budget."""
    said = [
        f"{key}: {first.plan.get(key)} against {second.plan.get(key)}"
        for key in ("cache", "synchronised", "factors")
        if first.plan.get(key) != second.plan.get(key)
    ]
    for a in first.plan["entries"]:
        for b in second.plan["entries"]:
            said += [
                f"{key} of {a['name']}: {a[key]!r} against {b[key]!r}"
                for key in ("kind", "text", "setup")
                if a["name"] == b["name"] and a[key] != b[key]
            ]
        if a["name"] in second.names and first.batch(a["name"]) != second.batch(a["name"]):
            calls = [r.batch(a["name"]) for r in (first, second)]
            said.append(f"calls of {a['name']} timed together: {calls[0]} against {calls[1]}")
    return tuple(said)


def _json(c: Comparison | TooFewSamples) -> dict:
    return (
        {"verdict": "inconclusive", "refused": str(c)}
        if isinstance(c, TooFewSamples)
        else asdict(c)
    )
