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
from .data import Comparison, Entry, ReportData

# keys of a comparison: what else may be meant by its ratio
OTHER_ESTIMANDS = ("of_medians", "of_means")
WARMUP = {
    "flat": "flat",
    "warmup": "warm-up",
    "slowdown": "slows down",
    "none": "never steady",
}


def entries(data: ReportData) -> Table:
    """One row per candidate: the median with interval and n, with the modes beside it where there are several."""
    level = percent(data.plan.get("level", 0.95))
    headers = [
        "entry",
        "levels",
        f"median{during(data)} [{level} interval], n",
        "processes",
        "one value is",
        "start of the run",
    ]
    rows = []
    for entry in data.entries:
        row = [
            entry_name(data, entry["name"]),
            _levels(entry),
            absolute(entry),
            str(entry.get("processes", NOTHING)),
            one_value(entry),
            _start(entry),
        ]
        rows.append(row)
    return _without_empty(Table(headers, rows, "lllrll"), "levels")


def during(data: ReportData) -> str:
    """For how long an absolute time holds; nothing where it was not recorded."""
    measured_s = data.derived.get("measured_s")
    if not is_number(measured_s):
        return ""
    return f" over these {measured_s:.2g} s"


def quantiles(data: ReportData) -> Table:
    """Further quantiles with their intervals, or the word refused."""
    levels = _quantile_levels(data.entries)
    rows = []
    for entry in data.entries:
        by_level = {quantile["q"]: quantile for quantile in _quantiles(entry)}
        cells = [_quantile(by_level.get(q), entry) for q in levels]
        name = entry_name(data, entry["name"])
        rows.append([name, one_value(entry, plural=True), *cells])
    names = map(quantile_name, levels)
    return Table(["entry", "quantiles of", *names], rows if levels else [])


def comparisons(data: ReportData) -> list[tuple[Text, Table]]:
    """Per base a line with its absolute value, and a table of verdicts, ratios and the others' absolute values."""
    by_base: dict[str, list[Comparison]] = {}
    for comparison in data.comparisons:
        by_base.setdefault(comparison["base"], []).append(comparison)
    parts = []
    for base, rows in by_base.items():
        introduction = _introduction(data, base, rows)
        parts.append((introduction, _verdicts(data, rows)))
    return parts


def effects(data: ReportData) -> Table:
    """How large each difference is for single values; point estimates, as the headers say."""
    headers = [
        "effect size (point estimates)",
        "shift (Hodges-Lehmann)",
        "base is cheaper in",
        "n",
    ]
    rows = []
    for comparison in data.comparisons:
        shift = comparison.get("shift")
        probability = comparison.get("probability")
        if not is_number(shift) or not is_number(probability):
            continue
        row = [
            between(data, comparison),
            f"{number(shift)} ×",
            f"{percent(probability, 3)} of pairs",
            count(comparison.get("n")),
        ]
        rows.append(row)
    return Table(headers, rows)


def ratios(data: ReportData) -> Table:
    """The ratio of each comparison, quantile by quantile; n stands once in each row."""
    levels = _quantile_levels(data.comparisons)
    rows = []
    for comparison in data.comparisons:
        cells: dict[float, Text] = dict.fromkeys(levels, NOTHING)
        for quantile in _quantiles(comparison):
            with_level = {"level": comparison.get("level")} | dict(quantile)
            ratio_with_n = ratio_of(with_level)
            cells[quantile["q"]] = Number(
                ratio_with_n.value, ratio_with_n.interval
            )
        name = between(data, comparison)
        rows.append([name, *cells.values(), count(comparison.get("n"))])
    names = map(quantile_name, levels)
    return Table(["ratio of costs", *names, "n"], rows if levels else [])


def _introduction(
    data: ReportData, base: str, rows: Sequence[Comparison]
) -> Text:
    """What the base takes, and up to which margin a ratio counts as the same."""
    margins = dict.fromkeys(percent(row.get("margin")) for row in rows)
    return [
        "Compared with ",
        entry_name(data, base),
        ", which takes ",
        absolute(data.entry(base)),
        f". Ratios are cost / cost of the base; up to {', '.join(margins)} counts as the same.",
    ]


def _verdicts(data: ReportData, comparisons: Sequence[Comparison]) -> Table:
    rows = []
    for comparison in comparisons:
        other = comparison["other"]
        row = [
            entry_name(data, other),
            verdict_of(comparison.get("verdict")),
            ratio_of(comparison),
            absolute(data.entry(other)),
        ]
        rows.append(row)
    return Table(["entry", "verdict", "ratio [interval], n", "takes"], rows)


def measured_things(data: ReportData) -> Table:
    """What each name stands for."""
    rows = []
    for entry in data.plan.get("entries") or []:
        if not isinstance(entry, Mapping):
            continue
        setup: Text = NOTHING
        if entry.get("setup"):
            setup = Code(clean(entry["setup"]))
        row = [
            entry_name(data, str(entry.get("name"))),
            plain(entry.get("kind", NOTHING)),
            Code(clean(entry.get("text", NOTHING))),
            setup,
        ]
        rows.append(row)
    table = Table(["entry", "kind", "what runs", "setup"], rows, "lltt")
    return _without_empty(table, "setup")


def absolute(entry: Entry) -> Text:
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
    places = []
    for mode in modes:
        time = seconds(mode.get("at"))
        share = percent(mode.get("share"), 2)
        places.append(f"{time} ({share})")
    listing = " and ".join(places)
    return [median, f"; {len(modes)} modes: {listing}"]


def rounded(share: float) -> str:
    """A share in whole per cent: 0.894 is 89 %."""
    return f"{100 * share:.0f} %"


def is_busy(interference: Mapping[str, Any]) -> bool:
    """Whether others used enough of the machine to be mentioned."""
    others = interference.get("others")
    return is_number(others) and others >= BUSY


def ratio_of(row: Mapping[str, Any]) -> Number:
    """The ratio of a comparison, of one of its quantiles or of the control."""
    return ratio(
        row.get("ratio"),
        row.get("low"),
        row.get("high"),
        row.get("n"),
        row.get("level", 0.95),
    )


def ratio_figures(comparison: Comparison) -> list[tuple[Text, Text]]:
    """The ratio under its name, and the ratios of medians and means beside it; older results have one ratio only."""
    label = plain(comparison.get("estimand") or "ratio")
    figures: list[tuple[Text, Text]] = [(label, ratio_of(comparison))]
    others = []
    for key in OTHER_ESTIMANDS:
        estimate = comparison.get(key)
        if isinstance(estimate, Mapping) and is_number(estimate.get("ratio")):
            name = key.replace("_", " ")
            others.append(f"{name} {number(estimate['ratio'])} ×")
    if others:
        figures.append(("ratio", ", ".join(others)))
    return figures


def estimands(data: ReportData) -> Table:
    """The ratio of each comparison by its three meanings, with their intervals."""
    rows = []
    for comparison in data.comparisons:
        cells = []
        for key in OTHER_ESTIMANDS:
            estimate = comparison.get(key)
            if isinstance(estimate, Mapping):
                cells.append(ratio_of(estimate))
        if len(cells) < len(OTHER_ESTIMANDS):
            continue
        name = between(data, comparison)
        what = plain(comparison.get("estimand"))
        rows.append([name, what, ratio_of(comparison), *cells])
    headers = ["compared", "ratio", "its value", "of medians", "of means"]
    return Table(headers, rows)


def entry_name(data: ReportData, name: str) -> Text:
    """The full name, with the number that pictures use when they have to shorten names."""
    if name in data.positions and data.is_numbered:
        return [f"{data.positions[name] + 1}. ", Code(clean(name))]
    return Code(clean(name))


def between(data: ReportData, comparison: Comparison) -> Text:
    """The names of what is compared."""
    other = entry_name(data, comparison["other"])
    base = entry_name(data, comparison["base"])
    return [other, " against ", base]


def one_value(entry: Entry, plural: bool = False) -> str:
    """What a single sample is: the time of a call, or of several calls timed together."""
    batch = entry.get("batch", 1)
    is_mean = is_number(batch) and batch > 1
    if is_mean and plural:
        return f"means of {batch} calls"
    if is_mean:
        return f"mean of {batch} calls"
    if plural:
        return "single calls"
    return "one call"


def quantile_name(q: float) -> str:
    """0.99 is p99."""
    return f"p{100 * q:.6g}"


def _quantile_levels(rows: Sequence[Mapping[str, Any]]) -> list[float]:
    """The levels of all quantiles of these entries or comparisons, in order."""
    levels = set()
    for row in rows:
        for quantile in _quantiles(row):
            levels.add(quantile["q"])
    return sorted(levels)


def _quantiles(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The quantiles of an entry or a comparison that have a level."""
    usable = []
    for quantile in row.get("quantiles") or []:
        if isinstance(quantile, Mapping) and is_number(quantile.get("q")):
            usable.append(quantile)
    return usable


def _quantile(quantile: Mapping[str, Any] | None, entry: Entry) -> Text:
    if quantile is None:
        return NOTHING
    return measured(
        quantile.get("value"),
        quantile.get("low"),
        quantile.get("high"),
        entry.get("n"),
        entry.get("level"),
    )


def _levels(entry: Entry) -> str:
    """The levels of the factors that were varied."""
    levels = []
    for factor, level in dict(entry.get("levels") or {}).items():
        levels.append(f"{clean(factor)} = {plain(level)}")
    return ", ".join(levels)


def _start(entry: Entry) -> str:
    """How the run began, and how much of it was cut as warm-up."""
    warmup = entry.get("warmup") or {}
    text = WARMUP.get(str(warmup.get("kind")), NOTHING)
    cut = warmup.get("cut")
    if is_number(cut) and cut:
        text += f", {cut} rounds cut"
    return text


def _without_empty(table: Table, header: str) -> Table:
    """The table without the column of that header if all its cells are empty."""
    column = list(table.headers).index(header)
    if any(row[column] not in ("", NOTHING) for row in table.rows):
        return table
    after = column + 1
    headers = [*table.headers[:column], *table.headers[after:]]
    rows = []
    for row in table.rows:
        rows.append([*row[:column], *row[after:]])
    align = table.align[:column] + table.align[after:]
    return Table(headers, rows, align)
