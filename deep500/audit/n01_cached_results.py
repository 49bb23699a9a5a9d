"""Newer cheat 1: cached results."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier


class N01CachedResults(AuditRule):
    """A kernel is timed on inputs that are fresh in every call, or is checked with others afterwards."""

    why = (
        "A function that returns its last result for inputs that it has seen takes no "
        "time (flashinfer, gpu-mode 2025)."
    )
    advice = (
        "Draw new inputs for every timed call, or overwrite them in place after the "
        "timing and check the outputs again."
    )
    breaks = """
[[number]]
name = "my kernel"
kind = "cost"
value = 0.02
unit = "ms"
scope = "kernel"
inputs = "the same in every call"
fresh_inputs_checked = false
"""
    keeps = """
[[number]]
name = "my kernel"
kind = "cost"
value = 1.7
unit = "ms"
scope = "kernel"
inputs = "fresh in every call"
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for number in dossier.numbers("cost", "rate"):
            if number.inputs == "fresh in every call":
                yield number.passes("fresh inputs in every call", "inputs")
            elif number.inputs and number.fresh_inputs_checked:
                yield number.passes(
                    "checked with other inputs too", "fresh_inputs_checked"
                )
            elif number.inputs and number.fresh_inputs_checked is None:
                yield number.warns(
                    "the same inputs in every call; whether others were checked is not said",
                    "inputs",
                    "fresh_inputs_checked",
                )
            elif number.inputs:
                yield number.fails(
                    "the same inputs in every call, and no check with others",
                    "inputs",
                    "fresh_inputs_checked",
                )
