"""How well a recipe's run is documented: a list of items, each of which is there or not."""

from collections.abc import Mapping

from ...errors import Deep500Error
from ...measure.machine.facts import CLASSES, Environment
from ...training.recipe_plan import RecipePlan
from ..outcomes.data import RecipeRecord, numbers_of
from .blocks import DocumentedItem

# share of the facts of a class from which on it counts as documented
KNOWN_SHARE = 0.75
SEVERAL_SEEDS = 3


def documentation(
    record: RecipeRecord, files: Mapping[str, str]
) -> list[DocumentedItem]:
    """What a reader needs to interpret the result; `files` are the other files of its bundle."""
    return [
        *_environment_items(record),
        *_run_items(record),
        *_result_items(record, files),
    ]


def _item(name: str, present: object, text: str) -> DocumentedItem:
    return DocumentedItem(name, bool(present), text)


def _environment_items(record: RecipeRecord) -> list[DocumentedItem]:
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


def _run_items(record: RecipeRecord) -> list[DocumentedItem]:
    plan = record.plan
    seeds, threads, kernels, data = plan.seeds, plan.threads, plan.kernels, plan.data
    nodes = f"{len(kernels or ())} nodes"
    splits = ", ".join(sorted(data)) or "none"
    return [
        *_recipe_items(plan),
        _item("data: checksums of every split", data, splits),
        _item("seeds: several", len(seeds) >= SEVERAL_SEEDS, f"{len(seeds)}"),
        _item("threads", threads is not None, str(threads)),
        _item("kernels of every node", kernels, nodes),
    ]


def _recipe_items(plan: RecipePlan) -> list[DocumentedItem]:
    sources = plan.sources
    hashed = [key for key, entry in sources.items() if entry.source]
    all_hashed = sources and len(hashed) == len(sources)
    hash_count = f"{len(hashed)} of {len(sources)}"
    division = plan.division or "unknown"
    all_epochs = plan.epochs == plan.recipe.fixed.get("epochs", plan.epochs)
    epochs_run = f"{plan.epochs}, tier {plan.tier}"
    return [
        _item(
            "recipe: hash of its canonical form",
            plan.hash,
            plan.hash[:12],
        ),
        _item("recipe: sources of all definitions", all_hashed, hash_count),
        _item("recipe: division", plan.division, division),
        _item("recipe: all of its epochs", all_epochs, epochs_run),
    ]


def _result_items(
    record: RecipeRecord, files: Mapping[str, str]
) -> list[DocumentedItem]:
    numbers = numbers_of(record)
    seeds = numbers.seeds
    targets = [metric for metric in numbers.metrics if metric.target is not None]
    with_interval = [metric for metric in targets if metric.low is not None]
    all_intervals = targets and with_interval == targets
    weights = 0
    for seed in seeds:
        weights += f"weights-{seed}.safetensors" in files
    claims = numbers.claims
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
