"""Two measurements side by side: every entry they share, B against A."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from ...contracts.result import Contrast
from ...errors import Deep500Error, TooFewSamples
from ...measure.interference import Exposure, judged
from ...measure.results import Result
from ...measure.statistics.comparison import Comparison
from ...measure.statistics.groups import compare_family
from ...measure.statistics.intervals import ONE_PROCESS, Interval
from ...reports.blocks import Block, Bullets, Sentence, Table
from ...reports.tables import NOTHING, measured, ratio
from ...reports.text import Text, Verdict, clean

Answer = Comparison | TooFewSamples
DRIFT = (
    "A and B ran at different times: a machine that drifts shows up as a difference. "
    "For a sharper answer measure both in one `d5 bench`."
)


def contrast(a: Result, b: Result, margin: float, level: float) -> Contrast:
    """Compare the entries of the same name, as one family; two bundles of one entry each need not agree on its name."""
    pairs = _pairs(a, b)
    samples = [(a.samples(x), b.samples(y)) for x, y in pairs]
    family = compare_family(samples, margin, level)
    names = [x if x == y else f"{x} → {y}" for x, y in pairs]
    answers: dict[str, Answer] = {}
    for name, pair, c in zip(names, pairs, family, strict=True):
        answers[name] = _beside_others(_judged(c, a, b), (a, b), pair)
    in_a, in_b = {x for x, _ in pairs}, {y for _, y in pairs}
    only_in_a = [name for name in a.names if name not in in_a]
    only_in_b = [name for name in b.names if name not in in_b]
    differences = _plan_differences(a, b)
    data = {
        "only_in_a": only_in_a,
        "only_in_b": only_in_b,
        "comparisons": [{"name": name} | _json(c) for name, c in answers.items()],
        "plan": differences,
    }
    slower = [name for name, c in answers.items() if _verdict(c) == "slower"]
    return Contrast(data, _blocks(answers, only_in_a, only_in_b, differences), slower)


def _pairs(a: Result, b: Result) -> list[tuple[str, str]]:
    if len(a.names) == len(b.names) == 1:
        return [(a.names[0], b.names[0])]
    pairs = [(name, name) for name in a.names if name in b.names]
    if not pairs:
        raise Deep500Error(
            f"nothing to compare: A has {', '.join(a.names)}; B has {', '.join(b.names)}"
        )
    return pairs


def _judged(c: Answer, *results: Result) -> Answer:
    """No verdict from one process on a side: how far processes (and moments) lie apart is then unknown."""
    alone = any(len(r.processes) == 1 and not r.each_call_is_a_process for r in results)
    if isinstance(c, TooFewSamples) or not alone:
        return c
    return replace(
        c, verdict="inconclusive", notes=(*c.notes, f"no verdict: {ONE_PROCESS}")
    )


def _beside_others(
    c: Answer, results: tuple[Result, Result], names: tuple[str, str]
) -> Answer:
    """No verdict that others on the machine could explain, who used it during one of the runs."""
    for side, (result, name) in enumerate(zip(results, names, strict=True)):
        if isinstance(c, TooFewSamples) or result.interference is None:
            continue
        own = replace(result.exposure(name), name=f"{name} ({'AB'[side]})")
        other = Exposure(names[1 - side], 1, False, 1.0)
        base, compared = (own, other) if side == 0 else (other, own)
        c = judged(c, result.interference, base, compared, "use fewer threads")
    return c


def _plan_differences(a: Result, b: Result) -> list[str]:
    """In what the two runs were told to do differ, apart from seed and budget."""
    said = []
    for key in ("cache", "synchronised", "factors"):
        if a.plan.get(key) != b.plan.get(key):
            said.append(f"{key}: {a.plan.get(key)} against {b.plan.get(key)}")
    of_b = {entry["name"]: entry for entry in b.plan["entries"]}
    for entry in a.plan["entries"]:
        name = entry["name"]
        if name in of_b:
            said += _entry_differences(entry, of_b[name], a.batch(name), b.batch(name))
    return said


def _entry_differences(
    a: Mapping[str, Any], b: Mapping[str, Any], calls_a: int, calls_b: int
) -> list[str]:
    said = []
    for key in ("kind", "text", "setup"):
        if a.get(key) != b.get(key):
            said.append(f"{key} of {a['name']}: {a.get(key)!r} against {b.get(key)!r}")
    if calls_a != calls_b:
        said.append(f"calls of {a['name']} timed together: {calls_a} against {calls_b}")
    return said


def _blocks(
    answers: Mapping[str, Answer],
    only_in_a: list[str],
    only_in_b: list[str],
    plan: list[str],
) -> list[Block]:
    rows = [[clean(name), *_row(c)] for name, c in answers.items()]
    blocks: list[Block] = [Table(["entry", "A", "B", "B / A", "B is"], rows)]
    for side, names in (("A", only_in_a), ("B", only_in_b)):
        if names:
            blocks.append(Sentence(f"only in {side}: {', '.join(map(clean, names))}"))
    notes: set[str] = set()
    for c in answers.values():
        notes |= set(c.notes) if isinstance(c, Comparison) else set()
    lines = [clean(note) for note in sorted(notes)]
    lines += [f"the plans differ in {clean(text)}" for text in plan]
    return [*blocks, Bullets(lines), Sentence(DRIFT)]


def _row(c: Answer) -> list[Text]:
    if isinstance(c, TooFewSamples):
        return [NOTHING, NOTHING, clean(c), Verdict("inconclusive")]
    return [
        _side(c.a),
        _side(c.b),
        ratio(c.ratio, c.low, c.high, c.n, c.level),
        Verdict(c.verdict),
    ]


def _side(side: Interval | None) -> str:
    return (
        measured(side.estimate, side.low, side.high, side.n, side.level)
        if side
        else NOTHING
    )


def _verdict(c: Answer) -> str:
    return "inconclusive" if isinstance(c, TooFewSamples) else c.verdict


def _json(c: Answer) -> dict[str, Any]:
    if isinstance(c, TooFewSamples):
        return {"verdict": "inconclusive", "refused": str(c)}
    return asdict(c)
