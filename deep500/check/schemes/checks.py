"""The promises of a communication scheme, each as a function of trial runs."""

import math
from collections.abc import Callable

import numpy as np

from ...contracts.scheme import Scheme
from ...contracts.topology import Topology
from ...contracts.transport import RankFailure
from ...errors import Deep500Error, raise_if_internal
from ..report import CheckResult
from .apart import trained_apart
from .faults import reason
from .linear import mean_step
from .resuming import resumed
from .time_limit import Overdue
from .trials import (
    EPOCHS,
    Trials,
    communicate,
    evaluated,
    pictures_without_rank,
    replicas,
    scatter,
    spread,
)
from .variants import LOSSY_SHARE, with_losses, without_losses

SERIAL_BOUND = 1e-4  # of float32 parameters after some steps that differ in the order of additions alone
# what may be left of the spread of scattered replicas after some epochs of communication
CONSENSUS_BOUND = 0.7
MEAN_BOUND = 0.1  # of the step by the mean gradient
FEEDBACK_BOUND = 0.3  # the same with error feedback, whose residuals come and go
FEEDBACK_EPOCHS = 6  # so many that they count little, with long periods too
LOSS_BOUND = 0.8  # of the first epoch's loss, in the last one
DRIFT = (
    "replicas drift apart: parameters are never brought together (mixing gradients is not enough; "
    "D-PSGD mixes parameters)"
)
KILLED_AT = 5  # which communication step a rank is lost at
SHARED = (
    ": ranks share the module, the class or the scheme on virtual ranks only; what another rank needs must be sent to "
    "it, and every rank draws from a random generator of its own"
)
FORGOTTEN = (
    ": keep what must outlive a step in worker.state, which a checkpoint saves, not in attributes, the class or the "
    "module"
)


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
        return CheckResult("serial", None, text="only synchronous schemes promise it")
    exact = trials.with_scheme(without_losses(trials.scheme))
    wanted = exact.serial()
    distance = 0.0
    for replica in exact.finished.replicas.values():
        for name, value in replica.executor.arrays().items():
            distance = max(distance, float(np.abs(value - wanted[name]).max()))
    batch = f"batches of {exact.batch_size}, which the ranks cannot share evenly"
    if distance <= SERIAL_BOUND:
        text = f"difference from one rank, with {batch}"
        return CheckResult("serial", True, distance, SERIAL_BOUND, text)
    text = (
        f"parameters differ by {distance:.3g} from those of one rank with the whole batch, and {SERIAL_BOUND:g} is "
        f"allowed ({batch}): weight each rank's gradient by its rows, as weighted_gradients(worker) does, and add "
        "the weighted gradients up; or do not declare `synchronous`"
    )
    return CheckResult("serial", False, distance, SERIAL_BOUND, text)


def check_mean(trials: Trials) -> CheckResult:
    """Gradients that never change move the model as far as their mean would on one rank."""
    if reason := _without_mean(trials.scheme):
        return CheckResult("mean", None, text=reason)
    exact = without_losses(trials.scheme)
    worst = 0.0
    sizes = _sizes(exact, trials.ranks)
    for ranks in sizes:
        error, factor = _mean_error(exact, ranks, trials)
        if not error <= MEAN_BOUND:
            return CheckResult(
                "mean",
                False,
                error,
                MEAN_BOUND,
                _wrong_mean(factor, exact, ranks),
            )
        worst = max(worst, error)
    tried = " and ".join(map(str, sizes))
    text = f"distance from the step by the mean gradient, on {tried} ranks"
    return CheckResult("mean", True, worst, MEAN_BOUND, text)


def check_feedback(trials: Trials) -> CheckResult:
    """What a lossy codec leaves out of a gradient is sent later: all that was sent and the residual are its sum."""
    if reason := _without_mean(trials.scheme):
        return CheckResult("error feedback", None, text=reason)
    lossy = with_losses(trials.scheme, trials.ranks)
    if lossy is None:
        return CheckResult("error feedback", None, text="it has no setting for a codec")
    error, factor = _mean_error(lossy, trials.ranks, trials, FEEDBACK_EPOCHS)
    codec = f"TopK({LOSSY_SHARE:g})"
    text = f"distance from the step by the mean gradient, with {codec}"
    if not error <= FEEDBACK_BOUND:
        text = (
            f"with {codec}, {error:.3g} of the sum of all gradients never arrives (allowed {FEEDBACK_BOUND:g}; the "
            f"model moves {factor:.4g} times as far as by the mean gradient): what the codec left out must be added to "
            "the next gradient, with its own sign, and be kept in worker.state; codec.aggregate does so"
        )
    return CheckResult(
        "error feedback", error <= FEEDBACK_BOUND, error, FEEDBACK_BOUND, text
    )


def _without_mean(scheme: Scheme) -> str:
    """Why no mean of gradients can be expected of a scheme; empty if one can."""
    if scheme.averages_predictions:
        return "ranks of an ensemble are models of their own"
    if not scheme.averages:
        return "it declares that it does not average (`averages`)"
    return ""


def _sizes(scheme: Scheme, ranks: int) -> list[int]:
    """As many ranks as were asked for, and the fewest of which several train."""
    for fewest in range(2, ranks):
        try:
            scheme.check(fewest)
        except Deep500Error:
            continue
        if len(scheme.trainers(fewest)) > 1:
            return [ranks, fewest]
    return [ranks]


def _mean_error(
    scheme: Scheme, ranks: int, trials: Trials, epochs: int = 1
) -> tuple[float, float]:
    """The relative distance from the step by the mean gradient, and how many times as far the step goes."""
    moved, expected = mean_step(scheme, ranks, trials.engine, trials.seed, epochs)
    length = float(np.linalg.norm(expected))
    error = float(np.linalg.norm(moved - expected)) / length
    return error, float(np.dot(moved, expected)) / length**2


def _wrong_mean(factor: float, scheme: Scheme, ranks: int) -> str:
    trainers = len(scheme.trainers(ranks))
    guesses = {
        "a sum instead of a mean": trainers,
        "a mean that is divided twice": 1 / trainers,
        "a division by P - 1": trainers / max(1, trainers - 1),
    }
    guess = ""
    for words, expected in guesses.items():
        if abs(factor - expected) < 0.02 * expected:
            guess = f"; this looks like {words}"
            break
    return (
        f"on {ranks} ranks whose gradients never change, the model moves {factor:.4g} times as far as by their mean on "
        f"one rank (allowed 1 ± {MEAN_BOUND:g}){guess}. If that is intended, as with a centre that lags behind, "
        "declare `averages = False` in its class"
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
        data = pictures_without_rank(place, len(ranks), trials.sampler())
        run = trials.new_run(data, epochs=1)
        run.run()
        if np.abs(evaluated(run) - base).max() < 1e-6:
            ignored.append(rank)
    text = f"rank {', '.join(map(str, ignored))} has no influence" if ignored else ""
    return CheckResult("every rank", not ignored, float(len(ignored)), 0.0, text)


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
            _equal_replicas(trials.scheme),
        )
    run = trials.new_run(optimizer=trials.still)
    run.run_programs(run.scheme.start)
    scatter(run, trials.seed)
    before = spread(replicas(run))
    communicate(run, EPOCHS)
    ratio = spread(replicas(run)) / before
    if ratio > CONSENSUS_BOUND:
        return CheckResult("consensus", False, ratio, CONSENSUS_BOUND, DRIFT)
    text = f"spread of replicas, after / before{_spectral_gap(trials)}"
    return CheckResult("consensus", True, ratio, CONSENSUS_BOUND, text)


def _equal_replicas(scheme: Scheme) -> str:
    text = "all replicas are equal after training"
    if scheme.synchronous:
        return text
    return f"{text}; if they do what one rank does, declare `synchronous`, and they are compared with it"


def _spectral_gap(trials: Trials) -> str:
    """What a scheme with a communication graph promises about it."""
    topology = trials.scheme.settings.get("topology")
    if not isinstance(topology, Topology):
        return ""
    return (
        f"; the graph has a spectral gap of {topology.spectral_gap(trials.ranks):.4g}"
    )


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


def check_apart(trials: Trials) -> CheckResult:
    """Ranks that have nothing in common but their messages, as processes have, end in the same bits."""
    wanted = replicas(trials.finished)
    try:
        rows = trained_apart(trials)
    except Overdue:
        raise
    except Exception as error:  # what ranks have shared may be missing
        raise_if_internal(error)
        text = f"with a copy of its module for every rank: {reason(error)}{SHARED}"
        return CheckResult("apart", False, text=text)
    if rows is None:
        text = "no other process can import it: `d5 check scheme FILE.py:NAME` can"
        return CheckResult("apart", None, text=text)
    distance = float(np.abs(rows - wanted).max())
    text = "difference from ranks with a copy of the scheme's module each"
    if distance != 0:
        text = (
            f"ranks with a copy of its module each, as processes have, end with parameters that differ by "
            f"{distance:.3g}{SHARED}"
        )
    return CheckResult("apart", distance == 0, distance, 0.0, text)


def check_resumption(trials: Trials) -> CheckResult:
    """Runs that go on from a checkpoint, each in a new process, end in the same bits."""
    wanted = replicas(trials.finished)
    distances = {}
    place = "a new process"
    for epochs in range(1, EPOCHS):
        try:
            rows, place = _continued(trials, epochs)
        except Overdue:
            raise
        except Exception as error:  # what a scheme has forgotten may break it
            raise_if_internal(error)
            text = f"going on after epoch {epochs}: {reason(error)}{FORGOTTEN}"
            return CheckResult("resumption", False, text=text)
        distances[epochs] = float(np.abs(rows - wanted).max())
    worst = max(distances.values())
    if worst == 0:
        text = f"difference from a run without a break, from {len(distances)} checkpoints, each in {place}"
        return CheckResult("resumption", True, 0.0, 0.0, text)
    epochs = next(key for key, distance in distances.items() if distance != 0)
    text = (
        f"a run that goes on after epoch {epochs}, in {place}, ends with parameters that differ by "
        f"{distances[epochs]:.3g}{FORGOTTEN}"
    )
    return CheckResult("resumption", False, worst, 0.0, text)


def _continued(trials: Trials, epochs: int) -> tuple[np.ndarray, str]:
    """The replicas of a run that goes on from a checkpoint, and where it went on."""
    rows = resumed(trials, epochs)
    if rows is not None:
        return rows, "a new process"
    first = trials.new_run(epochs=epochs)
    first.run()
    second = trials.new_run()
    second.run(first.checkpoint())
    place = "this process, as no other can import it: `d5 check scheme FILE.py:NAME` takes a new one"
    return replicas(second), place


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
    ok = all(math.isfinite(number) for number in replicas(trials.finished).sum(axis=1))
    return CheckResult("finite", ok, text="parameters of all replicas")


CHECKS: dict[str, Callable[[Trials], CheckResult]] = {
    "training": check_training,
    "finite": check_finite,
    "start": check_start,
    "serial": check_serial,
    "mean": check_mean,
    "error feedback": check_feedback,
    "every rank": check_every_rank_counts,
    "consensus": check_consensus,
    "traffic": check_traffic,
    "determinism": check_determinism,
    "apart": check_apart,
    "resumption": check_resumption,
    "lost rank": check_lost_rank,
}
