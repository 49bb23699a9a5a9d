"""What times mean: rates, the share of the machine's roofline, memory, and of an operator whose kernel it was."""

from collections.abc import Mapping

from ...measure.bench_plan import BenchFacts
from ...measure.bounds.peak_cache import peaks_from_json
from ...measure.numbers import EntryNumbers, Rate, Rates, RooflineShare
from ...reports.blocks import Table
from ...reports.tables import (
    NOTHING,
    Number,
    count,
    is_number,
    number,
    percent,
)
from ...reports.text import (
    Code,
    Text,
    clean,
    listed,
    plain,
)
from .contents import absolute, entry_name, without_empty
from .data import ReportData

Work = Mapping[str, object]  # what the plan says of an operator that is measured
KERNELS = {
    "native": "the framework's own kernel",
    "custom": "your own code",
    "composed": "the operator's formula over the framework's arrays",
    "compiled": "the formula, or your function, through the framework's own compiler",
    "graph": "the framework's own kernel, or your function, captured in a graph of the device and replayed",
}
OPERATOR_FACTS = ["problem", "direction", "dtype", "framework", "kernel"]
RATES = ["GFLOP/s", "GB/s", "of the roofline", "memory of a call"]
# facts of a call that the columns of RATES show
IN_RATES = {"flops", "bytes", "memory", "process_memory"}
CHECKED = "Right before and after: the outputs of the very callables that were timed were checked in every process."
KIB = 2**10
MIB = 2**20


def operator_rates(data: ReportData) -> Table:
    """One row per operator measured; empty for other measurements."""
    rows: list[list[Text]] = []
    for entry in data.entries:
        work = work_of(data, entry.name)
        if "kernel" in work:
            facts = [plain(work.get(key, NOTHING)) for key in OPERATOR_FACTS]
            rows.append([*facts, absolute(entry), *_rate_cells(entry, work)])
    headers = [*OPERATOR_FACTS, "median [interval], n", *RATES]
    return Table(headers, rows, "llllllrrrr")


def work_rates(data: ReportData) -> Table:
    """What a call of every entry does, and its rates, without columns that are empty; for all but operators."""
    works = {entry.name: work_of(data, entry.name) for entry in data.entries}
    facts: dict[str, None] = {}
    for work in works.values():
        facts |= dict.fromkeys(key for key in work if key not in IN_RATES)
    rows: list[list[Text]] = []
    for entry in data.entries:
        work = works[entry.name]
        cells = [plain(work.get(key, NOTHING)) for key in facts]
        name = entry_name(data, entry.name)
        rows.append([name, *cells, *_rate_cells(entry, work)])
    table = Table(
        ["entry", *map(clean, facts), *RATES], rows, "l" * (len(facts) + 1) + "rrrr"
    )
    for header in RATES:
        table = without_empty(table, header)
    is_empty = list(table.headers) == ["entry"]
    return Table([], []) if is_empty else table


def remarks(data: ReportData) -> list[Text]:
    """What was left out, what is wrong, what the words mean."""
    about = data.plan.about
    lines: list[Text] = []
    if about.scope:
        lines.append(clean(about.scope) + ".")
    lines += omissions(about)
    kernels = _kernels(data)
    if kernels:
        lines.append(_kernel_legend(kernels))
        lines.append(
            f"{CHECKED} {conditions(about)} Memory: by how much the peak of the process rises in a call."
        )
    elif any(entry.kind == "job" for entry in data.plan.entries):
        lines.append(CHECKED)
    lines += _peaks(about.peaks)
    lines += _alarms(data)
    return lines


def omissions(about: BenchFacts) -> list[Text]:
    """What has no time, or is another problem, and why."""
    lines: list[Text] = []
    for introduction, omitted in (
        ("WRONG, and so without a time", about.wrong),
        ("left out", about.left_out),
        ("NOT THE SAME PROBLEM", about.differing),
    ):
        for reason, names in _by_reason(omitted).items():
            codes = listed([Code(name) for name in names])
            lines.append([f"{introduction}: ", *codes, f": {reason}"])
    return lines


def conditions(about: BenchFacts) -> str:
    """Where the inputs come from, and how many threads there were."""
    inputs = NOTHING if about.inputs is None else clean(about.inputs)
    threads = NOTHING if about.threads is None else plain(about.threads)
    return f"Inputs: {inputs}. Threads: {threads}."


def _kernels(data: ReportData) -> set[str]:
    """Whose kernels were measured."""
    kernels = set()
    for entry in data.entries:
        work = work_of(data, entry.name)
        if "kernel" in work:
            kernels.add(str(work["kernel"]))
    return kernels


def _kernel_legend(kernels: set[str]) -> str:
    meanings = []
    for word, meaning in KERNELS.items():
        if word in kernels:
            meanings.append(f"{word}: {meaning}")
    legend = "; ".join(meanings)
    if len(kernels) > 1:
        legend += "; ratios between them compare different programs"
    return legend + "."


def _peaks(peaks: Mapping[str, object] | None) -> list[Text]:
    """The caveat of peaks that were measured while the machine was busy."""
    if peaks is None:
        return []
    caveat = peaks_from_json(peaks).caveat
    if not caveat:
        return []
    return [f"Shares of the roofline with care: {clean(caveat)}."]


def _by_reason(omitted: Mapping[str, str]) -> dict[str, list[str]]:
    """The names of what was omitted, by the reason for it."""
    names_by_reason: dict[str, list[str]] = {}
    for name, reason in omitted.items():
        names_by_reason.setdefault(clean(reason), []).append(clean(name))
    return names_by_reason


def _alarms(data: ReportData) -> list[Text]:
    """Faster than memory allows: data that stay in a cache, or a wrong count."""
    alarms = []
    for entry in data.entries:
        roofline = _rates(entry).roofline
        if roofline and roofline.alarm:
            alarms.append(roofline.alarm)
    if not alarms:
        return []
    above = f"{len(alarms)} of {len(data.entries)} entries"
    first = clean(alarms[0])
    return [f"{above} are above the roofline, which knows no caches: {first}"]


def _rate_cells(entry: EntryNumbers, work: Work) -> list[Text]:
    """The columns of RATES."""
    rates = _rates(entry)
    return [
        _giga(rates.flops, entry),
        _giga(rates.bytes, entry),
        _share(rates.roofline),
        _memory(work.get("memory")),
    ]


def work_of(data: ReportData, name: str) -> Work:
    """What the plan says of a call of the entry of that name."""
    return data.plan.entry(name).work or {}


def _rates(entry: EntryNumbers) -> Rates:
    return entry.rates or Rates()


def _giga(rate: Rate | None, entry: EntryNumbers) -> Text:
    if rate is None or rate.low is None:
        return NOTHING
    interval = f"[{_billions(rate.low)}, {_billions(rate.high)}]"
    return Number(_billions(rate.value), interval, count(entry.n))


def _billions(value: float | None) -> str:
    return NOTHING if value is None else number(value / 1e9)


def _share(share: RooflineShare | None) -> Text:
    if share is None or share.low is None:
        return NOTHING
    value, low, high = (
        percent(part, 3) for part in (share.value, share.low, share.high)
    )
    return f"{value} [{low}, {high}] ({share.limited_by})"


def _memory(value: object) -> str:
    if not is_number(value):
        return NOTHING
    if value >= MIB:
        return f"{number(value / MIB, 1)} MiB"
    if value:
        return f"{value / KIB:.0f} KiB"
    return "none seen"
