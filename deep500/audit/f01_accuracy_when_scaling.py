"""Way 1: accuracy when scaling."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier

MUCH = 0.02  # of the quality at the first point


class F01AccuracyWhenScaling(AuditRule):
    """Every point of a scaling series has the quality that was reached there."""

    why = (
        "Training gets faster on more processors for ever, if nobody asks what was "
        "learnt."
    )
    advice = (
        "Give the test accuracy at every number of processors, over several seeds, "
        "and compare it with that of one."
    )
    breaks = """
[[point]]
series = "ResNet-50"
name = "1 GPU"
processes = 1
throughput = 230.0
quality = 76.1
[[point]]
series = "ResNet-50"
name = "256 GPUs"
processes = 256
throughput = 52000.0
"""
    keeps = """
[[point]]
series = "ResNet-50"
name = "1 GPU"
processes = 1
throughput = 230.0
quality = 76.1
[[point]]
series = "ResNet-50"
name = "256 GPUs"
processes = 256
throughput = 52000.0
quality = 75.9
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for points in dossier.scaling():
            first = points[0].quality
            for point in points:
                if point.quality_lost:
                    yield point.passes("it is said that it diverged", "quality_lost")
                elif point.quality is None:
                    yield point.fails(
                        "faster, and nobody knows how accurate", "processes", "quality"
                    )
                elif first is not None and _differs(point.quality, first):
                    yield point.warns(
                        f"its quality is {point.quality:g}, and that of the first point {first:g}",
                        "quality",
                    )
                else:
                    yield point.passes("its quality is known", "quality")


def _differs(quality: float, first: float) -> bool:
    return abs(quality - first) > MUCH * abs(first)
