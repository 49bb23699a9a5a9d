"""What `d5 compare` prints."""

from ..errors import TooFewSamples
from ..evidence.contrasting import Contrast
from ..measure.statistics.comparison import Comparison
from ..measure.statistics.intervals import Interval
from .tables import (
    NOTHING,
    measured,
    ratio,
    table,
)
from .text import clean

DIFFERENCES_SHOWN = 12


def contrast_text(found: Contrast) -> str:
    """The comparisons, what only one side has, and the differences of the environments that can matter."""
    rows = [[clean(name), *_row(c)] for name, c in found.comparisons.items()]
    parts = [
        f"A: {clean(found.a)}\nB: {clean(found.b)}\n",
        table(["entry", "A", "B", "B / A", "B is"], rows),
    ]
    parts += [
        f"only in {side}: {', '.join(map(clean, names))}"
        for side, names in (("A", found.only_in_a), ("B", found.only_in_b))
        if names
    ]
    notes = {
        note for c in found.comparisons.values() if isinstance(c, Comparison) for note in c.notes
    }
    parts += [f"- {clean(note)}" for note in sorted(notes)]
    parts += [f"- the plans differ in {clean(text)}" for text in found.plan_differences]
    matter = [d for d in found.differences if d.weight != "context only"]
    if matter:
        parts.append(f"The environments differ in {len(matter)} facts that can matter:\n")
        parts.append(
            table(
                ["fact", "A", "B", "it"],
                [
                    [clean(d.fact), clean(d.left), clean(d.right), d.weight]
                    for d in matter[:DIFFERENCES_SHOWN]
                ],
            )
        )
    else:
        parts.append("The environments differ in nothing that can matter.")
    parts.append(
        "A and B ran at different times: a machine that drifts shows up as a difference. "
        "For a sharper answer measure both in one `d5 bench`."
    )
    return "\n".join(parts)


def _row(c: Comparison | TooFewSamples) -> list[str]:
    if isinstance(c, TooFewSamples):
        return [NOTHING, NOTHING, clean(c), "inconclusive"]
    return [_side(c.a), _side(c.b), ratio(c.ratio, c.low, c.high, c.n, c.level), c.verdict]


def _side(side: Interval | None) -> str:
    return measured(side.estimate, side.low, side.high, side.n, side.level) if side else NOTHING
