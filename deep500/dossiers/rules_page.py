"""The page of the rules: each with what it asks, why, and an example that breaks it, with what the audit says of it."""

from collections.abc import Sequence

from ..contracts.audit_rule import FAMILIES, AuditRule
from .auditing import outcome
from .claims_file import claims_dossier

FILE = "claims.toml"
IMAGES = "images/audit"  # beside the page
GALLERY = """\
# Gallery: what breaks a rule, and what keeps it

Every rule of [the audit](audit.md) with two specimens: left what breaks it, right what keeps it. Boxes are what each
says; dashed ones it leaves unsaid. `d5 audit --gallery page.html` writes the same as one page, with
both claims files. This page is written by `benchmarks/_audit_page.py`.

"""


def rules_markdown(rules: Sequence[AuditRule]) -> str:
    """Markdown of all rules, by family."""
    parts = []
    for letter, title in FAMILIES.items():
        parts.append(f"## {letter}: {title}\n")
        parts += [_rule(rule) for rule in rules if rule.id.startswith(letter)]
    return "\n".join(parts)


def _rule(rule: AuditRule) -> str:
    finding = outcome(rule, claims_dossier(rule.breaks, FILE)).findings[0]
    lines = [
        f"### {rule.id}: {rule.sentence}",
        f"{rule.why} *What to do:* {rule.advice}",
        "",
        "```toml",
        rule.breaks.strip(),
        "```",
        f"> {finding.verdict}: {finding.text}",
        "",
    ]
    return "\n".join(lines)


def gallery_markdown(rules: Sequence[AuditRule]) -> str:
    """Markdown of the gallery, whose pictures lie in IMAGES."""
    parts = [GALLERY.rstrip("\n") + "\n"]
    for letter, title in FAMILIES.items():
        parts.append(f"## {letter}: {title}\n")
        parts += [_specimens(rule) for rule in rules if rule.id.startswith(letter)]
    return "\n".join(parts)


def image_name(rule: AuditRule) -> str:
    return f"{rule.id.lower()}.svg"


def _specimens(rule: AuditRule) -> str:
    verdicts = []
    for text in (rule.breaks, rule.keeps):
        finding = outcome(rule, claims_dossier(text, FILE)).findings[0]
        verdicts.append(f"{finding.verdict}: {finding.text}")
    told = ". ".join(verdicts).replace("[", "(").replace("]", ")")
    lines = [
        f"### {rule.id}: {rule.sentence}",
        f"![{told}]({IMAGES}/{image_name(rule)})",
        "",
        *[f"* {verdict}" for verdict in verdicts],
        f"* What to do: {rule.advice}",
        "",
    ]
    return "\n".join(lines)
