"""What a recipe's bundle says against itself: its plan, its blocks and its dates tell the same things more than once.

Every check yields sentences with both numbers. A forger who changes all of them together passes; one who forgets one
does not. docs/threat-model.md has the whole list.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from ...bundle.dates import Dates, date_seconds, date_text
from ...contracts.result import Blocks, Plan
from ...hashing.canonical_form import form_hash
from ...hashing.own_code import fixed_form_hash
from ...training.outcome import is_end, step_series
from ...training.planning import TIERS, tier_epochs

# Two calls of a framework and two readings of the clock take longer than this on any machine.
SHORTEST_STEP_S = 1e-7
CLOCK_SLACK_S = 2.0  # dates are written in whole seconds
CLOCK_SLACK = 1e-3  # clocks of the same machine drift by less
SAME = 1e-9

Block = Mapping[str, Any]


def recipe_contradictions(plan: Plan, blocks: Blocks, dates: Dates) -> Iterator[str]:
    """Every contradiction of the bundle of a recipe's run."""
    finished = dates.finished is not None
    yield from hashes(plan)
    yield from division(plan)
    yield from epochs_of_tier(plan)
    yield from seeds(plan, blocks, finished)
    for seed, of_seed in _by_seed(blocks).items():
        where = f"samples.jsonl: seed {seed}"
        yield from sequence(where, of_seed, plan)
        yield from counts(where, of_seed)
        yield from evaluation_times(where, of_seed)
        yield from within_epochs(where, of_seed, plan)
        if "distribution" not in plan:
            yield from step_times(where, of_seed)
            yield from run_times(where, of_seed)
    yield from moments(blocks, dates)
    yield from whole_time(blocks, dates)


def hashes(plan: Plan) -> Iterator[str]:
    """Whether the recorded hashes are those of the recorded recipe."""
    actual = {"hash": form_hash(plan["recipe"])}
    if "fixed_hash" in plan:
        actual["fixed_hash"] = fixed_form_hash(plan["recipe"])
    for key, digest in actual.items():
        if plan[key] != digest:
            yield f"plan.json: {key} is {plan[key][:12]}…, and that of the recorded recipe is {digest[:12]}…"


def division(plan: Plan) -> Iterator[str]:
    """Whether the division fits the recorded differences, and these fit FIXED."""
    differences = plan.get("differences", [])
    if differences and plan.get("division") != "open":
        changed = ", ".join(str(key) for key, _, _ in differences)
        yield f"plan.json: division {plan.get('division')!r}, and FIXED was changed ({changed})"
    last = {key: now for key, _, now in differences}
    fixed = plan["recipe"]["fixed"]
    for key, now in last.items():
        if fixed.get(key) != now:
            recorded = _short(fixed.get(key))
            yield f"plan.json: the differences set FIXED {key!r} to {_short(now)}, and the recipe has {recorded}"


def epochs_of_tier(plan: Plan) -> Iterator[str]:
    """Whether the planned epochs are those that the recipe and its tier give."""
    tier = plan["tier"]
    recipe = plan["recipe"]
    scale = plan.get("scale", {})
    described = dict(recipe.get("tiers", {}).get(tier, {}))
    described.pop("seeds", None)
    if scale != described:
        written = _short(described)
        yield f"plan.json: it is scaled by {_short(scale)}, and the tier {tier!r} of the recipe has {written}"
    epochs = recipe["mutable"].get("epochs", recipe["fixed"].get("epochs"))
    if "epochs" in scale:
        expected = scale["epochs"]
    elif tier in TIERS:
        expected = tier_epochs(epochs, tier)
    else:
        return
    if plan["epochs"] != expected:
        yield f"plan.json: {plan['epochs']} epochs, and the tier {tier!r} of a recipe of {epochs} epochs has {expected}"


def seeds(plan: Plan, blocks: Blocks, finished: bool) -> Iterator[str]:
    """Whether every planned seed was trained, each once and in the order of the plan."""
    planned = plan["seeds"]
    trained = [block["seed"] for block in blocks if is_end(block)]
    begun = list(_by_seed(blocks))
    if len({*planned}) < len(planned):
        yield f"plan.json: a seed is planned twice: {_short(planned)}"
    if finished and trained != planned:
        yield f"samples.jsonl: the seeds {_short(trained)} were trained to the end, and planned are {_short(planned)}"
    elif begun != planned[: len(begun)]:
        yield f"samples.jsonl: the seeds {_short(begun)} were begun, and planned are {_short(planned)}"


def sequence(where: str, blocks: Sequence[Block], plan: Plan) -> Iterator[str]:
    """Whether a seed has its epochs in order, as many as planned, and then its end."""
    epochs = [block["evaluation"]["epoch"] for block in _epochs(blocks)]
    if epochs != list(range(1, len(epochs) + 1)):
        yield f"{where}: its epochs are numbered {_short(epochs)}, and there are {len(epochs)}"
    ends = [number for number, block in enumerate(blocks) if is_end(block)]
    if ends and ends != [len(blocks) - 1]:
        yield f"{where}: it ended at block {ends[0] + 1} of its {len(blocks)} blocks"
    if len(epochs) > plan["epochs"]:
        yield f"{where}: {len(epochs)} epochs, and planned are {plan['epochs']}"
    if not ends or len(epochs) >= plan["epochs"]:
        return
    diverged = any(None in step_series(block)["loss"] for block in _epochs(blocks))
    end = blocks[ends[0]]
    why = end.get("ended") or end.get("crashed")
    if not why and not diverged:
        yield f"{where}: {len(epochs)} epochs of {plan['epochs']}, and nothing says why it was stopped"


def counts(where: str, blocks: Sequence[Block]) -> Iterator[str]:
    """Whether steps and samples add up over the epochs."""
    steps = 0
    samples = 0.0
    for block in _epochs(blocks):
        series = step_series(block)
        epoch = f"{where}, epoch {block['evaluation']['epoch']}"
        steps += len(series["seconds"])
        if block["evaluation"]["step"] != steps:
            yield f"{epoch}: evaluated after step {block['evaluation']['step']}, and {steps} steps were recorded"
            return
        if "batch" not in series:
            continue
        if len(series["batch"]) != len(series["seconds"]):
            yield f"{epoch}: {len(series['batch'])} batches in {len(series['seconds'])} steps"
            return
        samples += math.fsum(series["batch"])
        counted = block["counters"].get("samples")
        if counted != samples:
            yield f"{epoch}: {counted} samples were counted, and the batches have {samples:g}"
            return


def evaluation_times(where: str, blocks: Sequence[Block]) -> Iterator[str]:
    """Whether the time of an evaluation is that of all steps before it."""
    seconds: list[float] = []
    for block in _epochs(blocks):
        seconds += step_series(block)["seconds"]
        total = math.fsum(seconds)
        claimed = block["evaluation"]["seconds"]
        if not math.isclose(claimed, total, rel_tol=SAME, abs_tol=SAME):
            epoch = block["evaluation"]["epoch"]
            yield f"{where}, epoch {epoch}: evaluated at {claimed:g} s, and the steps until then took {total:g} s"
            return


def within_epochs(where: str, blocks: Sequence[Block], plan: Plan) -> Iterator[str]:
    """Whether every epoch was evaluated within, after as many steps as planned, at the time of all steps before."""
    every = plan.get("evaluate_every")
    seconds: list[float] = []
    for block in _epochs(blocks):
        number = block["evaluation"]["epoch"]
        steps_before = len(seconds)
        seconds += step_series(block)["seconds"]
        planned = []
        if every:
            # the evaluation after the epoch is its last one
            planned = [*range(steps_before + every, len(seconds), every)]
        looks = block.get("within", [])
        evaluated = [look["step"] for look in looks]
        if evaluated != planned:
            yield (
                f"{where}, epoch {number}: evaluated within it after the steps {_short(evaluated)}, and planned are "
                f"{_short(planned)}"
            )
            return
        for look in looks:
            total = math.fsum(seconds[: look["step"]])
            step, claimed = look["step"], look["seconds"]
            if not math.isclose(claimed, total, rel_tol=SAME, abs_tol=SAME):
                yield f"{where}, step {step}: evaluated at {claimed:g} s, and the steps until then took {total:g} s"
                return
            if look["epoch"] != number:
                yield f"{where}, step {step}: evaluated in epoch {look['epoch']}, and it is one of epoch {number}"
                return


def step_times(where: str, blocks: Sequence[Block]) -> Iterator[str]:
    """Whether steps took the time that any step takes, in the nanoseconds that the clock counts."""
    step = 0
    for block in _epochs(blocks):
        series = step_series(block)
        for number, seconds in enumerate(series["seconds"], step + 1):
            if seconds < SHORTEST_STEP_S:
                rate = ""
                if "batch" in series and seconds > 0:
                    samples = series["batch"][number - step - 1]
                    rate = f", which is {samples / seconds:.2g} samples/s"
                yield f"{where}, step {number}: {seconds:g} s{rate}; no step takes less than {SHORTEST_STEP_S:g} s"
                return
            if not _is_whole_ns(seconds):
                yield (
                    f"{where}, step {number}: {seconds * 1e9:.3f} ns, and the clock counts whole nanoseconds "
                    f"({round(seconds * 1e9)})"
                )
                return
        for name in ("data", "forward", "backward", "update"):
            parts = series.get(name, [])
            for part, seconds in zip(parts, series["seconds"], strict=False):
                if part > seconds + SAME:
                    yield f"{where}: {part:g} s of {name!r} in a step of {seconds:g} s"
                    return
        step += len(series["seconds"])


def run_times(where: str, blocks: Sequence[Block]) -> Iterator[str]:
    """Whether steps and evaluations fit into the time of the run, which never goes back."""
    seconds: list[float] = []
    earlier = 0.0
    for block in _epochs(blocks):
        seconds += step_series(block)["seconds"]
        counters = block.get("counters", {})
        if "run seconds" not in counters:
            return
        run_s = counters["run seconds"]
        spent = math.fsum(seconds) + counters.get("evaluation seconds", 0.0)
        epoch = f"{where}, epoch {block['evaluation']['epoch']}"
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
        if "resumed" in block:
            events.append(("a resumption", date_seconds(block["resumed"]["at"])))
        unix_time = block.get("counters", {}).get("unix time")
        if unix_time is not None:
            epoch = block["evaluation"]["epoch"]
            events.append((f"epoch {epoch} of seed {block['seed']}", unix_time))
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
    run_s = math.fsum(_run_seconds(of_seed) for of_seed in _by_seed(blocks).values())
    if run_s > passed * (1 + CLOCK_SLACK) + CLOCK_SLACK_S:
        yield (
            f"samples.jsonl: its seeds ran for {run_s:g} s, and {passed:g} s passed between "
            f"{date_text(dates.begun)} and {date_text(dates.finished)}"
        )


def _run_seconds(blocks: Sequence[Block]) -> float:
    """The time that one seed took: building, steps and everything between them."""
    run_s = 0.0
    seconds: list[float] = []
    for block in blocks:
        if "evaluation" in block:
            seconds += step_series(block)["seconds"]
            run_s = block.get("counters", {}).get("run seconds", math.fsum(seconds))
        else:
            run_s += block["build_seconds"]
    return run_s


def _by_seed(blocks: Blocks) -> dict[int, list[Block]]:
    by_seed: dict[int, list[Block]] = {}
    for block in blocks:
        by_seed.setdefault(block["seed"], []).append(block)
    return by_seed


def _epochs(blocks: Sequence[Block]) -> list[Block]:
    return [block for block in blocks if "evaluation" in block]


def _is_whole_ns(seconds: float) -> bool:
    nanoseconds = seconds * 1e9
    return abs(nanoseconds - round(nanoseconds)) <= 1e-3 + nanoseconds * 1e-15


def _end(dates: Dates) -> str:
    if dates.finished is None:
        return "a later time"
    return date_text(dates.finished)


def _short(value: object) -> str:
    return str(value)[:80]
