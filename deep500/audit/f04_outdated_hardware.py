"""Way 4: outdated hardware."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier, SystemDescription

GENERATIONS = 4  # years: two generations of hardware


class F04OutdatedHardware(AuditRule):
    """Systems that are compared are of the same time, or numbers are normalised."""

    why = (
        "A new processor beats one that is six years older, whatever software is on it."
    )
    advice = (
        "Compare with hardware and software of the same years, or give every number "
        "per watt, per dollar and per peak."
    )
    breaks = """
[[system]]
name = "ours"
role = "ours"
device = "TPU v3"
year = 2018
[[system]]
name = "the other"
role = "baseline"
device = "Tesla K20"
year = 2012
"""
    keeps = """
[[system]]
name = "ours"
role = "ours"
device = "TPU v3"
year = 2018
[[system]]
name = "the other"
role = "baseline"
device = "Tesla V100"
year = 2017
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        ours = [system for system in dossier.system if system.role == "ours"]
        others = [system for system in dossier.system if system.role == "baseline"]
        if not ours:
            return
        newest = max(ours, key=lambda system: system.year or 0)
        for other in others:
            yield self._judge_pair(newest, other)

    @staticmethod
    def _judge_pair(ours: SystemDescription, other: SystemDescription) -> AuditFinding:
        if ours.year is None or other.year is None:
            unknown = ours if ours.year is None else other
            return unknown.warns(
                "the year of its hardware is not said", "device", "year"
            )
        gap = ours.year - other.year
        software = (ours.software_year or 0) - (other.software_year or 0)
        if gap >= GENERATIONS and not other.normalised:
            return other.fails(
                f"its hardware ({other.device}, {other.year}) is {gap} years older than ours",
                "device",
                "year",
                "normalised",
            )
        if gap >= 2:
            return other.warns(f"its hardware is {gap} years older", "device", "year")
        if ours.software_year and other.software_year and software >= 2:
            return other.warns(
                f"its software is {software} years older", "software_year"
            )
        return other.passes("hardware of the same time", "device", "year")
