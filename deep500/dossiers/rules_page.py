"""The page of the rules: each with what it asks, why, and an example that breaks it, with what the audit says of it."""

from collections.abc import Sequence

from ..contracts.audit_rule import FAMILIES, AuditRule
from .auditing import outcome
from .claims_file import claims_dossier

FILE = "claims.toml"


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
