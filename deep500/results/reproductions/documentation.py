"""How well a recipe's run is documented: a list of items, each of which is there or not."""

from collections.abc import Mapping
from typing import Any

from ...contracts.result import Record
from ...errors import Deep500Error
from ...measure.machine.facts import CLASSES, Environment

KNOWN_SHARE = 0.75  # of the facts of a class, from which on it counts as documented
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
        known = [fact for fact in facts.values() if fact.value is not None]
        enough = facts and len(known) >= KNOWN_SHARE * len(facts)
        items.append(
            _item(f"environment: {name}", enough, f"{len(known)} of {len(facts)} facts")
        )
    model = classes.get("hardware compute", {}).get("cpu model")
    processor = model.value if model is not None else None
    items.append(_item("hardware: processor", processor is not None, str(processor)))
    return items


def _run_items(record: Record) -> list[Item]:
    plan = record.plan
    seeds, threads = plan["seeds"], plan.get("threads")
    data = plan.get("data", {})
    sources = plan.get("sources", {})
    hashed = [key for key, entry in sources.items() if entry.get("source")]
    all_hashed = sources and len(hashed) == len(sources)
    whole = plan["epochs"] == plan["recipe"]["fixed"].get("epochs", plan["epochs"])
    return [
        _item(
            "recipe: hash of its canonical form",
            plan.get("hash"),
            str(plan.get("hash"))[:12],
        ),
        _item(
            "recipe: sources of all definitions",
            all_hashed,
            f"{len(hashed)} of {len(sources)}",
        ),
        _item(
            "recipe: division",
            plan.get("division"),
            str(plan.get("division", "unknown")),
        ),
        _item(
            "recipe: all of its epochs", whole, f"{plan['epochs']}, tier {plan['tier']}"
        ),
        _item(
            "data: checksums of every split", data, ", ".join(sorted(data)) or "none"
        ),
        _item("seeds: several", len(seeds) >= SEVERAL_SEEDS, f"{len(seeds)}"),
        _item("threads", threads is not None, str(threads)),
        _item(
            "kernels of every node",
            plan.get("kernels"),
            f"{len(plan.get('kernels', {}))} nodes",
        ),
    ]


def _result_items(record: Record, files: Mapping[str, str]) -> list[Item]:
    derived = record.derived or {"metrics": [], "seeds": []}
    targets = [metric for metric in derived["metrics"] if metric["target"] is not None]
    sure = [metric for metric in targets if metric["low"] is not None]
    weights = [
        seed for seed in derived["seeds"] if f"weights-{seed}.safetensors" in files
    ]
    claims = derived.get("claims", [])
    return [
        _item(
            "raw samples of every step", record.blocks, f"{len(record.blocks)} blocks"
        ),
        _item(
            "weights of every seed",
            len(weights) == len(derived["seeds"]),
            f"{len(weights)}",
        ),
        _item("run: finished", record.finished, "yes" if record.finished else "no"),
        _item("targets", targets, f"{len(targets)} metrics have one"),
        _item("intervals of all targets", targets and sure == targets, f"{len(sure)}"),
        _item("claims", claims, f"{len(claims)}"),
    ]
