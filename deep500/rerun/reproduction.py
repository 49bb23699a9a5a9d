"""Reproduce a result: run the recipe of a bundle again and compare the two results."""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from ..bundle import Bundle, read
from ..bundle.records.loading import record_of
from ..bundle.records.recording import Recording, recording
from ..bundle.records.resumption_note import recorded_environment
from ..check.networks.determinism import unstable_operators
from ..contracts.dataset_splits import loaded_splits
from ..contracts.metric import History
from ..contracts.network import Network
from ..contracts.recipe import Recipe
from ..contracts.recipe_entries import TABLE
from ..definition_text import Names, parts_of
from ..errors import Deep500Error, errors_of_user_code
from ..frameworks.library_optimizers import library_maker
from ..hashing.canonical_form import form_hash
from ..measure.machine import Difference, environment_difference
from ..measure.machine.table import RESULTS
from ..reports.text import clean
from ..results.outcomes.conditions import conditions
from ..results.outcomes.data import RecipeRecord, numbers_of
from ..results.outcomes.recipe_comparison import MACHINE
from ..results.outcomes.recipe_differences import source_difference
from ..results.reproductions.blocks import (
    FactDifference,
    OriginalRun,
    ReproductionPlan,
    SecondRun,
    SeedComparison,
)
from ..results.reproductions.documentation import documentation
from ..results.reproductions.numbers import ReproductionRecord
from ..training.building import (
    recipe_dataset,
    recipe_framework,
    recipe_model,
    recipe_task,
)
from ..training.claims import recorded_claim
from ..training.events import Event
from ..training.metric_summary import recorded_metric
from ..training.outcome import trained_runs
from ..training.recipe_blocks import weights_of
from ..training.recipe_plan import RecipePlan
from .rebuilding import rebuilt_recipe
from .recipe_files import known_recipes, load_recipe
from .recipe_runner import run

# percentage points of a quality in %, per cent of the median of others
MARGIN = 1.5
MOST_LISTED = 6


def reproduce(
    path: str | Path,
    recipe_file: str | Path | None = None,
    folder: str | Path | None = None,
    *,
    margin: float = MARGIN,
    data: str | Path | None = None,
    allow_changes: bool = False,
    events: Iterable[Event] = (),
    definitions: Mapping[str, str] | None = None,
) -> ReproductionRecord:
    """Train every seed of a bundle again and compare; returns the record of a bundle with three answers.

    The recipe is taken from `recipe_file`, from one of ours of the same name, or, if it consists of our definitions
    alone, from its canonical form. Code from the bundle is never run: `definitions` are the texts by which options
    brought code into the run, such as {"optimizer": "my.py:Mine(0.01)"}. A recipe that differs from the recorded one is
    an error, unless `allow_changes` is set: then the differences are recorded.
    """
    if not 0 < margin < math.inf:
        raise Deep500Error(f"the margin is {margin!r}: give a number above 0")
    bundle = read(path)
    original = _usable_record(bundle, path)
    loaded_recipe = _load_original(original.plan, recipe_file)
    for key, text in (definitions or {}).items():
        loaded_recipe = _with_definition(loaded_recipe, key, text, path)
    recipe = _recorded_recipe(original, loaded_recipe)
    changes = recipe_changes(original.plan, recipe, loaded_recipe)
    if changes and not allow_changes:
        listed = _listed(changes)
        raise Deep500Error(
            f"this is not the recipe of {path}: {listed}; --allow-changes runs it all the same"
        )
    about = _about(original, bundle)
    plan = ReproductionPlan(about, float(margin), original.plan.level, changes)
    name = f"reproduce-{recipe.name}"
    with recording("reproduction", plan, folder, name=name) as record:
        again = _run_again(original, recipe, record.folder, data, events)
        _append_comparison(record, original, again, recipe, data)
        return record.finish()


def recipe_changes(
    plan: RecipePlan, recipe: Recipe, loaded_recipe: Recipe | None
) -> list[str]:
    """What differs from the recorded recipe, in words: in the recipe that would run, and in the file it comes from."""
    recorded = plan.recipe.document
    changes = _form_changes(recorded, recipe.to_json())
    recorded_digest = plan.recipe.file
    if loaded_recipe is None or loaded_recipe.source == recorded_digest:
        return changes
    as_written = {**recorded, "fixed": dict(recorded["fixed"])}
    for key, was, _ in plan.differences:
        as_written["fixed"][key] = was
    changes = _form_changes(as_written, loaded_recipe.to_json())
    digest = _clean_start(loaded_recipe.source, 12)
    expected = _clean_start(recorded_digest, 12)
    changes.append(f"the SHA-256 of its file is {digest}…, recorded is {expected}…")
    return changes


def _clean_start(value: object, length: int) -> str:
    """The first characters of a value's text, without control characters."""
    return clean(str(value))[:length]


def _form_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The entries of two canonical forms that differ."""
    changes = []
    for part in ("fixed", "mutable"):
        for key in {**before[part], **now[part]}:
            old_form = before[part].get(key)
            new_form = now[part].get(key)
            if form_hash(old_form) != form_hash(new_form):
                difference = _difference(old_form, new_form)
                changes.append(f"{part.upper()}[{key!r}] is {difference}")
    changes += _file_changes(before.get("code"), now.get("code"))
    for part in ("metrics", "claims", "tiers"):
        if form_hash(before.get(part)) != form_hash(now.get(part)):
            changes.append(f"{part.upper()} differ")
    return changes


def _file_changes(before: Any, now: Any) -> list[str]:
    """The imported files of the user that differ; plans of before do not name them."""
    if before is None:
        return []
    was = before["files"]
    files = (now or {"files": {}})["files"]
    changes = []
    for name in {**was, **files}:
        if was.get(name) != files.get(name):
            changes.append(f"the imported file {_clean_start(name, 80)} is another one")
    return changes


def _difference(was: Any, now: Any) -> str:
    """A short text about two forms that differ; two classes of the same name differ in their source."""
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        name = now.get("name", now.get("definition"))
        before = was.get("name", was.get("definition"))
        if name == before and "source" in was:
            differing = source_difference(was, now)
            return f"{_clean_start(name, 80)} {_clean_start(differing, 200)}"
    return f"{_clean_start(now, 80)}, and was {_clean_start(was, 80)}"


def _listed(changes: Sequence[str]) -> str:
    shown = "; ".join(changes[:MOST_LISTED])
    others = len(changes) - MOST_LISTED
    if others > 0:
        return f"{shown}; and {others} more"
    return shown


def _usable_record(bundle: Bundle, path: str | Path) -> RecipeRecord:
    """The record of a bundle; a Deep500Error if it cannot be reproduced."""
    record = record_of(bundle)
    if record.kind.name != "recipe":
        raise Deep500Error(
            f"{path} is of kind {record.kind.name!r}: only the run of a recipe can be reproduced"
        )
    if record.problems:
        raise Deep500Error(
            f"{path} does not verify: {record.problems[0]} (see all with `d5 verify`)"
        )
    if record.derived is None:
        raise Deep500Error(
            f"{path}: no seed was trained to its end, so nothing can be compared"
        )
    return record


def _recorded_recipe(original: RecipeRecord, loaded_recipe: Recipe | None) -> Recipe:
    """The recipe as the original ran it, from the loaded recipe or, without one, from the installed definitions."""
    plan = original.plan
    rebuilt = rebuilt_recipe(plan, loaded_recipe, trains=True)
    if loaded_recipe is None:
        details = _recorded_details(plan)
    else:
        details = {
            "source": loaded_recipe.source,
            "path": loaded_recipe.path,
            "metrics": loaded_recipe.metrics,
            "claims": loaded_recipe.claims,
            "tiers": loaded_recipe.tiers,
        }
    if plan.differences:
        details["division"] = "open"
        details["differences"] = plan.differences
    return replace(rebuilt, **details)


def _recorded_details(plan: RecipePlan) -> dict[str, Any]:
    """The metrics, claims and tiers of a recipe as its plan records them."""
    written = plan.recipe
    metrics = []
    for form, target in written.metrics:
        metrics.append((recorded_metric(form, plan), target))
    return {
        "source": None,
        "metrics": metrics,
        "claims": [recorded_claim(form, plan) for form in written.claims],
        "tiers": written.tiers,
    }


def _load_original(plan: RecipePlan, recipe_file: str | Path | None) -> Recipe | None:
    """The recipe of `recipe_file`, or without it the one of ours with the recorded name; None if a script ran it."""
    if recipe_file is not None:
        return load_recipe(recipe_file)
    recorded = plan.recipe.file
    if recorded is None:
        return None
    name = clean(plan.recipe.name)[:100]
    our_recipes = known_recipes()
    if name not in our_recipes:
        digest = _clean_start(recorded, 12)
        raise Deep500Error(
            f"the recipe {name!r} is none of ours: give its file with --recipe FILE (SHA-256 {digest}…)"
        )
    file = our_recipes[name]
    actual = hashlib.sha256(file.read_bytes()).hexdigest()
    if actual != recorded and not _is_ours(plan):
        raise Deep500Error(
            f"the recipe {name!r} of the bundle is not ours of that name: give its file with --recipe FILE"
        )
    return load_recipe(file)


def _with_definition(
    recipe: Recipe | None, key: str, text: str, path: str | Path
) -> Recipe:
    """The recipe with the definition that an option of the run named; its arguments are in the bundle."""
    if recipe is None:
        raise Deep500Error(
            f"{path} was not run by `d5 run`, so that no option named its {key}: give its recipe with --recipe FILE"
        )
    names = Names(recipe.definitions, library_maker)
    parts = parts_of(text, TABLE[key].folder, names)
    is_class = key == "optimizer" and isinstance(parts.maker, type)
    value = parts.maker if is_class else parts.whole()
    return recipe.with_settings({key: value}, "open")


def _is_ours(plan: RecipePlan) -> bool:
    """Whether the plan names no definition from outside this installation."""
    sources = plan.sources.values()
    return all(source.name.startswith("deep500.") for source in sources)


def _about(original: RecipeRecord, bundle: Bundle) -> OriginalRun:
    """The facts about the original that the three answers need."""
    numbers = numbers_of(original)
    return OriginalRun(
        bundle=str(bundle.path),
        hash=original.hash,
        name=clean(original.plan.recipe.name)[:100],
        recipe_hash=original.plan.hash,
        seeds=numbers.seeds,
        metrics=numbers.metrics,
        claims=numbers.claims,
        conditions=conditions(original.plan, original.blocks),
        documentation=documentation(original, bundle.files),
    )


def _run_again(
    original: RecipeRecord,
    recipe: Recipe,
    folder: Path,
    data: str | Path | None,
    events: Iterable[Event],
) -> RecipeRecord:
    """Train the seeds again, into a bundle beside that of the reproduction."""
    plan = original.plan
    threads = plan.threads if isinstance(plan.threads, int) else None
    outcome = run(
        recipe,
        folder.with_name(folder.name + ".run"),
        plan.tier,
        numbers_of(original).seeds,
        events=events,
        threads=threads,
        data=data,
        expected_data=plan.data,
    )
    return outcome.record


def _append_comparison(
    record: Recording,
    original: RecipeRecord,
    again: RecipeRecord,
    recipe: Recipe,
    data: str | Path | None,
) -> None:
    seeds = _compared_seeds(original, again)
    for seed in seeds:
        record.append(seed)
    before = recorded_environment(original.environment)
    now = recorded_environment(again.environment)
    differences = environment_difference(before, now)
    unstable = []
    if not all(seed.same_bits for seed in seeds):
        unstable = _unstable(recipe, again, data)
    numbers = numbers_of(again)
    second = SecondRun(
        bundle=str(again.bundle),
        hash=again.hash,
        seeds=numbers.seeds,
        metrics=numbers.metrics,
        claims=numbers.claims,
        conditions=conditions(again.plan, again.blocks),
        environment=list(map(_fact_difference, differences)),
        same_machine=not any(d.fact in MACHINE for d in differences),
        same_setup=not any(d.weight == RESULTS for d in differences),
        unstable=unstable,
    )
    record.append(second)


def _compared_seeds(
    original: RecipeRecord, again: RecipeRecord
) -> list[SeedComparison]:
    """For every seed, whether losses, weights and evaluations are the same, and where they first differ."""
    original_weights = weights_of(original.blocks)
    weights_again = weights_of(again.blocks)
    second_runs = {history.seed: history for history in trained_runs(again.blocks)}
    compared = []
    for history in trained_runs(original.blocks):
        seed = history.seed
        other = second_runs[seed]
        first, largest = _loss_difference(history.losses, other.losses)
        first_epoch = _epoch_difference(history, other)
        comparison = SeedComparison(
            seed=seed,
            same_epochs=first_epoch is None,
            first_epoch=first_epoch,
            same_losses=first is None,
            same_weights=original_weights.get(seed) == weights_again.get(seed),
            first_step=first,
            largest=largest,
        )
        compared.append(comparison)
    return compared


def _epoch_difference(before: History, again: History) -> int | None:
    """The first epoch whose evaluation differs, or that only one of them has; None if none does."""
    for x, y in zip_longest(before.looks, again.looks):
        if x is None or y is None:
            return (x or y)["epoch"]
        if x["step"] != y["step"]:
            return min(x["epoch"], y["epoch"])
        for split in ("validation", "test"):
            if not _same_qualities(x.get(split), y.get(split)):
                return x["epoch"]
    return None


def _same_qualities(
    before: Mapping[str, float] | None, again: Mapping[str, float] | None
) -> bool:
    if before is None or again is None:
        return before is again
    if before.keys() != again.keys():
        return False
    for name, value in before.items():
        other = again[name]
        if value != other and not (math.isnan(value) and math.isnan(other)):
            return False
    return True


def _loss_difference(
    before: Sequence[float], again: Sequence[float]
) -> tuple[int | None, float | None]:
    """The first step (from 1) whose loss differs, and the largest relative difference; (None, None) if none does."""
    first: int | None = None
    largest = 0.0
    for step, (x, y) in enumerate(zip(before, again, strict=False), 1):
        if x == y or (math.isnan(x) and math.isnan(y)):
            continue
        first = first or step
        scale = max(abs(x), abs(y))
        relative = abs(x - y) / scale if math.isfinite(scale) else 1.0
        largest = max(largest, relative)
    if first is not None:
        return first, largest
    if len(before) != len(again):
        return min(len(before), len(again)) + 1, 1.0
    return None, None


def _fact_difference(difference: Difference) -> FactDifference:
    return FactDifference(
        class_name=difference.class_name,
        fact=difference.fact,
        was=difference.left.value,
        now=difference.right.value,
        weight=difference.weight,
    )


def _unstable(
    recipe: Recipe, again: RecipeRecord, data: str | Path | None
) -> list[str]:
    """The operators whose results are not bit-identical when repeated; empty if there are none or none can be run."""
    adapter = recipe_framework(recipe)
    if adapter is None or recipe.has("procedure"):
        return []
    task = recipe_task(recipe)
    with errors_of_user_code(f"recipe {recipe.name}"):
        train = loaded_splits(recipe_dataset(recipe, data))["train"]
        network, _ = recipe_model(recipe, task, train, 0)
    if not isinstance(network, Network):
        return []
    batch_size = min(len(train), recipe.entry("batch_size"))
    batch = train.batch(slice(0, batch_size))
    options = {}
    threads = again.plan.threads
    if isinstance(threads, int):
        options["threads"] = threads
    return unstable_operators(adapter, network, batch, **options)
