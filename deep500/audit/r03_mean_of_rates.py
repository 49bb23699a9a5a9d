"""Rule 3: mean of rates."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier


class R03MeanOfRates(AuditRule):
    """The arithmetic mean summarises costs only; rates take the harmonic mean."""

    why = (
        "Three runs of 100 Gflop in 10, 100 and 40 s make 2 Gflop/s; the arithmetic "
        "mean of the three rates says 4.5."
    )
    advice = (
        "Add up the work and the times, or take the harmonic mean of rates of equal "
        "work."
    )
    breaks = """
[[number]]
name = "HPL, three runs"
kind = "rate"
value = 4.5
unit = "Gflop/s"
n = 3
summary = "arithmetic mean"
"""
    keeps = """
[[number]]
name = "HPL, three runs"
kind = "rate"
value = 2.0
unit = "Gflop/s"
n = 3
summary = "harmonic mean"
equal_work = true
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for number in dossier.numbers("cost", "rate"):
            if number.summary is None:
                if (number.n or 1) > 1:
                    yield number.warns(
                        f"how {number.n} values became one is not said", "n", "summary"
                    )
            elif number.kind == "rate" and number.summary == "arithmetic mean":
                yield number.fails(
                    "rates are averaged, as if faster runs had taken as long",
                    "kind",
                    "summary",
                    "value",
                )
            elif number.summary == "harmonic mean" and number.equal_work is not True:
                yield number.warns(
                    "a harmonic mean is right if all had equal work, which is not said",
                    "summary",
                    "equal_work",
                )
            elif number.summary == "geometric mean":
                yield number.warns(
                    "a geometric mean is neither a time nor a rate", "summary"
                )
            else:
                yield number.passes(f"a {number.kind} by {number.summary}", "summary")
