"""Way 11: minibatch."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier


class F11Minibatch(AuditRule):
    """A scaling series gives the batch of all processes, and the steps to the target where it grows."""

    why = (
        "A larger batch makes fewer steps per epoch, each of which learns no more: "
        "that is called weak scaling, and looks like strong."
    )
    advice = (
        "Give the global batch at every point, and steps and time until the same "
        "quality."
    )
    breaks = """
[[point]]
series = "ResNet-50"
name = "1 GPU"
processes = 1
global_batch = 32
scaling = "strong"
[[point]]
series = "ResNet-50"
name = "256 GPUs"
processes = 256
global_batch = 8192
scaling = "strong"
"""
    keeps = """
[[point]]
series = "ResNet-50"
name = "1 GPU"
processes = 1
global_batch = 256
scaling = "strong"
[[point]]
series = "ResNet-50"
name = "8 GPUs"
processes = 8
global_batch = 256
scaling = "strong"
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for points in dossier.scaling():
            first, last = points[0], points[-1]
            small, large = first.global_batch, last.global_batch
            if small is None or large is None:
                yield last.fails(
                    "the batch of all processes is not said", "global_batch"
                )
            elif large <= small:
                yield last.passes("the batch does not grow", "global_batch")
            elif last.scaling == "strong":
                yield last.fails(
                    f"called strong scaling, and the batch grows from {small} to {large}",
                    "scaling",
                    "global_batch",
                )
            elif not (
                last.steps_to_target or last.seconds_to_target or last.target_asked
            ):
                yield last.fails(
                    f"the batch grows from {small} to {large}, and how many steps the target "
                    "then needs is not said",
                    "global_batch",
                    "steps_to_target",
                )
            else:
                yield last.passes(
                    "steps or time to the target are given", "steps_to_target"
                )
