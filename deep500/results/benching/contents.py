"""The tables of a report as plain cells: what is shown, decided once for every renderer."""

from collections.abc import Sequence

from ...measure.interference import Interference
from ...measure.numbers import (
    ControlNumbers,
    EntryComparison,
    EntryNumbers,
    LevelledRatio,
    RatioAtQuantile,
    TimeAtQuantile,
)
from ...measure.sensing.others import BUSY
from ...reports.blocks import Table
from ...reports.tables import (
    NOTHING,
    USUAL_LEVEL,
    Number,
    count,
    measured,
    number,
    percent,
    ratio,
    seconds,
)
from ...reports.text import (
    Code,
    Text,
    VerdictWord,
    clean,
    plain,
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
    level = percent(data.plan.level)
    headers = [
        "entry",
        "levels",
        f"median{during(data)} [{level} interval], n",
        "processes",
        "one value is",
        "start of the run",
        f"by the device's clock [{level}]",
    ]
    rows = []
    for entry in data.entries:
        row = [
            entry_name(data, entry.name),
            _levels(entry),
            absolute(entry),
            str(entry.processes),
            one_value(entry),
            _start(entry),
            _by_device(entry),
        ]
        rows.append(row)
    table = without_empty(Table(headers, rows, "lllrlll"), "levels")
    return without_empty(table, headers[-1])


def _by_device(entry: EntryNumbers) -> Text:
    """The median time of a call by the device's own clock; nothing on the host."""
    if entry.device is None:
        return ""
    device = entry.device
    return measured(device.median, device.low, device.high, entry.n, entry.level)


def during(data: ReportData) -> str:
    """For how long an absolute time holds; nothing where it was not recorded."""
    measured_s = data.derived.measured_s
    if measured_s is None:
        return ""
    return f" over these {measured_s:.2g} s"


def quantiles(data: ReportData) -> Table:
    """Further quantiles with their intervals, or the word refused."""
    levels = _quantile_levels([entry.quantiles for entry in data.entries])
    rows = []
    for entry in data.entries:
        by_level = {quantile.q: quantile for quantile in entry.quantiles}
        cells = [_quantile(by_level.get(q), entry) for q in levels]
        name = entry_name(data, entry.name)
        rows.append([name, one_value(entry, plural=True), *cells])
    names = map(quantile_name, levels)
    return Table(["entry", "quantiles of", *names], rows if levels else [])


def comparisons(data: ReportData) -> list[tuple[Text, Table]]:
    """Per base a line with its absolute value, and a table of verdicts, ratios and the others' absolute values."""
    by_base: dict[str, list[EntryComparison]] = {}
    for comparison in data.comparisons:
        by_base.setdefault(comparison.base, []).append(comparison)
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
        shift = comparison.shift
        probability = comparison.probability
        if shift is None:
            continue
        row = [
            between(data, comparison),
            f"{number(shift)} ×",
            f"{percent(probability, 3)} of pairs",
            count(comparison.n),
        ]
        rows.append(row)
    return Table(headers, rows)


def ratios(data: ReportData) -> Table:
    """The ratio of each comparison, quantile by quantile; n stands once in each row."""
    levels = _quantile_levels([row.quantiles for row in data.comparisons])
    rows = []
    for comparison in data.comparisons:
        cells: dict[float, Text] = dict.fromkeys(levels, NOTHING)
        for quantile in comparison.quantiles:
            at_level = ratio(
                quantile.ratio,
                quantile.low,
                quantile.high,
                None,
                comparison.level,
            )
            cells[quantile.q] = Number(at_level.value, at_level.interval)
        name = between(data, comparison)
        rows.append([name, *cells.values(), count(comparison.n)])
    names = map(quantile_name, levels)
    return Table(["ratio of costs", *names, "n"], rows if levels else [])


def _introduction(data: ReportData, base: str, rows: Sequence[EntryComparison]) -> Text:
    """What the base takes, and up to which margin a ratio counts as the same."""
    margins = dict.fromkeys(percent(row.margin) for row in rows)
    return [
        "Compared with ",
        entry_name(data, base),
        ", which takes ",
        absolute(data.entry(base)),
        f". Ratios are cost / cost of the base; up to {', '.join(margins)} counts as the same.",
    ]


def _verdicts(data: ReportData, comparisons: Sequence[EntryComparison]) -> Table:
    rows = []
    for comparison in comparisons:
        other = comparison.other
        row = [
            entry_name(data, other),
            VerdictWord(comparison.verdict),
            ratio_of(comparison),
            absolute(data.entry(other)),
        ]
        rows.append(row)
    return Table(["entry", "verdict", "ratio [interval], n", "takes"], rows)


def measured_things(data: ReportData) -> Table:
    """What each name stands for."""
    rows = []
    for entry in data.plan.entries:
        setup: Text = NOTHING
        if entry.setup:
            setup = Code(clean(entry.setup))
        row = [
            entry_name(data, entry.name),
            clean(entry.kind),
            Code(clean(entry.text)),
            setup,
        ]
        rows.append(row)
    table = Table(["entry", "kind", "what runs", "setup"], rows, "lltt")
    return without_empty(table, "setup")


def absolute(entry: EntryNumbers) -> Text:
    """What a candidate costs: the median with its interval, and beside it the modes, if it has several."""
    median = measured(
        entry.median,
        entry.low,
        entry.high,
        entry.n,
        entry.level,
    )
    if not entry.modes:
        return median
    places = []
    for mode in entry.modes:
        time = seconds(mode.at)
        share = percent(mode.share, 2)
        places.append(f"{time} ({share})")
    listing = " and ".join(places)
    return [median, f"; {len(entry.modes)} modes: {listing}"]


def rounded(share: float) -> str:
    """A share in whole per cent: 0.894 is 89 %."""
    return f"{100 * share:.0f} %"


def is_busy(interference: Interference) -> bool:
    """Whether others used enough of the machine to be mentioned."""
    return interference.others >= BUSY


def ratio_of(row: EntryComparison | ControlNumbers) -> Number:
    """The ratio of a comparison, or of the control."""
    level = row.level if isinstance(row, EntryComparison) else USUAL_LEVEL
    return ratio(row.ratio, row.low, row.high, row.n, level)


def ratio_figures(comparison: EntryComparison) -> list[tuple[Text, Text]]:
    """The ratio under its name, and the ratios of medians and means beside it; older results have one ratio only."""
    meaning = comparison.meaning
    if meaning is None:
        return [("ratio", ratio_of(comparison))]
    of_medians = f"of medians {number(meaning.of_medians.ratio)} ×"
    of_means = f"of means {number(meaning.of_means.ratio)} ×"
    return [
        (clean(meaning.estimand), ratio_of(comparison)),
        ("ratio", f"{of_medians}, {of_means}"),
    ]


def estimands(data: ReportData) -> Table:
    """The ratio of each comparison by its three meanings, with their intervals."""
    rows = []
    for comparison in data.comparisons:
        meaning = comparison.meaning
        if meaning is None:
            continue
        row = [
            between(data, comparison),
            clean(meaning.estimand),
            ratio_of(comparison),
            _levelled(meaning.of_medians),
            _levelled(meaning.of_means),
        ]
        rows.append(row)
    headers = ["compared", "ratio", "its value", "of medians", "of means"]
    return Table(headers, rows)


def _levelled(estimate: LevelledRatio) -> Number:
    return ratio(estimate.ratio, estimate.low, estimate.high, None, estimate.level)


def entry_name(data: ReportData, name: str) -> Text:
    """The full name, with the number that pictures use when they have to shorten names."""
    if name in data.positions and data.is_numbered:
        return [f"{data.positions[name] + 1}. ", Code(clean(name))]
    return Code(clean(name))


def between(data: ReportData, comparison: EntryComparison) -> Text:
    """The names of what is compared."""
    other = entry_name(data, comparison.other)
    base = entry_name(data, comparison.base)
    return [other, " against ", base]


def one_value(entry: EntryNumbers, plural: bool = False) -> str:
    """What a single sample is: the time of a call, or of several calls timed together."""
    is_mean = entry.batch > 1
    if is_mean and plural:
        return f"means of {entry.batch} calls"
    if is_mean:
        return f"mean of {entry.batch} calls"
    if plural:
        return "single calls"
    return "one call"


def quantile_name(q: float) -> str:
    """0.99 is p99."""
    return f"p{100 * q:.6g}"


def _quantile_levels(
    rows: Sequence[Sequence[TimeAtQuantile] | Sequence[RatioAtQuantile]],
) -> list[float]:
    """The levels of all quantiles of entries or comparisons, in order."""
    levels: set[float] = set()
    for quantiles in rows:
        levels.update(quantile.q for quantile in quantiles)
    return sorted(levels)


def _quantile(quantile: TimeAtQuantile | None, entry: EntryNumbers) -> Text:
    if quantile is None:
        return NOTHING
    return measured(
        quantile.value,
        quantile.low,
        quantile.high,
        entry.n,
        entry.level,
    )


def _levels(entry: EntryNumbers) -> str:
    """The levels of the factors that were varied."""
    levels = []
    for factor, level in entry.levels.items():
        levels.append(f"{clean(factor)} = {plain(level)}")
    return ", ".join(levels)


def _start(entry: EntryNumbers) -> str:
    """How the run began, and how much of it was cut as warm-up."""
    text = WARMUP.get(entry.warmup.kind, NOTHING)
    if entry.warmup.cut:
        text += f", {entry.warmup.cut} rounds cut"
    return text


def without_empty(table: Table, header: str) -> Table:
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
