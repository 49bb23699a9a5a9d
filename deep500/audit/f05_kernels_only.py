"""Way 5: kernels only."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier

LEAST_SHARE = 0.6  # of the CPU time of training, by the clock of its steps


class F05KernelsOnly(AuditRule):
    """A speed-up of a kernel on many processors comes with that of the whole program."""

    why = (
        "Making 40 % of the time 100 times faster makes the whole 1.7 times faster "
        "(Amdahl)."
    )
    advice = (
        "Give the time of the whole training step or application, or the kernel's "
        "share of it."
    )
    breaks = """
[[speedup]]
name = "convolution layer"
value = 48.0
processes = 64
scope = "kernel"
"""
    keeps = """
[[speedup]]
name = "convolution layer"
value = 48.0
processes = 64
scope = "kernel"
share = 0.4
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        wholes = [s for s in dossier.speedup if s.scope == "application"]
        for speedup in dossier.speedup:
            if speedup.scope != "kernel" or (speedup.processes or 1) <= 1:
                continue
            if speedup.share is not None:
                yield speedup.passes(
                    f"of {100 * speedup.share:g} % of the time", "share"
                )
            elif wholes:
                yield wholes[0].passes("the whole is shown too", "value")
            else:
                yield speedup.fails(
                    "a kernel, and how the whole scales is not shown", "scope", "share"
                )
        for training in dossier.training:
            share = training.timed_share
            if share is not None and share < LEAST_SHARE:
                yield training.fails(
                    f"the timed part is {100 * share:.0f} % of the CPU time of training",
                    "timed_share",
                )
            elif share is not None:
                yield training.passes("the timed steps are the training", "timed_share")
