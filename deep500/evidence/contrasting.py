"""Two bundles side by side: every entry they share, and what differs between their environments."""

from dataclasses import asdict, dataclass
from pathlib import Path

from ..bundle import read
from ..errors import Deep500Error, TooFewSamples
from ..measure.comparison import Comparison
from ..measure.groups import compare_family
from ..measure.machine import Difference, Environment, environment_difference
from ..measure.results import Result


@dataclass(frozen=True)
class Contrast:
    """B against A; the two ran at different times, so the environments belong to the answer."""

    a: str
    b: str
    comparisons: dict[str, Comparison | TooFewSamples]
    only_in_a: tuple[str, ...]
    only_in_b: tuple[str, ...]
    differences: tuple[Difference, ...]

    @property
    def slower(self) -> list[str]:
        return [name for name, c in self.comparisons.items() if isinstance(c, Comparison) and c.verdict == "slower"]

    def to_json(self) -> dict:
        return {"a": self.a, "b": self.b, "only_in_a": list(self.only_in_a), "only_in_b": list(self.only_in_b),
                "comparisons": [{"name": name} | _json(c) for name, c in self.comparisons.items()],
                "environment": [asdict(d) for d in self.differences]}


def contrast(a: Path, b: Path, margin: float = 0.02, level: float = 0.95) -> Contrast:
    """Compare the entries of the same name, as one family; two bundles of one entry each need not agree on its name."""
    first, second = Result.load(a), Result.load(b)
    if len(first.names) == len(second.names) == 1:
        pairs = [(first.names[0], second.names[0])]
    else:
        pairs = [(name, name) for name in first.names if name in second.names]
    if not pairs:
        raise Deep500Error(f"nothing to compare: {a} has {', '.join(first.names)}; {b} has {', '.join(second.names)}")
    found = compare_family([(first.samples(x), second.samples(y)) for x, y in pairs], margin, level)
    names = [x if x == y else f"{x} → {y}" for x, y in pairs]
    before, after = (Environment.from_json(read(path).documents.get("environment.json")) for path in (a, b))
    return Contrast(str(a), str(b), dict(zip(names, found, strict=True)),
                    tuple(n for n in first.names if n not in {x for x, _ in pairs}),
                    tuple(n for n in second.names if n not in {y for _, y in pairs}),
                    tuple(environment_difference(before, after)))


def _json(c: Comparison | TooFewSamples) -> dict:
    return {"verdict": "inconclusive", "refused": str(c)} if isinstance(c, TooFewSamples) else asdict(c)
