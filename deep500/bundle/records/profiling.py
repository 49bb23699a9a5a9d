"""Computes performance profiles from bundles of several systems on several problems."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import Deep500Error
from ...reports.blocks import Report
from ...results.outcomes.profiling import RunsProfile, runs_profile
from .loading import load, one_line


@dataclass(frozen=True)
class BundleProfiles:
    """The profiles, and the bundles that do not verify."""

    profile: RunsProfile
    bundles: Sequence[str]
    problems: Sequence[str]

    @property
    def verified(self) -> bool:
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        about = {
            "bundles": list(self.bundles),
            "verified": self.verified,
            "problems_of_bundles": list(self.problems),
        }
        return about | self.profile.to_json()

    def report(self) -> Report:
        page = self.profile.report()
        return Report(page.kicker, page.title, page.blocks, self.problems)


def profile_bundles(
    paths: Sequence[Path], metric: str | None = None, level: float = 0.95
) -> BundleProfiles:
    """Rank the systems of these bundles over their problems; every bundle must be a run of a recipe with metrics."""
    records = []
    problems: list[str] = []
    for path in paths:
        record = load(path)
        if record.kind.name != "recipe" or record.derived is None:
            raise Deep500Error(
                f"{path} holds no metrics of a recipe: a profile is made of such runs"
            )
        records.append(record)
        problems += [f"{path}: {problem}" for problem in record.problems]
    with one_line("these bundles cannot be ranked"):
        profile = runs_profile(records, metric, level)
    bundles = [str(path) for path in paths]
    return BundleProfiles(profile, bundles, problems)
