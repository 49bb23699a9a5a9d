"""The gallery of specimens: for every rule what breaks it and what keeps it, as pictures and as claims."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..contracts.audit_rule import FAMILIES, AuditRule
from ..contracts.declaration import AuditFinding, Evidence
from ..reports.blocks import (
    Banner,
    Block,
    Bullets,
    Details,
    Figures,
    Picture,
    Preformatted,
    Report,
    Section,
    Sentence,
)
from .auditing import outcome
from .claims_file import claims_dossier

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEIGHT = 1.5  # inches of a panel
BAD, GOOD = 1, 2  # colours of the palette
MOST_BOXES = 5
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
CAPTION = "Left what breaks the rule, right what keeps it: what each says, and what it leaves unsaid (dashed)."


def gallery(rules: Sequence[AuditRule]) -> Report:
    """One section per family, with the specimens of its rules."""
    sentence = f"{len(rules)} rules, each with what breaks it and what keeps it."
    blocks: list[Block] = [Banner(sentence, sentence, pill="specimens")]
    for letter, title in FAMILIES.items():
        of_family = [rule for rule in rules if rule.id.startswith(letter)]
        sections = [_specimens(rule) for rule in of_family]
        blocks.append(Section(f"{letter}: {title}", sections))
    return Report("Deep500 audit", "Gallery of specimens", blocks)


def _specimens(rule: AuditRule) -> Section:
    bad, good = _finding(rule, rule.breaks), _finding(rule, rule.keeps)
    lines = [f"{bad.verdict}: {bad.text}", f"{good.verdict}: {good.text}", rule.advice]
    texts = Preformatted(f"{rule.breaks.strip()}\n\n# and kept:\n{rule.keeps.strip()}")
    return Section(
        f"{rule.id}: {rule.sentence}",
        [
            Sentence(rule.why),
            Figures(partial(_pictures, rule, bad, good)),
            Bullets(lines),
            Details("both claims files", [texts]),
        ],
    )


def _finding(rule: AuditRule, text: str) -> AuditFinding:
    return outcome(rule, claims_dossier(text, "claims.toml")).findings[0]


def _pictures(rule: AuditRule, bad: AuditFinding, good: AuditFinding) -> list[Picture]:
    from ..reports.canvas import for_phones_too, settings

    with settings():
        return for_phones_too(lambda: [_picture(rule, bad, good)])


def _picture(rule: AuditRule, bad: AuditFinding, good: AuditFinding) -> Picture:
    from ..reports.canvas import figure, is_narrow, svg

    canvas = figure(2 * HEIGHT if is_narrow() else HEIGHT)
    panels = canvas.subplots(2, 1) if is_narrow() else canvas.subplots(1, 2)
    for axes, finding, colour in zip(panels, (bad, good), (BAD, GOOD), strict=True):
        _panel(axes, finding, colour)
    name = f"specimen-{rule.id.lower()}"
    text = svg(canvas, name, f"{bad.verdict}: {bad.text}. {good.verdict}: {good.text}")
    return Picture(name, "What is said, and what is not", text, CAPTION)


def _panel(axes: "Axes", finding: AuditFinding, colour: int) -> None:
    """One specimen: bars if what it stands on are numbers of one kind, else boxes."""
    from ..reports.canvas import colour as colour_of

    axes.set_title(finding.verdict, loc="left", color=colour_of(colour), weight="bold")
    axes.set_axis_off()
    evidence = list(finding.evidence)[:MOST_BOXES]
    numbers = [each for each in evidence if _is_number(each.value)]
    names = {_key(each) for each in evidence}
    comparable = any(names <= kinds for kinds in COMPARABLE)
    if comparable and len(numbers) > 1:
        _bars(axes, numbers, colour_of(colour))
    else:
        _boxes(axes, evidence, colour_of(colour))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _bars(axes: "Axes", evidence: Sequence[Evidence], colour: str) -> None:
    largest = max(float(each.value) for each in evidence)  # type: ignore[arg-type]
    for row, each in enumerate(reversed(evidence)):
        value = float(each.value)  # type: ignore[arg-type]
        width = 0.55 * value / largest
        axes.barh(row, width, height=0.6, color=colour)
        axes.text(width + 0.02, row, f"{_key(each)} = {value:.6g}", va="center")
    axes.set_xlim(0, 1)
    axes.set_ylim(-0.6, len(evidence) - 0.4)


def _boxes(axes: "Axes", evidence: Sequence[Evidence], colour: str) -> None:
    for row, each in enumerate(reversed(evidence)):
        said = each.value is not None
        style: Any = "-" if said else (0, (4, 3))
        value = str(each.value)[:34] if said else "not said"
        axes.text(
            0.02,
            row,
            f"{_key(each)}: {value}",
            va="center",
            bbox={
                "boxstyle": "round,pad=0.35",
                "facecolor": "none",
                "edgecolor": colour,
                "linestyle": style,
            },
        )
    axes.set_xlim(0, 1)
    axes.set_ylim(-0.6, max(1, len(evidence)) - 0.4)


def _key(evidence: Evidence) -> str:
    return evidence.field.rpartition("/")[2]
