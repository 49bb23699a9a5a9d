"""The report of a network benchmark: latency, throughput, memory, comparisons, breakdowns."""

from collections.abc import Mapping, Sequence

from ...measure.numbers import EntryNumbers, TimeAtQuantile
from ...reports.blocks import (
    Block,
    Bullets,
    Details,
    Figures,
    PageOnly,
    Problems,
    Report,
    Section,
    Sentence,
    Table,
)
from ...reports.surroundings import environment_section, raw_data
from ...reports.tables import (
    NOTHING,
    Number,
    count,
    is_number,
    measured,
    number,
    percent,
)
from ...reports.text import Code, Text, clean, plain
from ..benching.cautions import cautions
from ..benching.data import ReportData
from ..benching.measurement_report import comparison_tables, measurement_banner
from ..benching.plan import plan_table
from ..benching.rates import conditions, omissions, work_of
from .breakdowns import (
    BreakdownTime,
    NetworkBreakdown,
    NetworkNumbers,
    NoNetworkBreakdown,
    OperatorMedian,
)
from .pictures import pictures

MOST_OPERATORS = 10  # of a breakdown, in the short form
MIB = 2**20
Work = Mapping[str, object]  # what the plan says of an entry
LEGEND = (
    "native: the framework's own kernels; composed: our formula over its arrays; eager: one operator "
    "after the other; deferred: a graph that the engine interprets; compiled: the network through the "
    "framework's compiler. Ratios between these compare different programs. Memory by "
    "allocator: bytes handed out; by process: by how much the process grew, which tells less."
)

GRAPHS = "graph: what an eager run has launched, captured on the device and replayed."


def network_report(data: ReportData) -> Report:
    notes = Bullets([*remarks(data), *cautions(data)])
    only_on_page = [
        Section("Pictures", [Figures(lambda: pictures(data))]),
        Section("What was varied and how", [plan_table(data)]),
        environment_section(data.environment, data.sensors),
    ]
    blocks = [
        measurement_banner(data),
        Problems(data.problems),
        Section("Latency and throughput", [latencies(data)], quiet=True),
        Section("Memory", [memory(data)], quiet=True),
        Section("Comparisons", comparison_tables(data), quiet=True),
        *_breakdowns(data),
        Section("Notes and warnings", [notes], quiet=True),
        PageOnly(only_on_page),
        raw_data(data.bundle, data.hash),
    ]
    return Report("Deep500 network benchmark", _title(data), blocks)


def breakdowns_of(
    data: ReportData,
) -> Sequence[NetworkBreakdown | NoNetworkBreakdown]:
    if isinstance(data.derived, NetworkNumbers):
        return data.derived.breakdowns
    return ()


def candidate_of(data: ReportData, name: str) -> str:
    work = work_of(data, name)
    return clean(str(work.get("candidate", name)))


def _candidate_cells(data: ReportData, entry: EntryNumbers) -> list[Text]:
    """The candidate, the mode and the batch of an entry."""
    candidate = candidate_of(data, entry.name)
    mode = plain(entry.levels.get("mode"))
    batch = plain(entry.levels.get("batch"))
    return [candidate, mode, batch]


def latencies(data: ReportData) -> Table:
    """One row per entry: percentiles with intervals, and examples per second."""
    headers = [
        "framework (kernels)",
        "mode",
        "batch",
        "p50 [interval], n",
        "p90",
        "p99",
        "per second",
    ]
    rows = []
    for entry in data.entries:
        by_level = {quantile.q: quantile for quantile in entry.quantiles}
        median = measured(entry.median, entry.low, entry.high, entry.n, entry.level)
        row = [
            *_candidate_cells(data, entry),
            median,
            _quantile(by_level.get(0.9), entry),
            _quantile(by_level.get(0.99), entry),
            _throughput(entry, entry.levels.get("batch")),
        ]
        rows.append(row)
    return Table(headers, rows, "llrllll")


def memory(data: ReportData) -> Table:
    """Measured beside predicted, with their ratio."""
    headers = [
        "framework (kernels)",
        "mode",
        "batch",
        "measured",
        "by",
        "predicted",
        "predicted / measured",
    ]
    rows = []
    for entry in data.entries:
        work = work_of(data, entry.name)
        row = [
            *_candidate_cells(data, entry),
            _mib(work.get("measured_memory")),
            plain(work.get("memory_by")),
            _mib(work.get("predicted_memory")),
            _memory_ratio(work),
        ]
        rows.append(row)
    return Table(headers, rows, "llrrlrr")


def _memory_ratio(work: Work) -> str:
    """Predicted over measured memory; only what an allocator reports can be compared."""
    measured_bytes = work.get("measured_memory")
    predicted_bytes = work.get("predicted_memory")
    if work.get("memory_by") != "allocator" or not measured_bytes:
        return NOTHING
    if not is_number(measured_bytes) or not is_number(predicted_bytes):
        return NOTHING
    return number(predicted_bytes / measured_bytes)


def breakdown_table(breakdown: NetworkBreakdown, most: int | None = None) -> Table:
    """The operators from the slowest on, with their share of the sum."""
    headers = [
        "node",
        "operator",
        "kernel",
        "direction",
        "median [interval], n",
        "of the sum",
    ]
    total = breakdown.operators_sum.median
    rows = []
    for operator in breakdown.operators[:most]:
        share = NOTHING
        if total:
            share = percent(operator.median / total, 3)
        row = [
            Code(clean(operator.node)),
            clean(operator.operator),
            clean(operator.kernel),
            clean(operator.direction),
            _time(operator, breakdown),
            share,
        ]
        rows.append(row)
    return Table(headers, rows, "lllllr")


def overhead_sentence(breakdown: NetworkBreakdown) -> Text:
    """The time of the network, of its operators one by one, and what is left, if they do not overlap."""
    directions = {operator.direction for operator in breakdown.operators}
    start = "Without the update it takes " if "backward" in directions else "It takes "
    sentence: list[Text] = [
        start,
        _time(breakdown.network, breakdown),
        "; its operators, each alone, ",
        _time(breakdown.operators_sum, breakdown),
    ]
    if breakdown.overhead.median < 0:
        return [*sentence, ": together they run faster than alone."]
    difference = _time(breakdown.overhead, breakdown)
    return [*sentence, "; the median difference in a round: ", difference, "."]


def remarks(data: ReportData) -> list[Text]:
    """What was left out, what is wrong, what was checked."""
    about = data.plan.about
    lines = omissions(about)
    checked = set()
    for entry in data.entries:
        work = work_of(data, entry.name)
        checked.add(str(work.get("checked")))
    checks = "; ".join(sorted(map(clean, checked)))
    lines.append(
        f"Compared with the reference before and after the timing: {checks}. {conditions(about)}"
    )
    lines.append(LEGEND)
    if any(" graph" in candidate_of(data, entry.name) for entry in data.entries):
        lines.append(GRAPHS)
    return lines


def _title(data: ReportData) -> str:
    return clean(str(data.plan.about.more.get("network", data.title)))


def _breakdowns(data: ReportData) -> list[Block]:
    """One section for each breakdown."""
    sections: list[Block] = []
    for breakdown in breakdowns_of(data):
        title = f"Operators of {clean(breakdown.of)}"
        if isinstance(breakdown, NoNetworkBreakdown):
            reason = clean(breakdown.unsupported)
            refusal = Sentence(f"{title}: not taken apart: {reason}")
            sections.append(Section(title, [refusal], quiet=True))
            continue
        every_operator = breakdown_table(breakdown)
        blocks: list[Block] = [
            Sentence(overhead_sentence(breakdown)),
            breakdown_table(breakdown, MOST_OPERATORS),
            Details("All operators", [every_operator], long=True),
        ]
        sections.append(Section(title, blocks))
    return sections


def _quantile(quantile: TimeAtQuantile | None, entry: EntryNumbers) -> Text:
    if quantile is not None and quantile.value is not None:
        return measured(
            quantile.value, quantile.low, quantile.high, entry.n, entry.level
        )
    if entry.batch == 1:
        return "too few"
    return "calls timed together"


def _throughput(entry: EntryNumbers, batch: object) -> Text:
    """Examples per second; the longest time gives the lowest rate."""
    rates = []
    for time in (entry.median, entry.high, entry.low):
        if not is_number(batch) or not is_number(time) or time <= 0:
            return NOTHING
        rates.append(number(batch / time))
    value, low, high = rates
    return Number(value, f"[{low}, {high}]", count(entry.n))


def _time(time: BreakdownTime | OperatorMedian, breakdown: NetworkBreakdown) -> Text:
    return measured(time.median, time.low, time.high, time.n, breakdown.level)


def _mib(value: object) -> str:
    if not is_number(value):
        return NOTHING
    return f"{number(value / MIB, 2)} MiB"
