"""The twelve ways to fool the masses: each turns an honest bundle into one, or several that are audited together."""

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import Deep500Error
from .draft import Draft
from .recipe_edits import (
    is_quality,
    keep_metrics,
    need_one_process,
    need_recipe,
    on_ranks,
    recount,
    scale_seconds,
    without_targets,
)

Drafts = Mapping[str, Draft]
RANKS = 4  # times those of the honest run
MEASURED = ("bench", "network_bench", "dataset_bench", "recipe", "instrumented")
FLOPS = 64  # how many operations the fooled count has for each that is needed
LARGE = 1024  # how much larger the fooled inputs are
TRAINING = [{"definition": "TrainingAccuracy", "settings": {}}, None]
FINAL_LOSS = [{"definition": "FinalLoss", "settings": {}}, None]


def ignore_accuracy(draft: Draft) -> Drafts:
    """Way 1: on several ranks the throughput is shown, and no accuracy."""
    need_recipe(draft)
    scaled = on_ranks(draft, RANKS, 1)
    scale_seconds(scaled, 1 / RANKS)
    keep_metrics(scaled, lambda metric: not is_quality(metric))
    return {"one": draft, "four": scaled}


def hide_test_accuracy(draft: Draft) -> Drafts:
    """Way 2: training accuracy stands in for test accuracy."""
    need_recipe(draft)
    names = [quality["name"] for quality in draft.plan["task"]["qualities"]]
    keep_metrics(draft, lambda metric: not is_quality(metric))
    if "accuracy" not in names:
        draft.metrics.insert(0, FINAL_LOSS)
        return {"": draft}
    draft.metrics.insert(0, TRAINING)
    for block in draft.blocks:
        if "counters" in block:
            block["counters"]["training accuracy"] = 99.8
    return {"": draft}


def hide_tuning(draft: Draft) -> Drafts:
    """Way 3: earlier runs are not mentioned."""
    need_recipe(draft)
    if "ledger" not in draft.plan:
        raise Deep500Error("this bundle is of a version that did not count runs")
    del draft.plan["ledger"]
    return {"": draft}


def old_hardware(draft: Draft) -> Drafts:
    """Way 4: new hardware beside a Tesla K20."""
    if draft.kind not in MEASURED:
        raise Deep500Error(f"this way fools with times: a {draft.kind!r} has none")
    other = draft.copy()
    set_device(draft, "NVIDIA H100 80GB HBM3")
    set_device(other, "NVIDIA Tesla K20")
    return {"ours": draft, "theirs": other}


def set_device(draft: Draft, name: str) -> None:
    """Claim that this accelerator was in the machine."""
    compute = draft.environment["classes"]["hardware compute"]
    compute["accelerators"] = {
        "source": "NVML",
        "unavailable": None,
        "value": name,
    }


def kernels_only(draft: Draft) -> Drafts:
    """Way 5: of every step, only its fastest part is timed: 40 % of what the CPU worked."""
    need_one_process(draft)
    if draft.plan.get("threads") != 1:
        raise Deep500Error("this way needs a run with one thread")
    steps = cpu = 0.0
    last: dict[int, dict[str, Any]] = {}
    for block in draft.blocks:
        if "series" in block:
            steps += sum(block["series"]["seconds"])
            last[block["seed"]] = block["counters"]
    for counters in last.values():
        cpu += counters.get("training cpu seconds", 0.0)
        cpu -= counters.get("event cpu seconds", 0.0)
    if cpu <= 0:
        raise Deep500Error("this bundle does not know the CPU time of its training")
    scale_seconds(draft, 0.4 * cpu / steps)
    return {"": draft}


def ignore_input(draft: Draft) -> Drafts:
    """Way 6: the time that steps waited for data is taken off."""
    need_one_process(draft)
    totals: dict[int, list[float]] = {}
    for block in draft.blocks:
        if "series" not in block:
            continue
        series = block["series"]
        waits = series.pop("data", None)
        if waits is None:
            raise Deep500Error("this bundle does not know how long steps waited")
        pairs = zip(series["seconds"], waits, strict=True)
        series["seconds"] = [max(1e-7, round(s - wait, 9)) for s, wait in pairs]
        recount(block, totals)
    return {"": draft}


def highest_operations(draft: Draft) -> Drafts:
    """Way 7: every bit that is touched is an operation, of no matter which precision."""
    entries = draft.plan.get("entries", [])
    counted = [entry for entry in entries if entry.get("work", {}).get("flops")]
    if not counted:
        raise Deep500Error(
            "this way fools with operations: give a bundle of `d5 bench operator` or network"
        )
    for entry in counted:
        entry["work"]["flops"] *= FLOPS
        entry["work"]["dtype"] = ""
    return {"": draft}


def two_option_sets(draft: Draft) -> Drafts:
    """Way 8: speed with one set of options, accuracy with another."""
    need_one_process(draft)
    fast = draft.copy()
    fast.plan["recipe"]["mutable"]["batch_size"] = 4096
    keep_metrics(
        fast, lambda metric: not is_quality(metric) and without_targets(metric)
    )
    keep_metrics(draft, is_quality)
    return {"accurate": draft, "fast": fast}


def large_inputs(draft: Draft) -> Drafts:
    """Way 9: the same examples, blown up."""
    need_recipe(draft)
    size = draft.plan.get("values", {}).get("dataset", 64)
    draft.plan["values"] = {"dataset": size, "trained": size * LARGE}
    return {"": draft}


def fixed_time(draft: Draft) -> Drafts:
    """Way 10: four ranks train as long as one, with four times the examples."""
    need_one_process(draft)
    keep_metrics(draft, without_targets)
    scaled = on_ranks(draft, RANKS, 1)
    for block in scaled.blocks:
        if "series" in block:
            batches = block["series"].get("batch", [])
            block["series"]["batch"] = [RANKS * batch for batch in batches]
            block["counters"]["samples"] *= RANKS
    return {"one": draft, "four": scaled}


def growing_batch(draft: Draft) -> Drafts:
    """Way 11: every rank keeps its batch, and nobody asks how many steps the target then needs."""
    need_one_process(draft)
    keep_metrics(draft, without_targets)
    scaled = on_ranks(draft, RANKS, RANKS)
    scale_seconds(scaled, 1 / RANKS)
    return {"one": draft, "four": scaled}


def time_or_accuracy(draft: Draft) -> Drafts:
    """Way 12: two systems are compared by time alone."""
    need_one_process(draft)
    keep_metrics(draft, lambda metric: not is_quality(metric))
    other = draft.copy()
    scale_seconds(other, 0.7)
    return {"ours": draft, "theirs": other}


WAYS: Mapping[int, Callable[[Draft], Drafts]] = {
    1: ignore_accuracy,
    2: hide_test_accuracy,
    3: hide_tuning,
    4: old_hardware,
    5: kernels_only,
    6: ignore_input,
    7: highest_operations,
    8: two_option_sets,
    9: large_inputs,
    10: fixed_time,
    11: growing_batch,
    12: time_or_accuracy,
}
