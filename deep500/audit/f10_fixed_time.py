"""Way 10: fixed time."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier, ScalingPoint

SAME_TIME = 0.1


def asks_for_target(point: ScalingPoint) -> bool:
    """Whether time or steps to a target are given, or were asked for and not reached."""
    return bool(point.seconds_to_target or point.steps_to_target or point.target_asked)


class F10FixedTime(AuditRule):
    """A scaling series does the same work at every point, or gives the time to the same target."""

    why = (
        "Whoever trains for an hour on any number of processors gets more operations "
        "per second, and no answer sooner."
    )
    advice = "Fix the work or the target, and show the time."
    breaks = """
[[point]]
series = "scaling"
name = "1 node"
processes = 1
seconds = 3600.0
samples = 1e6
[[point]]
series = "scaling"
name = "64 nodes"
processes = 64
seconds = 3600.0
samples = 6.1e7
"""
    keeps = """
[[point]]
series = "scaling"
name = "1 node"
processes = 1
seconds = 3600.0
samples = 1e6
[[point]]
series = "scaling"
name = "64 nodes"
processes = 64
seconds = 62.0
samples = 1e6
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for points in dossier.scaling():
            first, last = points[0], points[-1]
            if not (first.seconds and last.seconds and first.samples and last.samples):
                continue
            grown = last.samples / first.samples
            same_time = abs(last.seconds / first.seconds - 1) <= SAME_TIME
            if same_time and grown >= 1.5 and not asks_for_target(last):
                yield last.fails(
                    f"as long as {first.name} with {grown:.3g} times the examples: "
                    "how much sooner there is a result is not said",
                    "seconds",
                    "samples",
                    "seconds_to_target",
                )
            else:
                yield last.passes("the time of a result is shown", "seconds")
