"""The tables of a report as plain cells: what is shown, decided once for every renderer."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...measure.sensing.others import BUSY
from ...reports.blocks import Table
from ...reports.tables import (
    NOTHING,
    Number,
    count,
    is_number,
    measured,
    number,
    percent,
    ratio,
    seconds,
)
from ...reports.text import (
    Code,
    Text,
    clean,
    plain,
    verdict_of,
)
from .data import ReportData

WARMUP = {
    "flat": "flat",
    "warmup": "warm-up",
    "slowdown": "slows down",
    "none": "never steady",
}


def entries(data: ReportData) -> Table:
    """One row per candidate: the median with interval and n, with the modes beside it where there are several."""
    headers = [
        "entry",
        "levels",
        f"median [{percent(data.plan.get('level', 0.95))} interval], n",
        "processes",
        "one value is",
        "start of the run",
    ]
    rows = [
        [
            entry_name(data, e["name"]),
            _levels(e),
            absolute(e),
            str(e.get("processes", NOTHING)),
            one_value(e),
            _start(e),
        ]
        for e in data.entries
    ]
    return _without_empty(Table(headers, rows, "lllrll"), "levels")


def quantiles(data: ReportData) -> Table:
    """Further quantiles with their intervals, or the word refused."""
    found = sorted({q["q"] for e in data.entries for q in _quantiles(e)})
    rows = []
    for e in data.entries:
        by_q = {q["q"]: q for q in _quantiles(e)}
        cells = [_quantile(by_q.get(q), e) for q in found]
        rows.append([entry_name(data, e["name"]), one_value(e, plural=True), *cells])
    return Table(
        ["entry", "quantiles of", *map(quantile_name, found)], rows if found else []
    )


def comparisons(data: ReportData) -> list[tuple[Text, Table]]:
    """Per base a line with its absolute value, and a table of verdicts, ratios and the others' absolute values."""
    return [
        (_base(data, base), _against(data, base))
        for base in dict.fromkeys(c["base"] for c in data.comparisons)
    ]


def effects(data: ReportData) -> Table:
    """How large each difference is for single values; point estimates, as the headers say."""
    headers = [
        "effect size (point estimates)",
        "shift (Hodges-Lehmann)",
        "base is cheaper in",
        "n",
    ]
    rows = [
        [
            between(data, c),
            f"{number(c['shift'])} ×",
            f"{percent(c['probability'], 3)} of pairs",
            count(c.get("n")),
        ]
        for c in data.comparisons
        if is_number(c.get("shift")) and is_number(c.get("probability"))
    ]
    return Table(headers, rows)


def ratios(data: ReportData) -> Table:
    """The ratio of each comparison, quantile by quantile; n stands once in each row."""
    found = sorted({q["q"] for c in data.comparisons for q in _quantiles(c)})
    rows: list[list[Text]] = []
    for c in data.comparisons:
        by_q = {
            q["q"]: ratio_of({"level": c.get("level")} | dict(q)) for q in _quantiles(c)
        }
        cells = [
            Number(by_q[q].value, by_q[q].interval) if q in by_q else NOTHING
            for q in found
        ]
        rows.append([between(data, c), *cells, count(c.get("n"))])
    return Table(
        ["ratio of costs", *map(quantile_name, found), "n"], rows if found else []
    )


def _base(data: ReportData, base: str) -> Text:
    mine = [c for c in data.comparisons if c["base"] == base]
    margins = ", ".join(dict.fromkeys(percent(c.get("margin")) for c in mine))
    return [
        "Compared with ",
        entry_name(data, base),
        ", which takes ",
        absolute(data.entry(base)),
        f". Ratios are cost / cost of the base; up to {margins} counts as the same.",
    ]


def _against(data: ReportData, base: str) -> Table:
    return Table(
        ["entry", "verdict", "ratio [interval], n", "takes"],
        [
            [
                entry_name(data, c["other"]),
                verdict_of(c.get("verdict")),
                ratio_of(c),
                absolute(data.entry(c["other"])),
            ]
            for c in data.comparisons
            if c["base"] == base
        ],
    )


def measured_things(data: ReportData) -> Table:
    """What each name stands for."""
    rows = [
        [
            entry_name(data, str(e.get("name"))),
            plain(e.get("kind", NOTHING)),
            Code(clean(e.get("text", NOTHING))),
            Code(clean(e["setup"])) if e.get("setup") else NOTHING,
        ]
        for e in data.plan.get("entries") or []
        if isinstance(e, Mapping)
    ]
    return _without_empty(
        Table(["entry", "kind", "what runs", "setup"], rows, "lltt"), "setup"
    )


def absolute(entry: Mapping[str, Any]) -> Text:
    """What a candidate costs: the median with its interval, and beside it the modes, if it has several."""
    median = measured(
        entry.get("median"),
        entry.get("low"),
        entry.get("high"),
        entry.get("n"),
        entry.get("level"),
    )
    modes = entry.get("modes")
    if not isinstance(modes, list) or not modes:
        return median
    places = [f"{seconds(m.get('at'))} ({percent(m.get('share'), 2)})" for m in modes]
    return [median, f"; {len(modes)} modes: {' and '.join(places)}"]


def rounded(share: float) -> str:
    """A share in whole per cent: 0.894 is 89 %."""
    return f"{100 * share:.0f} %"


def is_busy(interference: Mapping[str, Any]) -> bool:
    """Whether others used enough of the machine to be mentioned."""
    others = interference.get("others")
    return is_number(others) and others >= BUSY


def ratio_of(row: Mapping[str, Any]) -> Number:
    return ratio(
        row.get("ratio"),
        row.get("low"),
        row.get("high"),
        row.get("n"),
        row.get("level", 0.95),
    )


def entry_name(data: ReportData, name: str) -> Text:
    """The full name, with the number that pictures use when they have to shorten names."""
    if name in data.positions and data.is_numbered:
        return [f"{data.positions[name] + 1}. ", Code(clean(name))]
    return Code(clean(name))


def between(data: ReportData, c: Mapping[str, Any]) -> Text:
    return [entry_name(data, c["other"]), " against ", entry_name(data, c["base"])]


def one_value(entry: Mapping[str, Any], plural: bool = False) -> str:
    """What a single sample is: the time of a call, or of several calls timed together."""
    batch = entry.get("batch", 1)
    if is_number(batch) and batch > 1:
        return f"mean{'s' * plural} of {batch} calls"
    return "single calls" if plural else "one call"


def quantile_name(q: float) -> str:
    """0.99 is p99."""
    return f"p{100 * q:.6g}"


def _quantiles(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [
        q
        for q in row.get("quantiles") or []
        if isinstance(q, Mapping) and is_number(q.get("q"))
    ]


def _quantile(row: Mapping[str, Any] | None, entry: Mapping[str, Any]) -> Text:
    if row is None:
        return NOTHING
    return measured(
        row.get("value"),
        row.get("low"),
        row.get("high"),
        entry.get("n"),
        entry.get("level"),
    )


def _levels(entry: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{clean(k)} = {plain(v)}" for k, v in dict(entry.get("levels") or {}).items()
    )


def _start(entry: Mapping[str, Any]) -> str:
    state = entry.get("warmup") or {}
    cut = state.get("cut")
    return WARMUP.get(str(state.get("kind")), NOTHING) + (
        f", {cut} rounds cut" if is_number(cut) and cut else ""
    )


def _without_empty(table: Table, header: str) -> Table:
    """The table without a column that says nothing."""
    i = list(table.headers).index(header)
    if any(row[i] not in ("", NOTHING) for row in table.rows):
        return table

    def rest(row: Sequence[Text]) -> list[Text]:
        return [*row[:i], *row[i + 1 :]]

    return Table(
        [*table.headers[:i], *table.headers[i + 1 :]],
        [rest(r) for r in table.rows],
        table.align[:i] + table.align[i + 1 :],
    )
