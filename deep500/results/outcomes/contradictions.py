"""What a recipe's bundle says against itself: its plan, its blocks and its dates tell the same things more than once.

Every check yields sentences with both numbers. A forger who changes all of them together passes; one who forgets one
does not. docs/threat-model.md has the whole list.
"""

import math
from collections.abc import Iterator
from itertools import pairwise

from ...bundle.dates import Dates, date_seconds, date_text
from ...hashing.canonical_form import form_hash
from ...hashing.own_code import fixed_form_hash
from ...training.planning import TIERS, tier_epochs
from ...training.recipe_blocks import (
    Blocks,
    Epoch,
    Numbers,
    SeedEnd,
    blocks_by_seed,
    ends_of,
    epochs_of,
)
from ...training.recipe_plan import RecipePlan

# Two calls of a framework and two readings of the clock take longer than this on any machine.
SHORTEST_STEP_S = 1e-7
CLOCK_SLACK_S = 2.0  # dates are written in whole seconds
CLOCK_SLACK = 1e-3  # clocks of the same machine drift by less
SAME = 1e-9


def recipe_contradictions(
    plan: RecipePlan, blocks: Blocks, dates: Dates
) -> Iterator[str]:
    """Every contradiction of the bundle of a recipe's run."""
    finished = dates.finished is not None
    yield from hashes(plan)
    yield from division(plan)
    yield from epochs_of_tier(plan)
    yield from seeds(plan, blocks, finished)
    for seed, of_seed in blocks_by_seed(blocks).items():
        where = f"samples.jsonl: seed {seed}"
        yield from sequence(where, of_seed, plan)
        yield from counts(where, of_seed)
        yield from evaluation_times(where, of_seed)
        yield from within_epochs(where, of_seed, plan)
        if plan.distribution is None:
            yield from step_times(where, of_seed)
            yield from run_times(where, of_seed)
    yield from moments(blocks, dates)
    yield from whole_time(blocks, dates)


def hashes(plan: RecipePlan) -> Iterator[str]:
    """Whether the recorded hashes are those of the recorded recipe."""
    form = plan.recipe.document
    recorded = {"hash": plan.hash, "fixed_hash": plan.fixed_hash}
    actual = {"hash": form_hash(form), "fixed_hash": fixed_form_hash(form)}
    for key, digest in recorded.items():
        if digest is not None and digest != actual[key]:
            yield f"plan.json: {key} is {digest[:12]}…, and that of the recorded recipe is {actual[key][:12]}…"


def division(plan: RecipePlan) -> Iterator[str]:
    """Whether the division fits the recorded differences, and these fit FIXED."""
    differences = plan.differences
    if differences and plan.division != "open":
        changed = ", ".join(str(key) for key, _, _ in differences)
        yield f"plan.json: division {plan.division!r}, and FIXED was changed ({changed})"
    last = {key: now for key, _, now in differences}
    fixed = plan.recipe.fixed
    for key, now in last.items():
        if fixed.get(key) != now:
            recorded = _short(fixed.get(key))
            yield f"plan.json: the differences set FIXED {key!r} to {_short(now)}, and the recipe has {recorded}"


def epochs_of_tier(plan: RecipePlan) -> Iterator[str]:
    """Whether the planned epochs are those that the recipe and its tier give."""
    tier = plan.tier
    recipe = plan.recipe
    scale = plan.scale or {}
    described = dict(recipe.tiers.get(tier, {}))
    described.pop("seeds", None)
    if scale != described:
        written = _short(described)
        yield f"plan.json: it is scaled by {_short(scale)}, and the tier {tier!r} of the recipe has {written}"
    epochs = recipe.mutable.get("epochs", recipe.fixed.get("epochs"))
    if "epochs" in scale:
        expected = scale["epochs"]
    elif tier in TIERS:
        expected = tier_epochs(epochs, tier)
    else:
        return
    if plan.epochs != expected:
        yield f"plan.json: {plan.epochs} epochs, and the tier {tier!r} of a recipe of {epochs} epochs has {expected}"


def seeds(plan: RecipePlan, blocks: Blocks, finished: bool) -> Iterator[str]:
    """Whether every planned seed was trained, each once and in the order of the plan."""
    planned = plan.seeds
    trained = [block.seed for block in ends_of(blocks)]
    begun = list(blocks_by_seed(blocks))
    if len({*planned}) < len(planned):
        yield f"plan.json: a seed is planned twice: {_short(planned)}"
    if finished and trained != planned:
        yield f"samples.jsonl: the seeds {_short(trained)} were trained to the end, and planned are {_short(planned)}"
    elif begun != planned[: len(begun)]:
        yield f"samples.jsonl: the seeds {_short(begun)} were begun, and planned are {_short(planned)}"


def sequence(where: str, blocks: Blocks, plan: RecipePlan) -> Iterator[str]:
    """Whether a seed has its epochs in order, as many as planned, and then its end."""
    epochs = [block.evaluation.epoch for block in epochs_of(blocks)]
    if epochs != list(range(1, len(epochs) + 1)):
        yield f"{where}: its epochs are numbered {_short(epochs)}, and there are {len(epochs)}"
    ends = ends_of(blocks)
    if ends and ends != [blocks[-1]]:
        place = blocks.index(ends[0]) + 1
        yield f"{where}: it ended at block {place} of its {len(blocks)} blocks"
    if len(epochs) > plan.epochs:
        yield f"{where}: {len(epochs)} epochs, and planned are {plan.epochs}"
    if not ends or len(epochs) >= plan.epochs:
        return
    diverged = any(None in block.series["loss"] for block in epochs_of(blocks))
    end = ends[0]
    why = end.ended if isinstance(end, SeedEnd) else end.crashed
    if not why and not diverged:
        yield f"{where}: {len(epochs)} epochs of {plan.epochs}, and nothing says why it was stopped"


def counts(where: str, blocks: Blocks) -> Iterator[str]:
    """Whether steps and samples add up over the epochs."""
    steps = 0
    samples = 0.0
    for block in epochs_of(blocks):
        epoch = f"{where}, epoch {block.evaluation.epoch}"
        steps += len(block.step_seconds)
        if block.evaluation.step != steps:
            yield f"{epoch}: evaluated after step {block.evaluation.step}, and {steps} steps were recorded"
            return
        if "batch" not in block.series:
            continue
        batches = _numbers(block.series["batch"])
        if len(batches) != len(block.step_seconds):
            yield f"{epoch}: {len(batches)} batches in {len(block.step_seconds)} steps"
            return
        samples += math.fsum(batches)
        counted = block.counters.get("samples")
        if counted != samples:
            yield f"{epoch}: {counted} samples were counted, and the batches have {samples:g}"
            return


def evaluation_times(where: str, blocks: Blocks) -> Iterator[str]:
    """Whether the time of an evaluation is that of all steps before it."""
    seconds: list[float] = []
    for block in epochs_of(blocks):
        seconds += block.step_seconds
        total = math.fsum(seconds)
        claimed = block.evaluation.seconds
        if not math.isclose(claimed, total, rel_tol=SAME, abs_tol=SAME):
            epoch = block.evaluation.epoch
            yield f"{where}, epoch {epoch}: evaluated at {claimed:g} s, and the steps until then took {total:g} s"
            return


def within_epochs(where: str, blocks: Blocks, plan: RecipePlan) -> Iterator[str]:
    """Whether every epoch was evaluated within, after as many steps as planned, at the time of all steps before."""
    every = plan.evaluate_every
    seconds: list[float] = []
    for block in epochs_of(blocks):
        number = block.evaluation.epoch
        steps_before = len(seconds)
        seconds += block.step_seconds
        planned = []
        if every:
            # the evaluation after the epoch is its last one
            planned = [*range(steps_before + every, len(seconds), every)]
        evaluated = [look.step for look in block.within]
        if evaluated != planned:
            yield (
                f"{where}, epoch {number}: evaluated within it after the steps {_short(evaluated)}, and planned are "
                f"{_short(planned)}"
            )
            return
        for look in block.within:
            total = math.fsum(seconds[: look.step])
            step, claimed = look.step, look.seconds
            if not math.isclose(claimed, total, rel_tol=SAME, abs_tol=SAME):
                yield f"{where}, step {step}: evaluated at {claimed:g} s, and the steps until then took {total:g} s"
                return
            if look.epoch != number:
                yield f"{where}, step {step}: evaluated in epoch {look.epoch}, and it is one of epoch {number}"
                return


def step_times(where: str, blocks: Blocks) -> Iterator[str]:
    """Whether steps took the time that any step takes, in the nanoseconds that the clock counts."""
    step = 0
    for block in epochs_of(blocks):
        batches = _numbers(block.series.get("batch", ()))
        for place, seconds in enumerate(block.step_seconds):
            number = step + place + 1
            if seconds < SHORTEST_STEP_S:
                rate = ""
                if batches and seconds > 0:
                    rate = f", which is {batches[place] / seconds:.2g} samples/s"
                yield f"{where}, step {number}: {seconds:g} s{rate}; no step takes less than {SHORTEST_STEP_S:g} s"
                return
            if not _is_whole_ns(seconds):
                yield (
                    f"{where}, step {number}: {seconds * 1e9:.3f} ns, and the clock counts whole nanoseconds "
                    f"({round(seconds * 1e9)})"
                )
                return
        for name in ("data", "forward", "backward", "update"):
            parts = _numbers(block.series.get(name, ()))
            for part, seconds in zip(parts, block.step_seconds, strict=False):
                if part > seconds + SAME:
                    yield f"{where}: {part:g} s of {name!r} in a step of {seconds:g} s"
                    return
        step += len(block.step_seconds)


def run_times(where: str, blocks: Blocks) -> Iterator[str]:
    """Whether steps and evaluations fit into the time of the run, which never goes back."""
    seconds: list[float] = []
    earlier = 0.0
    for block in epochs_of(blocks):
        seconds += block.step_seconds
        counters = block.counters
        if "run seconds" not in counters:
            return
        run_s = counters["run seconds"]
        spent = math.fsum(seconds) + counters.get("evaluation seconds", 0.0)
        epoch = f"{where}, epoch {block.evaluation.epoch}"
        if spent > run_s + SAME:
            yield f"{epoch}: steps and evaluations took {spent:g} s of a run of {run_s:g} s"
            return
        if run_s < earlier:
            yield f"{epoch}: the run took {run_s:g} s, and {earlier:g} s at the epoch before"
            return
        earlier = run_s


def moments(blocks: Blocks, dates: Dates) -> Iterator[str]:
    """Whether everything happened between the beginning and the end of the bundle, and in order."""
    latest = dates.finished if dates.finished is not None else math.inf
    events = []
    for block in blocks:
        if block.resumed:
            events.append(("a resumption", date_seconds(block.resumed.at)))
        if isinstance(block, Epoch) and "unix time" in block.counters:
            what = f"epoch {block.evaluation.epoch} of seed {block.seed}"
            events.append((what, block.counters["unix time"]))
    for what, moment in events:
        if not dates.begun - CLOCK_SLACK_S <= moment <= latest + CLOCK_SLACK_S:
            yield (
                f"samples.jsonl: {what} at {date_text(moment)}, and the bundle begins at {date_text(dates.begun)} "
                f"and ends at {_end(dates)}"
            )
            return
    for (what, moment), (after, later) in pairwise(events):
        if later < moment - CLOCK_SLACK_S:
            yield f"samples.jsonl: {after} at {date_text(later)}, and before it {what} at {date_text(moment)}"
            return


def whole_time(blocks: Blocks, dates: Dates) -> Iterator[str]:
    """Whether the seeds, which are trained one after the other, fit between the beginning and the end."""
    if dates.finished is None:
        return
    passed = dates.finished - dates.begun
    run_s = math.fsum(
        _run_seconds(of_seed) for of_seed in blocks_by_seed(blocks).values()
    )
    if run_s > passed * (1 + CLOCK_SLACK) + CLOCK_SLACK_S:
        yield (
            f"samples.jsonl: its seeds ran for {run_s:g} s, and {passed:g} s passed between "
            f"{date_text(dates.begun)} and {date_text(dates.finished)}"
        )


def _run_seconds(blocks: Blocks) -> float:
    """The time that one seed took: building, steps and everything between them."""
    run_s = 0.0
    seconds: list[float] = []
    for block in blocks:
        if isinstance(block, Epoch):
            seconds += block.step_seconds
            run_s = block.counters.get("run seconds", math.fsum(seconds))
        else:
            run_s += block.build_seconds
    return run_s


def _numbers(series: Numbers) -> list[float]:
    return [math.nan if number is None else number for number in series]


def _is_whole_ns(seconds: float) -> bool:
    nanoseconds = seconds * 1e9
    return abs(nanoseconds - round(nanoseconds)) <= 1e-3 + nanoseconds * 1e-15


def _end(dates: Dates) -> str:
    if dates.finished is None:
        return "a later time"
    return date_text(dates.finished)


def _short(value: object) -> str:
    return str(value)[:80]
