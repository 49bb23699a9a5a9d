"""Which cells a fit sees, how it is made from messages and collectives, and how well it predicts the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median as middle

from ...contracts.collective_cost import CollectiveCost
from ...contracts.fitted_loggp import DURATIONS, FittedLogGP
from ...measure.statistics.intervals import rank_interval, t_interval
from .data import (
    ALONE,
    ENGINE,
    MESSAGE,
    PING_PONG,
    POST,
    TRAIN,
    TRAIN_LENGTH,
    CollectivePlan,
    TimedCase,
)
from .fitting import MessageEnds, Observation, fitted
from .numbers import Fit, FittedParameter, NetworkParameters, PredictionError
from .samples import AllSeries, CaseSeries, Setting, median

LEVEL = 0.95
LEAST_CELLS = 8
LEAST_FOR_INTERVAL = 6
GAMMA = {"float32": 4.0, "float64": 8.0, "uint8": 1.0}
SIZE, ALGORITHM, RANKS = "size", "algorithm", "ranks"


@dataclass(frozen=True)
class HeldOut:
    """What a fit does not see, and has to predict."""

    sizes: frozenset[int]
    algorithms: frozenset[str]
    ranks: frozenset[int]

    def reasons(self, case: TimedCase, ranks: int) -> list[str]:
        held = {
            SIZE: case.bytes in self.sizes,
            ALGORITHM: case.algorithm in self.algorithms,
            RANKS: ranks in self.ranks,
        }
        return [reason for reason, is_held in held.items() if is_held]


def held_out(plan: CollectivePlan, sizes: Sequence[int]) -> HeldOut:
    """Every third size, the algorithms that the plan names, and of three numbers of ranks or more the last but one."""
    third = frozenset(sizes[1::3]) if len(sizes) > 3 else frozenset()
    ranks = sorted(plan.ranks)
    between = frozenset(ranks[-2:-1]) if len(ranks) > 2 else frozenset()
    texts = [t if t.endswith(")") else f"{t}()" for t in plan.hold_out]
    return HeldOut(third, frozenset(texts), between)


def fit_of(
    transport: str,
    series: AllSeries,
    out: HeldOut,
    cpus: int,
    about: Mapping[str, str],
) -> Fit | None:
    """The network over a transport, from all cells that are not held out; None where there are too few."""
    own = {s: cases for s, cases in series.items() if s.transport == transport}
    launches = min((_launches(cases) for cases in own.values()), default=0)
    network = _fit(own, out, cpus, about, None)
    if network is None:
        return None
    by_launch = []
    for launch in range(launches):
        alone = _fit(own, out, cpus, about, launch)
        if alone is not None:
            by_launch.append(alone)
    parameters = [_parameter(name, network, by_launch) for name in _names(network)]
    errors = _errors(own, out, network)
    return Fit(transport, _settings(network), parameters, errors)


def _launches(cases: Mapping[TimedCase, CaseSeries]) -> int:
    counts = [len(one.seconds) for one in cases.values() if one.seconds]
    return min(counts, default=0)


def _fit(
    own: AllSeries,
    out: HeldOut,
    cpus: int,
    about: Mapping[str, str],
    launch: int | None,
) -> FittedLogGP | None:
    """The fit to all launches, or to one of them."""
    ends = _ends(own, launch)
    observations = []
    for setting, cases in own.items():
        for case, one in cases.items():
            if out.reasons(case, setting.ranks) and case.operation != MESSAGE:
                continue
            observation = _observation(setting, case, one, launch)
            if observation is not None:
                observations.append(observation)
    if len(observations) < LEAST_CELLS or ends is None:
        return None
    return fitted(observations, ends, cpus, about)


def _seconds(one: CaseSeries, launch: int | None) -> float | None:
    if launch is not None:
        return median(one.seconds[launch : launch + 1]) if one.seconds else None
    return median(one.seconds) if one.seconds else None


def _observation(
    setting: Setting, case: TimedCase, one: CaseSeries, launch: int | None
) -> Observation | None:
    """What a case says about the network; None if that is nothing."""
    seconds = _seconds(one, launch)
    if seconds is None or seconds <= 0 or case.progress != ALONE:
        return None
    if case.algorithm == PING_PONG:
        # the other ranks do nothing meanwhile
        there_and_back = CollectiveCost(rounds=((2, case.bytes),))
        return Observation(seconds, there_and_back, 2, 1.0)
    if one.cost is None or case.algorithm == ENGINE:
        return None
    return Observation(seconds, one.cost, setting.ranks, GAMMA[case.dtype])


def _ends(own: AllSeries, launch: int | None) -> MessageEnds | None:
    """Overhead and gap, from the setting with the fewest ranks."""
    setting = min(own, key=lambda setting: setting.ranks)
    times = {}
    for case, one in own[setting].items():
        if case.operation == MESSAGE and case.bytes == 1:
            times[case.algorithm] = _seconds(one, launch)
    post, trip, train = (times.get(name) for name in (POST, PING_PONG, TRAIN))
    if post is None or trip is None or train is None:
        return None
    gap = max(0.0, train - trip) / (TRAIN_LENGTH - 1)
    return MessageEnds(o=min(post, trip / 4), g=gap)


def _settings(network: FittedLogGP) -> NetworkParameters:
    return NetworkParameters(**network.settings)


def _names(network: FittedLogGP) -> list[str]:
    gaps = [f"G from {knot:g} B" for knot in network.knots]
    return ["L", "o", "g", *gaps, *DURATIONS]


def _value(name: str, network: FittedLogGP) -> float:
    if not name.startswith("G from"):
        return float(getattr(network, name))
    place = _names(network).index(name) - 3
    return network.gaps[place]


def _parameter(
    name: str, network: FittedLogGP, by_launch: Sequence[FittedLogGP]
) -> FittedParameter:
    """The parameter with the t interval of the fits to single launches."""
    import numpy as np

    value = _value(name, network)
    values = [_value(name, alone) for alone in by_launch]
    if len(values) < 3:
        return FittedParameter(name, value, None, None, len(values))
    _, low, high = t_interval(np.array(values), LEVEL)
    low, high = min(low, value), max(high, value)
    return FittedParameter(name, value, max(0.0, low), high, len(values))


def _errors(
    own: AllSeries, out: HeldOut, network: FittedLogGP
) -> list[PredictionError]:
    """The errors of the cells that were fitted, and of those that were held out, by why they were."""
    groups: dict[str, list[float]] = {}
    for setting, cases in own.items():
        for case, one in cases.items():
            if case.operation == MESSAGE:
                continue
            observation = _observation(setting, case, one, None)
            if observation is None:
                continue
            predicted = network.seconds_of(
                observation.cost, observation.ranks, observation.gamma
            )
            error = abs(predicted / observation.seconds - 1)
            reasons = out.reasons(case, setting.ranks)
            for group in reasons or ["fitted"]:
                groups.setdefault(group, []).append(error)
            if reasons:
                groups.setdefault("held out", []).append(error)
    return [_error(cells, errors) for cells, errors in groups.items()]


def _error(cells: str, errors: Sequence[float]) -> PredictionError:
    low = high = None
    if len(errors) >= LEAST_FOR_INTERVAL:
        low, high = rank_interval(sorted(errors), LEVEL)
    return PredictionError(cells, middle(errors), low, high, len(errors))
