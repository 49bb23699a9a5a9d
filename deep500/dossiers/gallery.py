"""The gallery of specimens: for every rule what breaks it and what keeps it, as pictures and as claims."""

from collections.abc import Sequence
from functools import partial

from ..contracts.audit_rule import FAMILIES, AuditRule
from ..contracts.declaration import AuditFinding
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

HEIGHT = 1.5  # inches of a panel
BAD, GOOD = 1, 2  # colours of the palette
FILE = "claims.toml"
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
            Figures(partial(_pictures, rule)),
            Bullets(lines),
            Details("both claims files", [texts]),
        ],
    )


def _pictures(rule: AuditRule) -> list[Picture]:
    from ..reports.canvas import for_phones_too, settings

    with settings():
        return for_phones_too(lambda: [specimen_picture(rule)])


def specimen_picture(rule: AuditRule) -> Picture:
    """What breaks the rule beside what keeps it; call it within `canvas.settings()`."""
    from ..reports.canvas import colour, figure, is_narrow, svg
    from .specimen_pictures import draw_specimen

    canvas = figure(2 * HEIGHT if is_narrow() else HEIGHT)
    panels = canvas.subplots(2, 1) if is_narrow() else canvas.subplots(1, 2)
    texts = []
    for axes, text, index in zip(
        panels, (rule.breaks, rule.keeps), (BAD, GOOD), strict=True
    ):
        dossier = claims_dossier(text, FILE)
        finding = outcome(rule, dossier).findings[0]
        draw_specimen(axes, finding, dossier, colour(index))
        texts.append(f"{finding.verdict}: {finding.text}")
    name = f"specimen-{rule.id.lower()}"
    drawn = svg(canvas, name, ". ".join(texts))
    return Picture(name, "What is said, and what is not", drawn, CAPTION)


def _finding(rule: AuditRule, text: str) -> AuditFinding:
    return outcome(rule, claims_dossier(text, FILE)).findings[0]
