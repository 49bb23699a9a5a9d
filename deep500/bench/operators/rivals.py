"""Operators that are given together: rivals on the same inputs, with names that tell them apart."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ... import registry
from ...custom.operator_text import OperatorText, parsed_operator
from .jobs import BenchProblem


def rival_problems(
    operators: Sequence[str],
    shapes: Sequence[str],
    attributes: Mapping[str, Any],
    reference: str = "",
) -> list[BenchProblem]:
    """A problem for every operator and shape; several operators are rivals, the built-in ones come first.

    To a user's operator alone, the built-in operator of its name is added, or the one that is its reference.
    """
    rivals = _with_built_in(_distinct(operators), reference)
    for rival in rivals:
        if not rival.file and not Path(rival.name).suffix:
            registry.find("operators", rival.name)  # raises if there is none
    rivals.sort(key=lambda rival: bool(rival.file))
    labels = _labels(rivals)
    problems = []
    for shape in shapes:
        for rival, label in zip(rivals, labels, strict=True):
            settings = {**attributes, **rival.attributes}
            problem = BenchProblem(
                rival.address,
                settings,
                shape,
                rival=label if len(rivals) > 1 else "",
            )
            problems.append(problem)
    return problems


def _distinct(operators: Sequence[str]) -> list[OperatorText]:
    """Every operator once, although it may be written in several ways."""
    rivals: dict[tuple[str, str, str], OperatorText] = {}
    for text in operators:
        rival = parsed_operator(text)
        place = str(Path(rival.file).resolve()) if rival.file else ""
        key = (place, rival.name, repr(rival.attributes))
        rivals.setdefault(key, rival)
    return list(rivals.values())


def _with_built_in(rivals: list[OperatorText], reference: str) -> list[OperatorText]:
    """With the built-in operator that a user's own is to be compared with, where that is clear."""
    built_in = {_letters(name): name for name in registry.known("operators")}
    if not all(rival.file for rival in rivals):
        return rivals
    name = built_in.get(_letters(reference))
    if name is None and len(rivals) == 1:
        name = built_in.get(_letters(rivals[0].name))
    if name is None:
        return rivals
    return [OperatorText(name, {}), *rivals]


def _letters(name: str) -> str:
    return name.replace("_", "").lower()


def _labels(rivals: Sequence[OperatorText]) -> list[str]:
    """The names, each with as much of its path as tells it from others of the name."""
    names = Counter(rival.name for rival in rivals)
    labels = []
    for rival in rivals:
        label = rival.name
        if names[rival.name] > 1 and rival.file:
            label = f"{rival.name} ({_short_path(rival, rivals)})"
        labels.append(label)
    return labels


def _short_path(rival: OperatorText, rivals: Sequence[OperatorText]) -> str:
    """The last parts of the path of its file, as few as no other operator of its name has."""
    parts = Path(rival.file).parts
    others = []
    for other in rivals:
        if other is not rival and other.name == rival.name:
            others.append(Path(other.file).parts)
    for count in range(1, len(parts)):
        end = parts[-count:]
        if all(other[-count:] != end for other in others):
            return "/".join(end)
    return rival.file
