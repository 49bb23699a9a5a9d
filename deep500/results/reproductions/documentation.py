"""How well a recipe's run is documented: a list of items, each of which is there or not."""

from collections.abc import Mapping
from typing import Any

from ...contracts.result import Record
from ...errors import Deep500Error
from ...measure.machine.facts import CLASSES, Environment

# share of the facts of a class from which on it counts as documented
KNOWN_SHARE = 0.75
SEVERAL_SEEDS = 3
Item = dict[str, Any]  # "item", "present" and "text"


def documentation(record: Record, files: Mapping[str, str]) -> list[Item]:
    """What a reader needs to interpret the result; `files` are the other files of its bundle."""
    return [
        *_environment_items(record),
        *_run_items(record),
        *_result_items(record, files),
    ]


def _item(name: str, present: object, text: str) -> Item:
    return {"item": name, "present": bool(present), "text": text}


def _environment_items(record: Record) -> list[Item]:
    try:
        classes = Environment.from_json(record.environment).classes
    except Deep500Error:
        classes = {}
    items = []
    for name in CLASSES:
        facts = classes.get(name, {})
        recorded = [fact for fact in facts.values() if fact.value is not None]
        enough = facts and len(recorded) >= KNOWN_SHARE * len(facts)
        text = f"{len(recorded)} of {len(facts)} facts"
        items.append(_item(f"environment: {name}", enough, text))
    model = classes.get("hardware compute", {}).get("cpu model")
    processor = None
    if model is not None:
        processor = model.value
    items.append(_item("hardware: processor", processor is not None, str(processor)))
    return items


def _run_items(record: Record) -> list[Item]:
    plan = record.plan
    seeds = plan["seeds"]
    threads = plan.get("threads")
    kernels = plan.get("kernels")
    nodes = f"{len(plan.get('kernels', {}))} nodes"
    data = plan.get("data", {})
    splits = ", ".join(sorted(data)) or "none"
    return [
        *_recipe_items(plan),
        _item("data: checksums of every split", data, splits),
        _item("seeds: several", len(seeds) >= SEVERAL_SEEDS, f"{len(seeds)}"),
        _item("threads", threads is not None, str(threads)),
        _item("kernels of every node", kernels, nodes),
    ]


def _recipe_items(plan: Mapping[str, Any]) -> list[Item]:
    recipe_hash = plan.get("hash")
    sources = plan.get("sources", {})
    hashed = [key for key, entry in sources.items() if entry.get("source")]
    all_hashed = sources and len(hashed) == len(sources)
    hash_count = f"{len(hashed)} of {len(sources)}"
    division = str(plan.get("division", "unknown"))
    epochs = plan["epochs"]
    all_epochs = epochs == plan["recipe"]["fixed"].get("epochs", epochs)
    epochs_run = f"{epochs}, tier {plan['tier']}"
    return [
        _item(
            "recipe: hash of its canonical form",
            recipe_hash,
            str(recipe_hash)[:12],
        ),
        _item("recipe: sources of all definitions", all_hashed, hash_count),
        _item("recipe: division", plan.get("division"), division),
        _item("recipe: all of its epochs", all_epochs, epochs_run),
    ]


def _result_items(record: Record, files: Mapping[str, str]) -> list[Item]:
    derived = record.derived or {"metrics": [], "seeds": []}
    seeds = derived["seeds"]
    targets = [metric for metric in derived["metrics"] if metric["target"] is not None]
    with_interval = [metric for metric in targets if metric["low"] is not None]
    all_intervals = targets and with_interval == targets
    weights = 0
    for seed in seeds:
        weights += f"weights-{seed}.safetensors" in files
    claims = derived.get("claims", [])
    blocks = record.blocks
    finished = "yes" if record.finished else "no"
    return [
        _item("raw samples of every step", blocks, f"{len(blocks)} blocks"),
        _item("weights of every seed", weights == len(seeds), f"{weights}"),
        _item("run: finished", record.finished, finished),
        _item("targets", targets, f"{len(targets)} metrics have one"),
        _item("intervals of all targets", all_intervals, f"{len(with_interval)}"),
        _item("claims", claims, f"{len(claims)}"),
    ]
