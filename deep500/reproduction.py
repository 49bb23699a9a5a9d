"""Reproduce a result: run the recipe of a bundle again, and say what came out again."""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .bundle import Bundle, read
from .contracts.canonical_form import form_hash
from .contracts.network import Network
from .contracts.recipe import Recipe
from .contracts.result import Record
from .errors import Deep500Error, errors_of_user_code
from .evidence.loading import record_of
from .evidence.recording import Recording, recording
from .evidence.resumption import recorded_environment
from .measure.machine import Difference, environment_difference
from .measure.machine.table import RESULTS
from .recipe_files import known_recipes, load_recipe
from .recipe_runner import run
from .reports.text import clean
from .results.outcomes.comparing import MACHINE
from .results.outcomes.rebuilding import rebuilt_recipe
from .results.reproductions.documentation import documentation
from .training.building import (
    recipe_dataset,
    recipe_framework,
    recipe_model,
    recipe_task,
)
from .training.claims import recorded_claim
from .training.events import Event
from .training.metric_summary import recorded_metric
from .training.outcome import trained_runs
from .validation.networks.determinism import unstable_operators

MARGIN = 1.5  # points of a quality in %, per cent of the median of any other one
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
) -> Record:
    """Train every seed of a bundle again and compare; returns the record of a bundle with three answers.

    The recipe is taken from `recipe_file`, from one of ours of the same name, or, where it consists of our
    definitions alone, from its canonical form. Code from the bundle is never run. A recipe that is not the recorded
    one is refused, unless `allow_changes` says to go on and record what differs.
    """
    if not 0 < margin < math.inf:
        raise Deep500Error(f"the margin is {margin!r}: give a number above 0")
    found = read(path)
    original = _usable_record(found, path)
    own = _own_recipe(original.plan, recipe_file)
    recipe = _recorded_recipe(original, own)
    changes = recipe_changes(original.plan, recipe, own)
    if changes and not allow_changes:
        raise Deep500Error(
            f"this is not the recipe of {path}: {_listed(changes)}; --allow-changes runs it all the same"
        )
    plan = {
        "original": _about(original, found),
        "margin": float(margin),
        "level": original.plan["level"],
        "changes": changes,
    }
    with recording(
        "reproduction", plan, folder, name=f"reproduce-{recipe.name}"
    ) as record:
        again = _run_again(original, recipe, record.folder, data, events)
        _append_comparison(record, original, again, recipe, data)
        return record.finish()


def recipe_changes(
    plan: Mapping[str, Any], recipe: Recipe, own: Recipe | None
) -> list[str]:
    """What differs from the recorded recipe, in words: in the recipe that would run, and in the user's file."""
    recorded = plan["recipe"]
    changes = _form_changes(recorded, recipe.to_json())
    if own is None or own.source == recorded.get("file"):
        return changes
    as_written = {**recorded, "fixed": dict(recorded["fixed"])}
    for key, was, _ in plan.get("differences", ()):
        as_written["fixed"][key] = was
    changes = _form_changes(as_written, own.to_json())
    sides = [clean(str(side))[:12] for side in (own.source, recorded.get("file"))]
    changes.append(f"the SHA-256 of its file is {sides[0]}…, recorded is {sides[1]}…")
    return changes


def _form_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The entries of two canonical forms that differ."""
    changes = []
    for part in ("fixed", "mutable"):
        for key in {**before[part], **now[part]}:
            was, found = before[part].get(key), now[part].get(key)
            if form_hash(was) != form_hash(found):
                changes.append(f"{part.upper()}[{key!r}] is {_difference(was, found)}")
    for part in ("metrics", "claims", "tiers"):
        if form_hash(before.get(part)) != form_hash(now.get(part)):
            changes.append(f"{part.upper()} differ")
    return changes


def _difference(was: Any, now: Any) -> str:
    """Two values in few words; of two classes of the same name, the source is what differs."""
    same_name = isinstance(was, Mapping) and isinstance(now, Mapping)
    if same_name and was.get("name") == now.get("name") and "source" in was:
        return f"{clean(str(now.get('name')))[:80]} with another source"
    return f"{clean(str(now))[:80]}, and was {clean(str(was))[:80]}"


def _listed(changes: Sequence[str]) -> str:
    shown = "; ".join(changes[:MOST_LISTED])
    others = len(changes) - MOST_LISTED
    return f"{shown}; and {others} more" if others > 0 else shown


def _usable_record(found: Bundle, path: str | Path) -> Record:
    record = record_of(found)
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


def _recorded_recipe(original: Record, own: Recipe | None) -> Recipe:
    """The recipe as the original ran it, from the user's file or from this installation."""
    plan = original.plan
    rebuilt = rebuilt_recipe(plan, own, trains=True)
    written = plan["recipe"]
    details: dict[str, Any] = {"source": own.source if own else None}
    if own is not None:
        details |= {"metrics": own.metrics, "claims": own.claims, "tiers": own.tiers}
    else:
        details["metrics"] = [
            (recorded_metric(form, plan), target) for form, target in written["metrics"]
        ]
        details["claims"] = [
            recorded_claim(form, plan) for form in written.get("claims", [])
        ]
        details["tiers"] = written.get("tiers", {})
    if "differences" in plan:
        details["division"] = "open"
        details["differences"] = [
            tuple(difference) for difference in plan["differences"]
        ]
    return replace(rebuilt, **details)


def _own_recipe(
    plan: Mapping[str, Any], recipe_file: str | Path | None
) -> Recipe | None:
    """The recipe of the file that is named, or of ours by its name; None if a script ran it."""
    if recipe_file is not None:
        return load_recipe(recipe_file)
    recorded = plan["recipe"].get("file")
    if recorded is None:
        return None
    name = clean(plan["recipe"]["name"])[:100]
    known = known_recipes()
    if name not in known:
        raise Deep500Error(
            f"the recipe {name!r} is none of ours: give its file with --recipe FILE (SHA-256 "
            f"{clean(str(recorded))[:12]}…)"
        )
    actual = hashlib.sha256(known[name].read_bytes()).hexdigest()
    if actual != recorded and not _is_ours(plan):
        raise Deep500Error(
            f"the recipe {name!r} of the bundle is not ours of that name: give its file with --recipe FILE"
        )
    return load_recipe(known[name])


def _is_ours(plan: Mapping[str, Any]) -> bool:
    """Whether every definition of the recipe is one of this installation, as far as the plan says."""
    names = [str(entry.get("name")) for entry in plan.get("sources", {}).values()]
    return all(name.startswith("deep500.") for name in names)


def _about(original: Record, found: Bundle) -> dict[str, Any]:
    """What the answers need to know of the original."""
    derived = original.derived or {}
    return {
        "bundle": str(found.path),
        "hash": original.hash,
        "name": clean(original.plan["recipe"]["name"])[:100],
        "recipe_hash": original.plan["hash"],
        "seeds": derived["seeds"],
        "metrics": derived["metrics"],
        "claims": derived.get("claims", []),
        "documentation": documentation(original, found.files),
    }


def _run_again(
    original: Record,
    recipe: Recipe,
    folder: Path,
    data: str | Path | None,
    events: Iterable[Event],
) -> Record:
    """Train the seeds again, into a bundle beside that of the reproduction."""
    plan = original.plan
    threads = plan.get("threads")
    place = folder.with_name(folder.name + ".run")
    outcome = run(
        recipe,
        place,
        plan["tier"],
        len(plan["seeds"]),
        events=events,
        threads=threads if isinstance(threads, int) else None,
        data=data,
        expected_data=plan.get("data"),
    )
    return outcome.record


def _append_comparison(
    record: Recording,
    original: Record,
    again: Record,
    recipe: Recipe,
    data: str | Path | None,
) -> None:
    blocks = _compared_seeds(original, again)
    for block in blocks:
        record.append(block)
    derived = again.derived or {}
    differences = environment_difference(
        recorded_environment(original.environment),
        recorded_environment(again.environment),
    )
    facts = [_change(difference) for difference in differences]
    same_machine = not any(d.fact in MACHINE for d in differences)
    same_setup = not any(d.weight == RESULTS for d in differences)
    same_bits = all(block["same_losses"] and block["same_weights"] for block in blocks)
    unstable = [] if same_bits else _unstable(recipe, again, data)
    record.append(
        {
            "seeds": derived["seeds"],
            "metrics": derived["metrics"],
            "claims": derived.get("claims", []),
            "environment": facts,
            "same_machine": same_machine,
            "same_setup": same_setup,
            "unstable": unstable,
            "bundle": str(again.bundle),
            "hash": again.hash,
        }
    )


def _compared_seeds(original: Record, again: Record) -> list[dict[str, Any]]:
    """For every seed: the same losses, the same weights, and where they first differ."""
    weights = [
        {b["seed"]: b["weights"] for b in side.blocks if "test" in b}
        for side in (original, again)
    ]
    second_runs = {history.seed: history for history in trained_runs(again.blocks)}
    blocks = []
    for history in trained_runs(original.blocks):
        seed = history.seed
        other = second_runs[seed]
        first, largest = _loss_difference(history.losses, other.losses)
        blocks.append(
            {
                "seed": seed,
                "same_losses": first is None,
                "same_weights": weights[0][seed] == weights[1][seed],
                "first_step": first,
                "largest": largest,
            }
        )
    return blocks


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
    if first is None and len(before) != len(again):
        return min(len(before), len(again)) + 1, 1.0
    return (first, largest) if first is not None else (None, None)


def _change(difference: Difference) -> dict[str, Any]:
    return {
        "class": difference.class_name,
        "fact": difference.fact,
        "was": difference.left.value,
        "now": difference.right.value,
        "weight": difference.weight,
    }


def _unstable(recipe: Recipe, again: Record, data: str | Path | None) -> list[str]:
    """The operators that do not repeat their bits here; empty if none was found, or none can be looked at."""
    adapter = recipe_framework(recipe)
    if adapter is None or recipe.has("procedure"):
        return []
    task = recipe_task(recipe)
    with errors_of_user_code(f"recipe {recipe.name}"):
        train = recipe_dataset(recipe, data).load()["train"]
        network, _ = recipe_model(recipe, task, train, 0)
    if not isinstance(network, Network):
        return []
    batch = train.batch(slice(0, min(len(train), recipe.entry("batch_size"))))
    threads = again.plan["threads"]
    options = {"threads": threads} if isinstance(threads, int) else {}
    return unstable_operators(adapter, network, batch, **options)
