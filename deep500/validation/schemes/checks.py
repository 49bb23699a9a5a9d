"""The promises of a communication scheme, each as a function of trial runs."""

import math
from collections.abc import Callable

import numpy as np

from ...contracts.topology import Topology
from ...contracts.transport import RankFailure
from ..checking.report import CheckResult
from .trials import (
    EPOCHS,
    Trials,
    digits_without_rank,
    evaluated,
    replicas,
    scatter,
    spread,
)

SERIAL_BOUND = 1e-4  # of float32 parameters after some steps that differ in the order of additions alone
# of the spread of scattered replicas, after some epochs of communication
CONSENSUS_BOUND = 0.7
LOSS_BOUND = 0.8  # of the first epoch's loss, in the last one
DRIFT = (
    "replicas drift apart: parameters are never brought together (mixing gradients is not enough; "
    "D-PSGD mixes parameters)"
)
KILLED_AT = 5  # which communication step a rank is lost at


def check_training(trials: Trials) -> CheckResult:
    """The loss falls."""
    losses = trials.finished.history().losses
    steps = len(losses) // EPOCHS
    ratio = float(np.mean(losses[-steps:]) / np.mean(losses[:steps]))
    return CheckResult(
        "training",
        ratio < LOSS_BOUND,
        ratio,
        LOSS_BOUND,
        "loss, last / first epoch",
    )


def check_serial(trials: Trials) -> CheckResult:
    """Synchronous schemes do what one rank with the whole batch does."""
    if not trials.scheme.synchronous:
        return CheckResult(
            "serial", None, text="only synchronous schemes promise it"
        )
    wanted = trials.serial()
    distance = 0.0
    for replica in trials.finished.replicas.values():
        for name, value in replica.executor.arrays().items():
            distance = max(distance, float(np.abs(value - wanted[name]).max()))
    ok = distance <= SERIAL_BOUND
    return CheckResult(
        "serial", ok, distance, SERIAL_BOUND, "difference from one rank"
    )


def check_every_rank_counts(trials: Trials) -> CheckResult:
    """Other data on any rank that trains lead to another model: nobody's gradient is thrown away."""
    if trials.scheme.averages_predictions:
        return CheckResult(
            "every rank",
            None,
            text="ranks of an ensemble are models of their own",
        )
    whole = trials.new_run(epochs=1)
    whole.run()
    base = evaluated(whole)
    ignored = []
    ranks = whole.trainers
    for place, rank in enumerate(ranks):
        data = digits_without_rank(place, len(ranks), trials.sampler())
        run = trials.new_run(data, epochs=1)
        run.run()
        if np.abs(evaluated(run) - base).max() < 1e-6:
            ignored.append(rank)
    text = (
        f"rank {', '.join(map(str, ignored))} has no influence"
        if ignored
        else ""
    )
    return CheckResult(
        "every rank", not ignored, float(len(ignored)), 0.0, text
    )


def check_consensus(trials: Trials) -> CheckResult:
    """Replicas stay equal; or they come together again, without any training, when they were moved apart."""
    if trials.scheme.averages_predictions:
        return CheckResult(
            "consensus", None, text="ranks of an ensemble stay apart on purpose"
        )
    if spread(replicas(trials.finished)) == 0:
        return CheckResult(
            "consensus",
            True,
            0.0,
            CONSENSUS_BOUND,
            "all replicas are equal after training",
        )
    run = trials.new_run(optimizer=trials.still)
    run.run_programs(run.scheme.start)
    scatter(run, trials.seed)
    before = spread(replicas(run))
    trials.communicate(run, EPOCHS)
    ratio = spread(replicas(run)) / before
    if ratio > CONSENSUS_BOUND:
        return CheckResult("consensus", False, ratio, CONSENSUS_BOUND, DRIFT)
    text = f"spread of replicas, after / before{_spectral_gap(trials)}"
    return CheckResult("consensus", True, ratio, CONSENSUS_BOUND, text)


def _spectral_gap(trials: Trials) -> str:
    """What a scheme with a communication graph promises about it."""
    topology = trials.scheme.settings.get("topology")
    if not isinstance(topology, Topology):
        return ""
    return f"; the graph has a spectral gap of {topology.spectral_gap(trials.ranks):.4g}"


def check_start(trials: Trials) -> CheckResult:
    """Before the first step all ranks have the same parameters."""
    run = trials.new_run()
    scatter(run, trials.seed)
    run.run_programs(run.scheme.start)
    distance = spread(replicas(run))
    return CheckResult(
        "start",
        distance == 0,
        distance,
        0.0,
        "spread of replicas before the first step",
    )


def check_traffic(trials: Trials) -> CheckResult:
    """What ranks send to each other is received."""
    traffic = trials.finished.transport.traffic.values()
    sent = sum(counts.bytes.get("Send", 0) for counts in traffic)
    received = sum(counts.bytes.get("Recv", 0) for counts in traffic)
    lost = float(abs(sent - received))
    return CheckResult(
        "traffic", lost == 0, lost, 0.0, f"{sent} bytes sent from rank to rank"
    )


def check_determinism(trials: Trials) -> CheckResult:
    """Two runs on virtual ranks end in the same bits."""
    again = trials.new_run()
    again.run()
    distance = float(np.abs(replicas(again) - replicas(trials.finished)).max())
    return CheckResult(
        "determinism", distance == 0, distance, 0.0, "difference of two runs"
    )


def check_resumption(trials: Trials) -> CheckResult:
    """A run that goes on from a checkpoint ends in the same bits."""
    first = trials.new_run(epochs=EPOCHS - 1)
    first.run()
    second = trials.new_run()
    second.run(first.checkpoint())
    distance = float(np.abs(replicas(second) - replicas(trials.finished)).max())
    return CheckResult(
        "resumption",
        distance == 0,
        distance,
        0.0,
        "difference from a run without a break",
    )


def check_lost_rank(trials: Trials) -> CheckResult:
    """When a rank is lost, the others stop, and name it."""
    lost = trials.finished.trainers[-1]
    run = trials.new_run(kill={lost: KILLED_AT})
    try:
        run.run()
    except RankFailure as failure:
        ok = lost in failure.ranks
        return CheckResult("lost rank", ok, text=str(failure))
    return CheckResult(
        "lost rank", False, text=f"nobody noticed that rank {lost} was lost"
    )


def check_finite(trials: Trials) -> CheckResult:
    """No replica holds anything but numbers at the end."""
    ok = all(
        math.isfinite(number)
        for number in replicas(trials.finished).sum(axis=1)
    )
    return CheckResult("finite", ok, text="parameters of all replicas")


CHECKS: dict[str, Callable[[Trials], CheckResult]] = {
    "training": check_training,
    "finite": check_finite,
    "start": check_start,
    "serial": check_serial,
    "every rank": check_every_rank_counts,
    "consensus": check_consensus,
    "traffic": check_traffic,
    "determinism": check_determinism,
    "resumption": check_resumption,
    "lost rank": check_lost_rank,
}
