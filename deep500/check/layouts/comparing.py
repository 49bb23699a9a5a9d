"""Where two runs part, and why."""

from .tracing import Trace


def first_difference(first: Trace, other: Trace) -> str:
    """The first step and tensor that differ, and what explains it; "" if the runs are the same."""
    for number, (before, after) in enumerate(
        zip(first.steps, other.steps, strict=False), 1
    ):
        for name, value in before.items():
            if after.get(name) != value:
                return f"step {number}: {name} is the first that differs: {_reason(first, other, number, name)}"
    if len(first.steps) != len(other.steps):
        return f"there are {len(first.steps)} steps, and {len(other.steps)} here"
    if first.sha256 != other.sha256:
        return "the weights at the end differ, and no step did"
    return ""


def _reason(first: Trace, other: Trace, step: int, name: str) -> str:
    if not name.startswith("the "):
        return "its gradient is the same, so that the update or the running statistics differ"
    mine, theirs = _of_step(first, step), _of_step(other, step)
    if not mine or not theirs:
        return "the step is not divided into leaves"
    strangers = sorted(theirs.keys() - mine.keys())
    if strangers:
        return f"there is a leaf of {strangers[0]}, so that leaves depend on the layout"
    apart = sorted(leaf for leaf in theirs if theirs[leaf] != mine[leaf])
    if apart:
        user = first.users.get(name.removeprefix("the gradient of "), "")
        place = f"; the tensor is used by {user}" if user else ""
        return f"the leaf of {apart[0]} got another gradient{place}"
    return "all leaves have the same gradients, so that their sum depends on the layout"


def _of_step(trace: Trace, step: int) -> dict[str, str]:
    start = f"step {step},"
    return {
        name: value for name, value in trace.leaves.items() if name.startswith(start)
    }
