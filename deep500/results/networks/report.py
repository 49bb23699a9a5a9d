"""The report of a network benchmark: latency, throughput, memory, comparisons, breakdowns."""

from collections.abc import Mapping
from typing import Any

from ...reports.blocks import (
    Banner,
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
from ..benching.answers import answer, status
from ..benching.cautions import cautions
from ..benching.contents import comparisons
from ..benching.data import ReportData
from ..benching.plan import plan_table
from .pictures import pictures

MOST_OPERATORS = 10  # of a breakdown, in the short form
MIB = 2**20


def network_report(data: ReportData) -> Report:
    blocks: list[Block] = [
        _banner(data),
        Problems(data.problems),
        Section("Latency and throughput", [latencies(data)], quiet=True),
        Section("Memory", [memory(data)], quiet=True),
        Section("Comparisons", _compared(data), quiet=True),
        *_breakdowns(data),
        Section(
            "Notes and warnings",
            [Bullets([*remarks(data), *cautions(data)])],
            quiet=True,
        ),
        PageOnly(
            [
                Section("Pictures", [Figures(lambda: pictures(data))]),
                Section("What was varied and how", [plan_table(data)]),
                environment_section(data.environment, data.sensors),
            ]
        ),
        raw_data(data.bundle, data.hash),
    ]
    return Report("Deep500 network benchmark", _title(data), blocks)


def work_of(data: ReportData, name: str) -> Mapping[str, Any]:
    """What the plan says of an entry."""
    for entry in data.plan.get("entries") or []:
        if isinstance(entry, Mapping) and entry.get("name") == name:
            work = entry.get("work")
            return work if isinstance(work, Mapping) else {}
    return {}


def breakdowns_of(data: ReportData) -> list[Mapping[str, Any]]:
    found = data.derived.get("breakdowns")
    return (
        [b for b in found if isinstance(b, Mapping)] if isinstance(found, list) else []
    )


def candidate_of(data: ReportData, name: str) -> str:
    return clean(str(work_of(data, name).get("candidate", name)))


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
    rows: list[list[Text]] = []
    for entry in data.entries:
        levels = dict(entry.get("levels") or {})
        by_q = {q.get("q"): q for q in entry.get("quantiles") or []}
        middle = measured(
            *(entry.get(k) for k in ("median", "low", "high", "n", "level"))
        )
        high = [_quantile(by_q.get(q), entry) for q in (0.9, 0.99)]
        words = [
            candidate_of(data, entry["name"]),
            plain(levels.get("mode")),
            plain(levels.get("batch")),
        ]
        rows.append([*words, middle, *high, _throughput(entry, levels.get("batch"))])
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
    rows: list[list[Text]] = []
    for entry in data.entries:
        work, levels = work_of(data, entry["name"]), dict(entry.get("levels") or {})
        got, wanted = work.get("measured_memory"), work.get("predicted_memory")
        by = work.get("memory_by")
        same = by == "allocator" and is_number(got) and is_number(wanted) and got
        words = [
            candidate_of(data, entry["name"]),
            plain(levels.get("mode")),
            plain(levels.get("batch")),
        ]
        ratio = (
            number(wanted / got)
            if same and is_number(got) and is_number(wanted)
            else NOTHING
        )
        rows.append([*words, _mib(got), plain(by), _mib(wanted), ratio])
    return Table(headers, rows, "llrrlrr")


def breakdown_table(found: Mapping[str, Any], most: int | None = None) -> Table:
    """The operators from the slowest on, with their share of the sum."""
    headers = [
        "node",
        "operator",
        "kernel",
        "direction",
        "median [interval], n",
        "of the sum",
    ]
    total = dict(found.get("operators_sum") or {}).get("median")
    rows: list[list[Text]] = []
    for row in list(found.get("operators") or [])[:most]:
        share = (
            percent(row["median"] / total, 3) if is_number(total) and total else NOTHING
        )
        words = [
            plain(row.get(key)) for key in ("node", "operator", "kernel", "direction")
        ]
        rows.append([Code(clean(words[0])), *words[1:], _time(row, found), share])
    return Table(headers, rows, "lllllr")


def overhead_sentence(found: Mapping[str, Any]) -> Text:
    whole, parts = dict(found["network"]), dict(found["operators_sum"])
    rest = dict(found["overhead"])
    negative = is_number(rest.get("median")) and rest["median"] < 0
    meaning = " (negative: together they run faster than alone)" if negative else ""
    return [
        "Without the update it takes ",
        _time(whole, found),
        "; its operators, each alone, ",
        _time(parts, found),
        "; the rest is overhead: ",
        _time(rest, found),
        meaning + ".",
    ]


def remarks(data: ReportData) -> list[Text]:
    """What was left out, what is wrong, what was checked."""
    about = data.plan.get("about")
    about = about if isinstance(about, Mapping) else {}
    found: list[Text] = []
    for key, words in (
        ("wrong", "WRONG, and so without a time"),
        ("left_out", "left out"),
    ):
        entries = about.get(key)
        for name, reason in entries.items() if isinstance(entries, Mapping) else ():
            found.append([f"{words}: ", Code(clean(name)), f": {clean(reason)}"])
    checked = {str(work_of(data, e["name"]).get("checked")) for e in data.entries}
    found.append(
        f"Compared with the reference before and after the timing: {'; '.join(sorted(map(clean, checked)))}. "
        f"Inputs: {plain(about.get('inputs', NOTHING))}. Threads: {plain(about.get('threads', NOTHING))}."
    )
    found.append(
        "native: the framework's own kernels; composed: our formula over its arrays; compiled: the network "
        "through the framework's compiler. Ratios between these compare different programs. Memory by "
        "allocator: bytes handed out; by process: by how much the process grew, which tells less."
    )
    return found


def _banner(data: ReportData) -> Banner:
    found = answer(data)
    return Banner(
        found.sentence, found.headline, found.verdicts, found.figures, status(data)
    )


def _title(data: ReportData) -> str:
    about = data.plan.get("about")
    return (
        clean(str(about.get("network", "")))
        if isinstance(about, Mapping)
        else data.title
    )


def _compared(data: ReportData) -> list[Block]:
    blocks: list[Block] = []
    for introduction, verdicts in comparisons(data):
        blocks += [Sentence(introduction), verdicts]
    return blocks


def _breakdowns(data: ReportData) -> list[Block]:
    blocks: list[Block] = []
    for found in breakdowns_of(data):
        title = f"Operators of {clean(str(found.get('of')))}"
        if "unsupported" in found:
            said = Sentence(
                f"{title}: not taken apart: {clean(str(found['unsupported']))}"
            )
            blocks.append(Section(title, [said], quiet=True))
            continue
        whole = Details("All operators", [breakdown_table(found)], long=True)
        own: list[Block] = [
            Sentence(overhead_sentence(found)),
            breakdown_table(found, MOST_OPERATORS),
            whole,
        ]
        blocks.append(Section(title, own))
    return blocks


def _quantile(row: Mapping[str, Any] | None, entry: Mapping[str, Any]) -> Text:
    if row is None or not is_number(row.get("value")):
        return "too few" if entry.get("batch", 1) == 1 else "calls timed together"
    return measured(
        row["value"],
        row.get("low"),
        row.get("high"),
        entry.get("n"),
        entry.get("level"),
    )


def _throughput(entry: Mapping[str, Any], batch: object) -> Text:
    ends = [entry.get(key) for key in ("median", "high", "low")]
    if not is_number(batch) or not all(is_number(end) and end > 0 for end in ends):
        return NOTHING
    value, low, high = (number(batch / end) for end in ends if is_number(end))
    return Number(value, f"[{low}, {high}]", count(entry.get("n")))


def _time(row: Mapping[str, Any], found: Mapping[str, Any]) -> Text:
    median, low, high, n = (row.get(key) for key in ("median", "low", "high", "n"))
    return measured(median, low, high, n, found.get("level", 0.95))


def _mib(value: object) -> str:
    return f"{number(value / MIB, 2)} MiB" if is_number(value) else NOTHING
