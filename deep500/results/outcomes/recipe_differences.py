"""In what two recipes and their runs differ: settings, sources, data, and the hash of FIXED."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...contracts.result import Record
from ...hashing.canonical_form import form_hash
from ...hashing.own_code import fixed_form_hash
from ...reports.blocks import Block, Bullets, Sentence, Table
from ...reports.text import Text, clean, plain
from .recipe_text import short_value

THIS_RUN = (
    "epochs",
    "tier",
    "scale",
    "seeds",
    "threads",
    "division",
    "kernels",
    "update",
)
MOST_FILES = 5
LABELS = {"fixed": "FIXED", "mutable": "MUTABLE", "run": "this run"}
# part -> rows of key, value in A, value in B
Differences = dict[str, list[list[Any]]]


def recipe_differences(a: Record, b: Record) -> Differences:
    """The settings that differ, by the part of the plan that they belong to."""
    run = []
    for key in THIS_RUN:
        value_a = a.plan.get(key)
        value_b = b.plan.get(key)
        if value_a != value_b:
            run.append([key, value_a, value_b])
    return {
        "fixed": _part_differences(a, b, "fixed"),
        "mutable": _part_differences(a, b, "mutable"),
        "run": run,
    }


def _part_differences(a: Record, b: Record, part: str) -> list[list[Any]]:
    """The entries of FIXED or MUTABLE that differ by more than the source of a definition of ours."""
    entries_a = a.plan["recipe"][part]
    entries_b = b.plan["recipe"][part]
    rows = []
    for key in dict.fromkeys([*entries_a, *entries_b]):
        value_a = entries_a.get(key)
        value_b = entries_b.get(key)
        if value_a != value_b and not _same_but_source(value_a, value_b):
            rows.append([key, value_a, value_b])
    return rows


def _same_but_source(a: Any, b: Any) -> bool:
    """Whether both are the same class of ours, in two versions of Deep500."""
    if not isinstance(a, Mapping) or not isinstance(b, Mapping):
        return False
    name = a.get("name")
    if not isinstance(name, str) or not name.startswith("deep500."):
        return False
    if name != b.get("name"):
        return False
    return a.keys() == b.keys() == {"name", "source"}


def changed_sources(a: Record, b: Record) -> list[str]:
    """The keys of FIXED whose definition is one of ours in both runs, with another source in B."""
    fixed_a = a.plan["recipe"]["fixed"]
    fixed_b = b.plan["recipe"]["fixed"]
    sources_a = a.plan.get("sources", {})
    sources_b = b.plan.get("sources", {})
    changed = []
    for key, form_a in fixed_a.items():
        form_b = fixed_b.get(key)
        hash_a = sources_a.get(key, {}).get("source")
        hash_b = sources_b.get(key, {}).get("source")
        if form_a == form_b:
            both_recorded = hash_a is not None and hash_b is not None
            is_changed = both_recorded and hash_a != hash_b
        else:
            is_changed = _same_but_source(form_a, form_b)
        if is_changed:
            changed.append(key)
    return changed


def recipe_identity(record: Record) -> dict[str, Any]:
    """The hashes that say which recipe and which data a record is of."""
    plan = record.plan
    return {
        "hash": plan.get("hash"),
        "fixed_hash": fixed_hash(record),
        "metrics_hash": form_hash(plan["recipe"].get("metrics")),
        "data": plan.get("data", {}),
    }


def fixed_hash(record: Record) -> str:
    """The hash of FIXED as it was recorded; a hash in the plan is not trusted."""
    return fixed_form_hash(record.plan["recipe"])


def fixed_hashes(a: Record, b: Record) -> tuple[str, str]:
    """The hashes of FIXED; the user's files behind it count if both runs recorded them."""
    hashes = []
    for record in (a, b):
        recipe = dict(record.plan["recipe"])
        if not _both_record_files(a, b):
            recipe.pop("code", None)
        hashes.append(fixed_form_hash(recipe))
    return hashes[0], hashes[1]


def _both_record_files(a: Record, b: Record) -> bool:
    """Whether no run is of a version that did not record the user's imported files."""
    return "examples" in a.plan and "examples" in b.plan


def _fixed_files(record: Record) -> dict[str, str]:
    """The user's files behind FIXED, with their hashes."""
    return record.plan["recipe"].get("code", {}).get("fixed", {})


def own_code_differences(a: Record, b: Record) -> list[str]:
    """The files of the user that differ, or that only one of the runs has."""
    imports = _both_record_files(a, b)
    files_a = _own_files(a, imports)
    files_b = _own_files(b, imports)
    differing = []
    for name in dict.fromkeys([*files_a, *files_b]):
        if files_a.get(name) != files_b.get(name):
            differing.append(name)
    return differing


def _own_files(record: Record, imports: bool) -> dict[str, str]:
    """The user's files by name; a recipe's own file may have another name in another run."""
    recipe = record.plan["recipe"]
    files = recipe.get("code", {}).get("files", {}) if imports else {}
    own = {"the recipe's file": recipe["file"]} if recipe.get("file") else {}
    return own | files


def difference_blocks(differences: Differences, a: Record, b: Record) -> list[Block]:
    """Whether A and B ran the same recipe, a table of what differs, and the hashes that prove it."""
    rows = []
    for part, label in LABELS.items():
        for key, value_a, value_b in differences[part]:
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


def source_difference(a: Any, b: Any) -> str:
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


def _same_recipe(differences: Mapping[str, Sequence[Any]], a: Record, b: Record) -> str:
    own = own_code_differences(a, b)
    files = ", ".join(map(clean, own[:MOST_FILES]))
    if len(own) > MOST_FILES:
        files += f" and {len(own) - MOST_FILES} more"
    if differences["fixed"]:
        return "FIXED differs: A and B are runs of two different recipes."
    if _both_record_files(a, b) and _fixed_files(a) != _fixed_files(b):
        return (
            f"The entries of FIXED are the same in both, but own files that they come from differ ({files}): A and B "
            "are runs of two different recipes."
        )
    same = "FIXED and MUTABLE are the same in both"
    if differences["mutable"]:
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


def _proof(a: Record, b: Record) -> list[Text]:
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
    if of_a["metrics_hash"] != of_b["metrics_hash"]:
        lines.append("METRICS differ: another metric, or another target.")
    data_a = of_a["data"]
    data_b = of_b["data"]
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
