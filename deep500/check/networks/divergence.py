"""The checks of a network's nodes."""

from ..report import CheckResult

# the "framework" of the comparison of two networks themselves
FLOAT64 = "float64"
DIFFERENCE = "at node "  # begins the text of a check that tells what differs


def node_check(
    framework: str,
    direction: str,
    node: str,
    operator: str = "",
    ok: bool | None = True,
    value: float | None = None,
    bound: float | None = None,
    text: str = "",
    kernel: str = "",
    decided: bool = True,
) -> CheckResult:
    """The check of a node in one direction; of a parameter after a step, of an output of the whole network."""
    return CheckResult(
        name=direction,
        ok=ok,
        value=value,
        bound=bound,
        text=text,
        case=node,
        decided=decided,
        where=framework,
        operator=operator,
        kernel=kernel,
    )
