"""Folders of bundles for boards: one real run, copied with other times and qualities, and sealed as any bundle is."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ..evidence.forging import Forger

BEFORE = Path(__file__).parents[1] / "data" / "before" / "recipe-procedure-1.zip"
# a quality with a target, and a rate that every seed has
METRICS = [
    [{"definition": "TestAccuracy", "settings": {}}, 25.0],
    [{"definition": "Throughput", "settings": {}}, None],
]


def forger(rate: float, accuracy: float = 80.0, spread: float = 0.01) -> Forger:
    """A run with that share of the original's step times, about that test accuracy, and seeds that differ a little."""
    draw = random.Random(f"{rate} {accuracy} {spread}")
    entry = Forger(BEFORE)
    recipe = entry.plan["recipe"]
    recipe["metrics"] = METRICS
    recipe["mutable"]["optimizer_args"] = [round(rate, 6), accuracy]
    entry.rehash()
    for block in entry.epochs():
        seconds = block["series"]["seconds"]
        block["series"]["seconds"] = [
            round(time * draw.uniform(1, 1 + spread) * 1e9) / 1e9 for time in seconds
        ]
    entry.scale_times(rate, whole_ns=True)
    for seed in entry.plan["seeds"]:
        entry.end(seed)["test"] = {"accuracy": accuracy + draw.uniform(-1, 1)}
    return entry


def rename_machine(entry: Forger, name: str) -> None:
    entry.environment["classes"]["hardware compute"]["cpu model"]["value"] = name


def date(entry: Forger, day: int) -> None:
    """Let a run have happened that many days after the first of October."""
    moment = datetime(2026, 10, 1, 12, tzinfo=UTC) + timedelta(days=day)
    entry.created = entry.finished = moment.isoformat()
    setup = entry.environment["classes"]["benchmark measurement setup"]
    setup["moment"]["value"] = moment.isoformat()
