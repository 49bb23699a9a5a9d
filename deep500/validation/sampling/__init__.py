"""Checks whether a sampler does what it declares: coverage, batch sizes, and the distribution of what it draws."""

from collections.abc import Mapping
from typing import Any

from ... import registry
from ...contracts.sampler import Sampler
from ...custom.loading import load_class
from ...errors import Deep500Error
from ...supervision.serving import Progress
from .checks import all_checks
from .drawing import SamplerDraws
from .report import SamplerReport

SIZE = 13  # examples: few enough to test every one, and not a multiple of most batch sizes
EPOCHS = 2000
LEVEL = 1e-4


def check_sampler(
    sampler: Sampler, size: int = 0, epochs: int = EPOCHS, level: float = LEVEL
) -> SamplerReport:
    """Test what a sampler draws over `size` examples (0: as many as its settings say, or 13) in `epochs` epochs.

    Each statistical check fails with probability `level` if the sampler is right. The report is true if every check
    passes. Raises `Deep500Error` if there are too few examples or epochs for the checks.
    """
    if not isinstance(sampler, Sampler):
        raise Deep500Error(f"a sampler is a d5.Sampler, not {sampler!r:.80}")
    size = size or sampler.examples or SIZE
    if size < 2 or epochs < 100 or not 0 < level < 0.5:
        raise Deep500Error(
            f"size is {size}, epochs is {epochs} and level is {level}: checking needs 2 examples, 100 "
            "epochs and a level above 0 and below 0.5"
        )
    checks = all_checks(SamplerDraws(sampler, size, epochs), level)
    return SamplerReport(repr(sampler), size, epochs, level, checks)


def named_sampler(name: str, settings: Mapping[str, Any]) -> Sampler:
    """A built-in sampler, or one in a file (my.py:Class), with these settings; the default batch size is 4."""
    file, colon, class_name = name.rpartition(":")
    definition: Any
    if colon and not file.endswith(".py"):
        raise Deep500Error(
            f"{file} is no Python file: name a sampler as my.py:Class"
        )
    if colon:
        definition = load_class(file, class_name, Sampler, "sampler")
    else:
        definition = registry.named("samplers", name)
    options = {"batch_size": 4} | dict(settings)
    try:
        return definition(**options)
    except TypeError as error:
        raise Deep500Error(
            f"the sampler {name} cannot be made: {error}"
        ) from None


def check_named_sampler(
    name: str,
    settings: Mapping[str, Any],
    size: int,
    epochs: int,
    level: float,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Check a sampler by its name, and return the report as JSON."""
    sampler = named_sampler(name, settings)
    report = check_sampler(sampler, size, epochs, level)
    return report.to_json()
