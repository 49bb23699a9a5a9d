"""In what two recipes and their runs differ: settings, sources, data, and the hash of FIXED."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...hashing.canonical_form import form_hash
from ...hashing.own_code import fixed_form_hash
from ...reports.blocks import Block, Bullets, Sentence, Table
from ...reports.text import Text, clean, plain
from ...training.recipe_plan import RecipePlan
from .data import RecipeRecord
from .recipe_text import short_value
from .setting_difference import SettingDifference, setting_differences

MOST_FILES = 5


@dataclass(frozen=True)
class RecipeDifferences:
    """The settings that differ, by the part of the plan that they belong to."""

    fixed: Sequence[SettingDifference]
    mutable: Sequence[SettingDifference]
    run: Sequence[SettingDifference]


def recipe_differences(a: RecipeRecord, b: RecipeRecord) -> RecipeDifferences:
    """The settings that differ by more than the source of a definition of ours."""
    recipe_a, recipe_b = a.plan.recipe, b.plan.recipe
    return RecipeDifferences(
        _by_more_than_source(recipe_a.fixed, recipe_b.fixed),
        _by_more_than_source(recipe_a.mutable, recipe_b.mutable),
        setting_differences(_settings_of_run(a.plan), _settings_of_run(b.plan)),
    )


def _settings_of_run(plan: RecipePlan) -> dict[str, object]:
    return {
        "epochs": plan.epochs,
        "tier": plan.tier,
        "scale": plan.scale,
        "seeds": plan.seeds,
        "threads": plan.threads,
        "division": plan.division,
        "kernels": plan.kernels,
        "update": plan.update,
    }


def _by_more_than_source(
    a: Mapping[str, object], b: Mapping[str, object]
) -> list[SettingDifference]:
    rows = setting_differences(a, b)
    return [row for row in rows if not _same_but_source(row.a, row.b)]


def _same_but_source(a: object, b: object) -> bool:
    """Whether both are the same class of ours, in two versions of Deep500."""
    if not isinstance(a, Mapping) or not isinstance(b, Mapping):
        return False
    name = a.get("name")
    if not isinstance(name, str) or not name.startswith("deep500."):
        return False
    if name != b.get("name"):
        return False
    return a.keys() == b.keys() == {"name", "source"}


def changed_sources(a: RecipeRecord, b: RecipeRecord) -> list[str]:
    """The keys of FIXED whose definition is one of ours in both runs, with another source in B."""
    fixed_a = a.plan.recipe.fixed
    fixed_b = b.plan.recipe.fixed
    sources_a = a.plan.sources
    sources_b = b.plan.sources
    changed = []
    for key, form_a in fixed_a.items():
        form_b = fixed_b.get(key)
        is_changed = _same_but_source(form_a, form_b)
        if form_a == form_b and key in sources_a and key in sources_b:
            hashes = {sources_a[key].source, sources_b[key].source}
            is_changed = None not in hashes and len(hashes) == 2
        if is_changed:
            changed.append(key)
    return changed


@dataclass(frozen=True)
class RecipeIdentity:
    """The hashes that say which recipe and which data a record is of; no hash in a plan is trusted."""

    hash: str
    fixed_hash: str
    metrics_hash: str
    data: Mapping[str, str]


def recipe_identity(record: RecipeRecord) -> RecipeIdentity:
    """The hashes of a record."""
    plan = record.plan
    form = plan.recipe.document
    return RecipeIdentity(
        plan.hash, fixed_form_hash(form), form_hash(form["metrics"]), plan.data
    )


def fixed_hash(record: RecipeRecord) -> str:
    """The hash of FIXED as it was recorded."""
    return recipe_identity(record).fixed_hash


def fixed_hashes(a: RecipeRecord, b: RecipeRecord) -> tuple[str, str]:
    """The hashes of FIXED; the user's files behind it count if both runs recorded them."""
    if _both_record_files(a, b):
        return fixed_hash(a), fixed_hash(b)
    return form_hash(a.plan.recipe.fixed), form_hash(b.plan.recipe.fixed)


def _both_record_files(a: RecipeRecord, b: RecipeRecord) -> bool:
    """Whether no run is of a version that did not record the user's imported files."""
    return a.plan.examples is not None and b.plan.examples is not None


def own_code_differences(a: RecipeRecord, b: RecipeRecord) -> list[str]:
    """The files of the user that differ, or that only one of the runs has."""
    imports = _both_record_files(a, b)
    files_a = _own_files(a, imports)
    files_b = _own_files(b, imports)
    differing = []
    for name in dict.fromkeys([*files_a, *files_b]):
        if files_a.get(name) != files_b.get(name):
            differing.append(name)
    return differing


def _own_files(record: RecipeRecord, imports: bool) -> dict[str, str]:
    """The user's files by name; a recipe's own file may have another name in another run."""
    recipe = record.plan.recipe
    files = recipe.code.files if imports else {}
    own = {"the recipe's file": recipe.file} if recipe.file else {}
    return {**own, **files}


def difference_blocks(
    differences: RecipeDifferences, a: RecipeRecord, b: RecipeRecord
) -> list[Block]:
    """Whether A and B ran the same recipe, a table of what differs, and the hashes that prove it."""
    rows = []
    parts = {
        "FIXED": differences.fixed,
        "MUTABLE": differences.mutable,
        "this run": differences.run,
    }
    for label, settings in parts.items():
        for key, value_a, value_b in settings:
            text_a = _setting(value_a)
            text_b = _setting(value_b)
            if text_a == text_b:
                difference = source_difference(value_a, value_b)
                text_b += difference or " with other values"
            rows.append([clean(key).replace("_", " "), text_a, text_b, label])
    return [
        Sentence(_same_recipe(differences, a, b)),
        Table(["setting", "A", "B", "part"], rows, "lttl"),
        Bullets(_proof(a, b)),
    ]


def source_difference(a: object, b: object) -> str:
    """In what two definitions of one name differ, to follow the name; empty if it is in nothing of their source."""
    if not isinstance(a, Mapping) or not isinstance(b, Mapping):
        return ""
    differing = []
    if a.get("source") != b.get("source"):
        differing.append("source")
    uses_a = a.get("uses", {})
    uses_b = b.get("uses", {})
    for name in dict.fromkeys([*uses_a, *uses_b]):
        if uses_a.get(name) != uses_b.get(name):
            differing.append(clean(name))
    if not differing:
        return ""
    return f" with another {', '.join(differing)}"


def _same_recipe(
    differences: RecipeDifferences, a: RecipeRecord, b: RecipeRecord
) -> str:
    own = own_code_differences(a, b)
    files = ", ".join(map(clean, own[:MOST_FILES]))
    if len(own) > MOST_FILES:
        files += f" and {len(own) - MOST_FILES} more"
    if differences.fixed:
        return "FIXED differs: A and B are runs of two different recipes."
    if (
        _both_record_files(a, b)
        and a.plan.recipe.code.fixed != b.plan.recipe.code.fixed
    ):
        return (
            f"The entries of FIXED are the same in both, but own files that they come from differ ({files}): A and B "
            "are runs of two different recipes."
        )
    same = "FIXED and MUTABLE are the same in both"
    if differences.mutable:
        same = (
            "FIXED is the same in both; what differs is MUTABLE, which a recipe allows"
        )
    if not own:
        return f"{same}."
    entries = same.replace("FIXED", "The entries of FIXED", 1).replace(
        "is the same", "are the same"
    )
    return (
        f"{entries}; but own code differs ({files}), and what it does besides, no hash can say: read it before you "
        "take the runs for the same recipe."
    )


def _proof(a: RecipeRecord, b: RecipeRecord) -> list[Text]:
    """Whether both ran the same FIXED part: by its hash, by the sources of our definitions, and by the data."""
    of_a = recipe_identity(a)
    of_b = recipe_identity(b)
    fixed_a, fixed_b = fixed_hashes(a, b)
    lines: list[Text] = []
    if fixed_a == fixed_b:
        lines.append(f"The SHA-256 of FIXED is the same in both: {fixed_a}.")
    else:
        lines.append(f"The SHA-256 of FIXED is {fixed_a} in A, {fixed_b} in B.")
    for key in changed_sources(a, b):
        subject = clean(key).replace("_", " ")
        lines.append(
            f"The source of the {subject} differs: two versions of Deep500 ran it."
        )
    if of_a.metrics_hash != of_b.metrics_hash:
        lines.append("METRICS differ: another metric, or another target.")
    data_a = of_a.data
    data_b = of_b.data
    if data_a and data_b and data_a != data_b:
        lines.append("The data differ: their checksums are not the same.")
    return lines


def _setting(value: object) -> str:
    """A setting in few words; the kernels of a network as counts."""
    if value is None:
        return plain(None)
    if isinstance(value, Mapping):
        kernels = list(value.values())
        native = kernels.count("native")
        composed = kernels.count("composed")
        if kernels and native + composed == len(kernels):
            return f"{native} native, {composed} composed"
    return short_value(value)
