"""A recipe's settings in words: what was run, what the open division changed, and how to go on with a run."""

import re
import shlex
from collections.abc import Mapping, Sequence

from ...reports.blocks import Table
from ...reports.tables import NOTHING
from ...reports.text import Code, Text, clean, plain, shortened
from ...training.recipe_plan import RecipePlan
from .data import OutcomeData

# entries of FIXED or MUTABLE, or the settings of a definition
Entries = Mapping[str, object]
LONGEST_VALUE = 60
SEEDS_SHOWN = 3
THIS_RUN = "this run"  # the part of a setting that the recipe does not fix
DISPLAY_NAMES = {"executor": "framework", "dataset": "data set"}


def what_was_run(data: OutcomeData) -> Table:
    """Every setting of the recipe and of this run, with the part that it belongs to."""
    recipe = data.plan.recipe
    plan = data.plan
    rows = []
    for part, entries in (("FIXED", recipe.fixed), ("MUTABLE", recipe.mutable)):
        for key, value in merged_entries(entries).items():
            setting = clean(key).replace("_", " ")
            rows.append([setting, value, part])
    rows += [
        ["epochs run", plain(plan.epochs), THIS_RUN],
        ["tier", clean(plan.tier), THIS_RUN],
        ["seeds", _first_seeds(plan.seeds), THIS_RUN],
        ["kernels", _kernels(plan), THIS_RUN],
        ["threads", _or_nothing(plan.threads), THIS_RUN],
        *_division_rows(plan),
        ["recipe hash", Code(clean(plan.hash)), THIS_RUN],
    ]
    return Table(["setting", "value", "part"], rows, "ltl")


def _first_seeds(seeds: Sequence[object]) -> str:
    """How many seeds there are, and the first of them."""
    first = ", ".join(map(plain, seeds[:SEEDS_SHOWN]))
    if len(seeds) > SEEDS_SHOWN:
        first += ", …"
    return f"{len(seeds)} ({first})"


def _division_rows(plan: RecipePlan) -> list[list[Text]]:
    """What the tier scales, the division, and the hash of FIXED alone; bundles of version 0.1.0 lack all three."""
    rows: list[list[Text]] = []
    if plan.scale is not None:
        scale = []
        for key, value in plan.scale.items():
            scale.append(f"{clean(key)} {plain(value)}")
        rows.append(["the tier scales", ", ".join(scale), THIS_RUN])
    if plan.division is not None:
        rows.append(["division", clean(plan.division), THIS_RUN])
    if plan.fixed_hash is not None:
        fixed_hash = Code(clean(plan.fixed_hash))
        rows.append(["hash of FIXED", fixed_hash, THIS_RUN])
    return rows


def _kernels(plan: RecipePlan) -> str:
    """How many nodes ran a native kernel and how many our formula, and which one the update ran."""
    if plan.kernels is None:
        return NOTHING
    of_nodes = list(plan.kernels.values())
    native = of_nodes.count("native")
    composed = of_nodes.count("composed")
    update = _or_nothing(plan.update)
    return f"{native} native, {composed} composed; update {update}"


def _or_nothing(value: object) -> str:
    return NOTHING if value is None else plain(value)


def fixed_differences(plan: RecipePlan) -> list[Text]:
    """A sentence for each entry of FIXED that the open division changed."""
    sentences: list[Text] = []
    for key, was, now in plan.differences:
        before = shortened(short_value(was), LONGEST_VALUE)
        after = shortened(short_value(now), LONGEST_VALUE)
        sentences.append(
            f"Open division: FIXED {clean(key)!r} is {after}, and the recipe has {before}: this is not a result "
            "of the recipe as it stands."
        )
    return sentences


def resuming(data: OutcomeData) -> list[Text]:
    """The command that resumes an unfinished run, with every MUTABLE value, whether it was set by an option or not."""
    if data.finished:
        return []
    plan = data.plan
    recipe_file = f"recipes/{plan.recipe.name}.py"
    seeds = str(len(plan.seeds))
    arguments = [
        "d5",
        "run",
        recipe_file,
        "--tier",
        plan.tier,
        "--seeds",
        seeds,
    ]
    arguments += ["--out", data.bundle, "--resume"]
    arguments += _changed_options(plan)
    quoted = [shlex.quote(clean(argument)) for argument in arguments]
    return [
        "Go on with it: ",
        Code(" ".join(quoted)),
        " (with the path of the recipe's file, if it lies elsewhere).",
    ]


def _changed_options(plan: RecipePlan) -> list[str]:
    """The options of `d5 run` that give these MUTABLE entries, these threads and this division."""
    mutable = plan.recipe.mutable
    options = []
    threads = plan.threads
    if isinstance(threads, int) and threads != 1:
        options += ["--threads", str(threads)]
    framework = _framework_name(mutable.get("executor"))
    if framework:
        options += ["--framework", framework]
    for key, value in mutable.items():
        if isinstance(value, int | float | list):
            options += ["--set", f"{key}={value!r}"]
    if plan.division == "open":
        options += ["--division", "open"]
    for key, _, now in plan.differences:
        options += ["--set", f"{key}={now!r}"]
    return options


def merged_entries(entries: Entries) -> dict[str, Text]:
    """The entries of one part, each definition with its arguments: Momentum(0.1, 0.9)."""
    merged = {}
    for key, value in entries.items():
        is_arguments = key.endswith(("_args", "_kwargs"))
        if is_arguments and key.rpartition("_")[0] in entries:
            continue
        positional = entries.get(f"{key}_args")
        named = entries.get(f"{key}_kwargs")
        name = DISPLAY_NAMES.get(key, key)
        merged[name] = _call(value, _arguments(positional, named))
    return merged


def _arguments(positional: object, named: object) -> list[str]:
    arguments: list[str] = []
    if isinstance(positional, list):
        arguments += map(plain, positional)
    if isinstance(named, Mapping):
        arguments += _assignments(named)
    return arguments


def _assignments(settings: Entries) -> list[str]:
    assignments = []
    for key, value in settings.items():
        assignments.append(f"{clean(key)}={_setting_text(value)}")
    return assignments


def _setting_text(value: object) -> str:
    """A setting on one line; an array by its dtype and shape."""
    if not isinstance(value, Mapping):
        return plain(value)
    if isinstance(value.get("array"), str):
        return clean(value["array"])
    if any(isinstance(item, Mapping) for item in value.values()):
        return f"{{{', '.join(_assignments(value))}}}"
    return plain(value)


def _call(value: object, arguments: Sequence[str]) -> Text:
    """A definition with its arguments as code; a plain value as text."""
    name = short_value(value)
    if arguments:
        return Code(f"{name}({', '.join(arguments)})")
    if name != plain(value):
        return Code(name)
    return name


def short_value(value: object) -> str:
    """A framework, class or function by its name, a definition with its settings, any other value as it is."""
    framework = _framework_name(value)
    if framework:
        return framework
    if not isinstance(value, Mapping):
        return plain(value)
    settings = value.get("settings")
    if isinstance(settings, Mapping):
        definition = plain(value.get("definition"))
        arguments = ", ".join(_assignments(settings))
        return f"{definition}({arguments})"
    name = value.get("name")
    if isinstance(name, str):
        return clean(name.rpartition(":")[2])
    return plain(value)


def _framework_name(executor: object) -> str | None:
    """The name of one of our frameworks, if it makes the executor; else None."""
    if not isinstance(executor, Mapping):
        return None
    name = executor.get("name")
    if not isinstance(name, str):
        return None
    match = re.match(r"deep500\.frameworks\.(\w+):\w+\.from_model$", name)
    return match[1] if match else None
