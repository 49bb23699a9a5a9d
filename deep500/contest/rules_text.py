"""The rules of a contest as a page for participants, from what contest.json and the organiser's file say."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..contracts.recipe import Recipe
from ..reports.text import clean
from ..training.planning import planned_epochs, tier_recipe

if TYPE_CHECKING:
    from .definition import Contest

RULES_FILE = "RULES.md"
COMMON = """\
The organiser runs every submission: in a sandbox without network, other files or rights, with the organiser's data and
clock. Seeds are drawn after a submission is sealed. Every attempt is judged and counted, and the log `contest.jsonl`
holds all of them. A submission that crashes, hangs or exceeds a limit counts as one that reached nothing.
"""


def rules_text(contest: "Contest", recipe: Recipe | None) -> str:
    """Markdown: what to hand in, what counts, what is fixed, the limits."""
    what = "trained networks" if recipe is not None else "kernels"
    parts = [f"# {contest.name}: a contest of {what}\n"]
    if recipe is None:
        parts.append(_kernel_part(contest))
    else:
        parts.append(_recipe_part(contest, recipe))
    parts += ["## Limits\n", _table(_limits(contest)), "\n## Judging\n", COMMON]
    return "\n".join(parts)


def _kernel_part(contest: "Contest") -> str:
    return f"""\
Hand in a Python file that defines `kernel(*inputs)`; it may import modules beside it. The organiser's `recipe.py`
draws fresh inputs, computes what is right and says how far an element may be off (TOLERANCE).

What ranks is the time of a call as a share of the reference's, in {contest.seeds} processes of {contest.visits} visits
of {contest.calls} calls; all outputs of all timed calls are checked.
"""


def _recipe_part(contest: "Contest", recipe: Recipe) -> str:
    at_tier = tier_recipe(recipe, contest.tier)
    entries = dict(at_tier.to_json()["fixed"])
    if "epochs" in entries:
        entries["epochs"] = planned_epochs(at_tier, contest.tier)
    fixed = [[key, _value(value)] for key, value in entries.items()]
    metrics = [
        [clean(metric), "reported" if target is None else _target(metric, target)]
        for metric, target in recipe.metrics
    ]
    scored = contest.scored or "the first time of these, else the first cost or rate"
    divisions = "closed: MUTABLE entries only"
    if "open" in contest.divisions:
        divisions += "; open: plain values of FIXED as well"
    return "\n".join(
        [
            f"Hand in a Python file with `MUTABLE`; it may import modules beside it. Divisions: {divisions}.\n",
            f"## What counts\n\nRanked by: {scored}, over {contest.seeds} seeds.\n",
            _table([["metric", "target"], *metrics]),
            f"\n## FIXED, at tier {contest.tier}\n",
            _table([["entry", "value"], *fixed]),
            "",
        ]
    )


def _limits(contest: "Contest") -> list[list[str]]:
    return [
        ["of a submission", "at most"],
        ["time of one seed, everything included", f"{contest.seconds:g} s"],
        ["time to load frameworks, untimed", f"{contest.load_seconds:g} s"],
        ["memory of all processes together", f"{contest.memory_mib} MiB"],
        ["processes, with threads", str(contest.processes)],
        ["threads that it is told to use", str(contest.threads)],
        ["disk, which is in memory", f"{contest.disk_mib} MiB"],
        ["size of what is handed in", f"{contest.submission_kib} KiB"],
    ]


def _target(metric: object, target: float) -> str:
    sign = "≥" if getattr(metric, "better", None) == "higher" else "≤"
    return f"{sign} {target:g}"


def _value(value: object) -> str:
    """An entry as a reader knows it: of a class, its name without the hash of its source."""
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        value = value["name"].rpartition(":")[2]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"`{clean(text)[:80]}`"


def _table(rows: Sequence[Sequence[str]]) -> str:
    first, *others = ["| " + " | ".join(row) + " |" for row in rows]
    line = "|" + "---|" * len(rows[0])
    return "\n".join([first, line, *others])
