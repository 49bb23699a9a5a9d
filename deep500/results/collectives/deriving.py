"""Every number of a benchmark of collectives, from its blocks."""

from collections.abc import Mapping, Sequence

from ...contracts.collective_cost import lower_bound
from ...contracts.fitted_loggp import FittedLogGP
from ...contracts.loggp import LogGP
from .data import (
    ALONE,
    COMPUTING,
    ENGINE,
    LIBRARY,
    MESSAGE,
    POLLED,
    UNPOLLED,
    CollectiveLaunch,
    CollectivePlan,
    TimedCase,
)
from .numbers import CellNumbers, CollectiveNumbers, Failure, Fit, HiddenTime
from .predicting import GAMMA, HeldOut, fit_of, held_out
from .samples import (
    AllSeries,
    CaseSeries,
    Measured,
    Setting,
    all_series,
    measured,
    median,
)

VIRTUAL = "virtual"
# by which algbw is multiplied to give busbw on n ranks, as nccl-tests define it
BUS_FACTORS = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "all_gather": lambda n: (n - 1) / n,
    "all_to_all": lambda n: (n - 1) / n,
    "broadcast": lambda n: 1.0,
}


def numbers_of(
    plan: CollectivePlan, blocks: Sequence[CollectiveLaunch]
) -> CollectiveNumbers:
    """All numbers; a launch that failed gives none."""
    series = all_series(blocks, plan.calls)
    out = held_out(plan, _sizes(series))
    fits = _fits(series, blocks, out)
    networks = {fit.transport: fit.network.network for fit in fits}
    cells = []
    for setting, cases in series.items():
        network = networks.get(setting.transport)
        for one in cases.values():
            if one.seconds and one.case.operation != MESSAGE:
                cells.append(_cell(setting, one, cases, network, out))
    return CollectiveNumbers(cells, _overlaps(series), fits, _failures(series, blocks))


def _sizes(series: AllSeries) -> list[int]:
    sizes: set[int] = set()
    for cases in series.values():
        sizes.update(c.bytes for c in cases if c.operation != MESSAGE)
    return sorted(sizes)


def _fits(
    series: AllSeries, blocks: Sequence[CollectiveLaunch], out: HeldOut
) -> list[Fit]:
    fits = []
    for transport in dict.fromkeys(block.transport for block in blocks):
        own = [b for b in blocks if b.transport == transport and b.rows]
        if transport == VIRTUAL or not own:
            continue
        about = {"machine": own[0].machine, "library": own[0].library}
        fit = fit_of(transport, series, out, own[0].cpus, about)
        if fit is not None:
            fits.append(fit)
    return fits


def _cell(
    setting: Setting,
    one: CaseSeries,
    cases: Mapping[TimedCase, CaseSeries],
    network: FittedLogGP | None,
    out: HeldOut,
) -> CellNumbers:
    case, ranks = one.case, setting.ranks
    seconds = measured(one.seconds)
    algbw = case.bytes / seconds.value if seconds.value else 0.0
    cost = one.cost
    is_virtual = setting.transport == VIRTUAL
    model = None
    if cost is not None and is_virtual:
        model = cost.seconds(LogGP())
    elif cost is not None and network is not None:
        model = network.seconds_of(cost, ranks, GAMMA[case.dtype])
    return CellNumbers(
        transport=setting.transport,
        ranks=ranks,
        operation=case.operation,
        algorithm=case.algorithm,
        bytes=case.bytes,
        dtype=case.dtype,
        progress=case.progress,
        seconds=seconds,
        joint=median(one.joint),
        skew=median(one.skew),
        algbw=algbw,
        busbw=algbw * BUS_FACTORS[case.operation](ranks),
        wire_bytes=one.sent,
        modelled=one.modelled,
        memory=one.memory,
        model_memory=None if cost is None else cost.memory,
        ratio=_ratio(one, cases),
        model=model if case.progress == ALONE else None,
        bound=_bound(case, ranks, LogGP() if is_virtual else network),
        held_out=[] if is_virtual else out.reasons(case, ranks),
    )


def _bound(case: TimedCase, ranks: int, network: LogGP | None) -> float | None:
    """What no algorithm beats, with the smallest gap per byte that messages of any length have."""
    if network is None:
        return None
    among = network.among(ranks)
    gap = among.G
    if isinstance(among, FittedLogGP):
        gap = among.least_gap(case.bytes)
    simple = LogGP(among.L, among.o, among.g, gap)
    return lower_bound(case.operation, ranks, case.bytes, simple)["seconds"]


def _ratio(one: CaseSeries, cases: Mapping[TimedCase, CaseSeries]) -> Measured | None:
    """The time over that of the library's own call on the same array; each launch gives one value."""
    case = one.case
    library = cases.get(TimedCase(LIBRARY, case.operation, case.bytes, case.dtype))
    if library is None or library is one or case.progress != ALONE:
        return None
    pairs = zip(one.seconds, library.seconds, strict=False)
    ratios = []
    for own, other in pairs:
        if library_seconds := median([other]):
            ratios.append(median([own]) / library_seconds)
    return measured([[ratio] for ratio in ratios]) if ratios else None


def _overlaps(series: AllSeries) -> list[HiddenTime]:
    overlaps = []
    for setting, cases in series.items():
        for case in cases:
            if case.progress == POLLED:
                overlap = _overlap(setting, case, cases)
                if overlap is not None:
                    overlaps.append(overlap)
    return overlaps


def _overlap(
    setting: Setting, case: TimedCase, cases: Mapping[TimedCase, CaseSeries]
) -> HiddenTime | None:
    words = (ALONE, COMPUTING, UNPOLLED, POLLED)
    times = []
    for word in words:
        same = TimedCase(ENGINE, case.operation, case.bytes, case.dtype, word)
        if same not in cases or not cases[same].seconds:
            return None
        medians = [median([values]) for values in cases[same].seconds]
        if not all(medians):
            return None
        times.append(medians)
    alone, computing, unpolled, polled = times
    return HiddenTime(
        setting.transport,
        setting.ranks,
        case.bytes,
        _hidden(alone, computing, unpolled),
        _hidden(alone, computing, polled),
    )


def _hidden(
    alone: Sequence[float], computing: Sequence[float], both: Sequence[float]
) -> Measured:
    """(communication + computing - both) / the shorter of the two: 1 hides it all, below 0 both disturb each other."""
    shares = []
    for a, c, b in zip(alone, computing, both, strict=False):
        shares.append((a + c - b) / min(a, c))
    return measured([[share] for share in shares])


def _failures(series: AllSeries, blocks: Sequence[CollectiveLaunch]) -> list[Failure]:
    failures = []
    for block in blocks:
        if block.failure:
            what = f"{block.ranks} ranks over {block.transport}, launch {block.launch}"
            failures.append(Failure(what, block.failure))
    seen = set()
    for setting, cases in series.items():
        for one in cases.values():
            what = f"{one.case.algorithm} on {setting.ranks} ranks over {setting.transport}"
            if one.failure and (what, one.failure) not in seen:
                seen.add((what, one.failure))
                failures.append(Failure(what, one.failure))
    return failures
