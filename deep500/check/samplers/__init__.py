"""Checks whether a sampler does what it declares: coverage, batch sizes, and the distribution of what it draws."""

from collections.abc import Mapping
from typing import Any

from ...contracts.sampler import Sampler
from ...definition_text import parts_of
from ...errors import Deep500Error
from ...supervision.serving import Progress, silent
from ..report import CheckReport, Reports
from .checks import all_checks
from .drawing import SamplerDraws

# examples: few enough to test every one, and not a multiple of most batch sizes
SIZE = 13
EPOCHS = 2000
LEVEL = 1e-4


def check_sampler(
    sampler: Sampler,
    *,
    size: int = 0,
    epochs: int = EPOCHS,
    level: float = LEVEL,
    progress: Progress | None = None,
) -> Reports:
    """Test what a sampler draws over `size` examples (0: as many as its settings say, or 13) in `epochs` epochs.

    Each statistical check fails with probability `level` if the sampler is right. The report is true if every check
    passes. Raises `Deep500Error` if there are too few examples or epochs for the checks.
    """
    if not isinstance(sampler, Sampler):
        raise Deep500Error(f"a sampler is a d5.Sampler, not {sampler!r:.80}")
    report = drawn_report(sampler, size, epochs, level, progress or silent)
    return Reports("sampler", report.subject, [report])


def size_of(sampler: Sampler, size: int) -> int:
    """So many examples; without a number, as many as the settings of the sampler say."""
    return size or sampler.examples or SIZE


def drawn_report(
    sampler: Sampler, size: int, epochs: int, level: float, progress: Progress
) -> CheckReport:
    """The report on what a sampler draws."""
    size = size_of(sampler, size)
    progress(f"{epochs} epochs")
    if size < 2 or epochs < 100 or not 0 < level < 0.5:
        raise Deep500Error(
            f"size is {size}, epochs is {epochs} and level is {level}: checking needs 2 examples, 100 "
            "epochs and a level above 0 and below 0.5"
        )
    checks = all_checks(SamplerDraws(sampler, size, epochs), level)
    return CheckReport("sampler", repr(sampler), "", "sampler", checks)


def named_sampler(name: str, settings: Mapping[str, Any]) -> Sampler:
    """A built-in sampler, or one in a file (my.py:Class), with settings in its brackets and these by name.

    The default batch size is 4.
    """
    parts = parts_of(name, "samplers").with_settings(settings)
    if "batch_size" not in parts.given and parts.takes("batch_size"):
        parts = parts.with_settings({"batch_size": 4})
    return parts.made()
