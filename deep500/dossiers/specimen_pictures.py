"""Draws one specimen: bars of its numbers or points, years of its systems, or boxes of what is said and what is not."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..contracts.declaration import AuditFinding, Evidence
from ..contracts.dossier import Dossier, ReportedNumber, ScalingPoint, SystemDescription

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_BOXES = 4
LONGEST = 34  # characters of a value
BAR = 0.45  # of the width, for the longest bar
# fields that are of one kind, so that their bars can be compared
COMPARABLE = (
    {"members", "shown", "reason"},
    {"value", "bound", "bound_name"},
    {"example_size", "dataset_size", "smaller_size"},
    {"seeds", "seeds_planned"},
    {"runs", "runs_reported"},
    {"of_medians", "of_means", "verdict"},
    {"tuning_ours", "tuning_other"},
)
# of a point, the first that it has
OF_POINTS = ("throughput", "seconds", "global_batch", "samples")


def draw_specimen(
    axes: "Axes", finding: AuditFinding, dossier: Dossier, colour: str
) -> None:
    """The picture of one specimen, with its verdict as the title."""
    axes.set_title(finding.verdict, loc="left", color=colour, weight="bold")
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    evidence = list(finding.evidence)[:MOST_BOXES]
    numbers = [each for each in evidence if _positive(each.value)]
    names = {_key(each) for each in evidence}
    systems = [system for system in dossier.system if system.year]
    if dossier.point and _bars_of_points(dossier.point):
        _bars(axes, _bars_of_points(dossier.point), colour)
    elif len(systems) > 1:
        _years(axes, systems, colour)
    elif any(names <= kinds for kinds in COMPARABLE) and len(numbers) > 1:
        _bars(axes, [_labelled(each) for each in numbers], colour)
    elif dossier.number and names & {"low", "high"} and dossier.number[0].value:
        _interval(axes, dossier.number[0], colour)
    else:
        _boxes(axes, evidence, colour)


def _positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _labelled(evidence: Evidence) -> tuple[str, float]:
    value = float(evidence.value)  # type: ignore[arg-type]
    return f"{_key(evidence)} = {value:.6g}", value


def _bars_of_points(points: Sequence[ScalingPoint]) -> list[tuple[str, float]]:
    """A label and a length for every point."""
    for name in OF_POINTS:
        values = [getattr(point, name) for point in points]
        if all(values):
            break
    else:
        return []
    bars = []
    for point, value in zip(points, values, strict=True):
        quality = "?" if point.quality is None else f"{point.quality:g}"
        label = f"{point.name}: {name.replace('_', ' ')} {value:g}, accuracy {quality}"
        bars.append((label, float(value)))
    return bars


def _bars(axes: "Axes", bars: Sequence[tuple[str, float]], colour: str) -> None:
    largest = max(length for _, length in bars)
    for row, (label, length) in enumerate(reversed(bars)):
        axes.barh(row, BAR * length / largest, height=0.35, color=colour)
        axes.text(0, row + 0.25, label, va="bottom")
    axes.set_ylim(-0.4, len(bars) - 0.1)


def _years(axes: "Axes", systems: Sequence[SystemDescription], colour: str) -> None:
    years = [system.year or 0 for system in systems]
    first, last = min(years), max(years, default=0)
    span = max(6, last - first)
    for row, system in enumerate(systems):
        place = 0.05 + 0.6 * ((system.year or 0) - first) / span
        axes.plot(place, row, "o", color=colour)
        axes.text(place + 0.03, row, f"{system.device}, {system.year}", va="center")
    axes.axhline(-0.45, xmin=0.02, xmax=0.98, color=colour, linewidth=0.8)
    axes.set_ylim(-0.6, len(systems) - 0.4)


def _interval(axes: "Axes", number: ReportedNumber, colour: str) -> None:
    """A value with its interval, or with a question mark."""
    value, low, high = number.value or 0.0, number.low, number.high
    axes.plot(0.3, 0, "o", color=colour)
    axes.text(0.3, 0.22, f"{value:g} {number.unit or ''}", ha="center")
    if low is None or high is None:
        axes.text(0.36, 0, "± ?", va="center", color=colour, weight="bold")
    else:
        axes.plot([0.12, 0.48], [0, 0], "-", color=colour)
        axes.text(0.12, -0.3, f"{low:g}", ha="center")
        axes.text(0.48, -0.3, f"{high:g}", ha="center")
        axes.text(0.55, 0, f"n = {number.n}", va="center")
    axes.set_ylim(-0.6, 0.6)


def _boxes(axes: "Axes", evidence: Sequence[Evidence], colour: str) -> None:
    for row, each in enumerate(reversed(evidence)):
        said = each.value is not None
        style: Any = "-" if said else (0, (4, 3))
        value = _shown(each.value) if said else "not said"
        box = {
            "boxstyle": "round,pad=0.35",
            "facecolor": "none",
            "edgecolor": colour,
            "linestyle": style,
        }
        axes.text(0.02, row, f"{_key(each)}: {value}", va="center", bbox=box)
    axes.set_ylim(-0.6, max(1, len(evidence)) - 0.4)


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def _key(evidence: Evidence) -> str:
    return evidence.field.rpartition("/")[2]
