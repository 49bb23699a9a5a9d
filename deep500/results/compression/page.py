"""The report of a benchmark of compression."""

from collections.abc import Sequence

from ...contracts.result import Record
from ...errors import Deep500Error
from ...measure.sensing.others import BUSY
from ...reports.blocks import (
    Banner,
    Block,
    Bullets,
    Figures,
    PageOnly,
    Problems,
    Report,
    Section,
    Table,
)
from ...reports.canvas import for_phones_too
from ...reports.surroundings import environment_section, raw_data
from ...reports.tables import NOTHING, number, percent, seconds
from ...reports.text import Text, clean
from ..collectives.page import ratio_text, time
from ..collectives.words import nbytes
from .data import DENSE, HALF, CompressionBlock, CompressionPlan
from .numbers import (
    AccuracyNumbers,
    BreakEven,
    CompressionNumbers,
    MethodNumbers,
    WireNumbers,
)
from .pictures import pictures
from .words import method_name, rate_name

PageRecord = Record[CompressionPlan, CompressionBlock, CompressionNumbers]
TIMES = ["codec", "step", "to dense", "to 16 bits", "predicted", "to the target"]
BYTES = ["codec", "counted", "on the wire", "wire / counted"]


def page(record: PageRecord) -> Report:
    """What pays, on which network, and at which accuracy."""
    numbers = record.derived
    if numbers is None:
        raise Deep500Error(
            f"{record.bundle} holds no block yet: nothing was measured before it ended"
        )
    figures = Figures(lambda: for_phones_too(lambda: pictures(numbers)))
    target = f"Accuracy, and steps to {record.plan.target:g} %"
    blocks: list[Block] = [
        _banner(numbers),
        Problems([clean(text) for text in numbers.failures]),
        PageOnly([figures]),
        *_time_sections(numbers.methods),
        Section(target, [_accuracies(numbers.accuracies)]),
        Section("Where it pays", _break_evens(numbers.break_evens)),
        Section("Networks", [_networks(numbers.networks)]),
        Section("How it was measured", [Bullets(_notes(record))]),
        PageOnly([environment_section(record.environment)]),
        raw_data(record.bundle, record.hash),
    ]
    return Report("Deep500 compression", "When compression pays", blocks)


def _banner(numbers: CompressionNumbers) -> Banner:
    """On every network, the codec with the shortest time to the target."""
    answers = []
    for rate in dict.fromkeys(one.bandwidth for one in numbers.methods):
        own = [one for one in numbers.methods if one.bandwidth == rate and rate]
        reaching = [one for one in own if one.to_target is not None]
        if reaching:
            best = min(reaching, key=lambda one: one.to_target or 0.0)
            answers.append(
                f"{rate_name(rate)}: {method_name(best.method)}, {seconds(best.to_target)}"
            )
    sentence = "No accuracy was compared."
    if answers:
        sentence = f"Shortest time to the target at {'; '.join(answers)}."
    return Banner(sentence, sentence)


def _time_sections(methods: Sequence[MethodNumbers]) -> list[Block]:
    sections: list[Block] = []
    for rate in dict.fromkeys(one.bandwidth for one in methods):
        own = [one for one in methods if one.bandwidth == rate]
        own.sort(key=lambda one: one.seconds.value if one.seconds else 1e300)
        times = Table(TIMES, [_time_row(one) for one in own], "lrrrrr")
        counts = Table(BYTES, [_byte_row(one) for one in own], "lrrr")
        sections.append(Section(rate_name(rate), [times, PageOnly([counts])]))
    return sections


def _time_row(one: MethodNumbers) -> list[Text]:
    return [
        method_name(one.method),
        time(one.seconds) if one.seconds else NOTHING,
        ratio_text(one.to_dense),
        ratio_text(one.to_half),
        _predicted(one),
        seconds(one.to_target) if one.to_target is not None else "not reached",
    ]


def _predicted(one: MethodNumbers) -> str:
    """With what share of the predicted rate the steps have."""
    if one.predicted is None:
        return NOTHING
    text = seconds(one.predicted)
    if one.rate_share is None:
        return text
    return f"{text}, rate {one.rate_share:.2f} × of it"


def _byte_row(one: MethodNumbers) -> list[Text]:
    share = NOTHING
    if one.wire and one.counted:
        share = f"{one.wire / one.counted:.3f}"
    return [method_name(one.method), nbytes(one.counted), nbytes(one.wire), share]


def _accuracies(accuracies: Sequence[AccuracyNumbers]) -> Table:
    rows: list[list[Text]] = []
    for one in accuracies:
        value = NOTHING
        if one.median is not None:
            value = f"{one.median:.2f} % [{one.low:.2f}, {one.high:.2f}]"
        steps = "not reached" if one.steps is None else f"{one.steps:g}"
        reached = f"{one.reached} of {one.seeds}"
        rows.append([method_name(one.method), value, steps, reached])
    headers = [
        "codec",
        "test accuracy [least, largest]",
        "steps",
        "seeds that reach it",
    ]
    return Table(headers, rows, "lrrr")


def _break_evens(found: Sequence[BreakEven]) -> list[Block]:
    blocks: list[Block] = []
    for baseline in (DENSE, HALF):
        own = [one for one in found if one.baseline == baseline]
        if not own:
            continue
        rates = list(own[0].ranks)
        ranks = [f"ranks at {rate} Mbit/s" for rate in rates]
        rows: list[list[Text]] = []
        for one in own:
            counts = [_from_ranks(one.ranks.get(rate)) for rate in rates]
            rows.append([method_name(one.method), _below(one), *counts])
        name = "16 bits" if baseline == HALF else "dense"
        headers = ["codec", f"shorter steps than {name} below", *ranks]
        blocks.append(Table(headers, rows, "lr" + "r" * len(rates)))
    return blocks


def _below(one: BreakEven) -> str:
    if one.always:
        return "any rate"
    if one.bandwidth is None:
        return "no rate"
    text = f"{number(one.bandwidth)} Mbit/s"
    if one.low is not None:
        text += f" [{number(one.low)}, {number(one.high)}]"
    return f"{text}, n = {one.n}"


def _from_ranks(count: int | None) -> str:
    return "–" if count is None else f"from {count}"


def _networks(networks: Sequence[WireNumbers]) -> Table:
    rows: list[list[Text]] = []
    for one in networks:
        place = "namespaces" if one.is_namespace else "loopback"
        rate = NOTHING if one.rate is None else f"{number(one.rate)} Mbit/s"
        latency = seconds(one.latency)
        rows.append([rate_name(one.bandwidth), place, latency, rate, str(one.launches)])
    headers = ["limit", "where", "latency", "rate of messages", "launches"]
    return Table(headers, rows, "llrrr")


def _place(blocks: Sequence[CompressionBlock]) -> str:
    if any(block.times and block.times.is_namespace for block in blocks):
        return (
            "Real sockets in network namespaces, each of which sends and receives at the rate of its network at most "
            "(tc tbf)."
        )
    return (
        "There were no network namespaces: all times on networks with a limit are predicted, from real sockets without "
        "one and virtual ranks."
    )


def _notes(record: PageRecord) -> list[Text]:
    plan = record.plan
    hidden = "-".join(map(str, plan.hidden))
    lines: list[Text] = [
        f"{plan.ranks} ranks over gloo; a perceptron 64-{hidden}-10 on the digits, batch {plan.batch}.",
        _place(record.blocks),
        "A step's time is that of the slowest rank; to the target: this time the steps that virtual ranks need, which "
        "train with the same bits. All train with momentum, which MomentumCorrection has itself.",
        "predicted: the time without a limit, and latency and bytes of the step's messages at the measured rate.",
        "Where it pays: by the times without a limit and the bytes of messages; brackets are the least and the "
        "largest of the launches. Ranks from which on it does, up to the most that were looked at: with the times of "
        f"{plan.ranks} ranks.",
    ]
    cpus = min((block.cpus for block in record.blocks), default=1)
    if plan.ranks > cpus:
        lines.append(
            f"more ranks than processors ({cpus}): they compute and code in turns, so that codecs look dearer than on "
            "a processor of their own"
        )
    shares = [b.times.others for b in record.blocks if b.times and b.times.others]
    if shares and max(shares) > BUSY:
        busy = percent(max(shares), 2)
        lines.append(f"a busy machine: others used up to {busy} of the processors")
    return lines
