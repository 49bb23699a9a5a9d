"""Audits from Python: bundles, claims files and logs by their paths, or claims as text."""

from collections.abc import Sequence
from pathlib import Path

from ..contracts.audit_rule import AuditRule
from .auditing import Audit, audit, chosen_rules
from .claims_file import claims_dossier
from .sources import read_sources, whole_dossier


def audit_sources(*sources: str | Path, rules: Sequence[str | AuditRule] = ()) -> Audit:
    """The audit of one or several sources together, by all rules or by these (ids, or rules of your own).

    Raises a Deep500Error if a source cannot be read.
    """
    read = read_sources([str(source) for source in sources])
    names = [source.name for source in read]
    return audit(whole_dossier(read), _rules(rules), names)


def audit_claims(text: str, rules: Sequence[str | AuditRule] = ()) -> Audit:
    """The audit of the text of a claims file, which names no CSV files."""
    name = "claims.toml"
    return audit(claims_dossier(text, name), _rules(rules), [name])


def _rules(rules: Sequence[str | AuditRule]) -> list[AuditRule]:
    own = [rule for rule in rules if isinstance(rule, AuditRule)]
    ids = [rule for rule in rules if isinstance(rule, str)]
    if own and not ids:
        return own
    return [*chosen_rules(ids), *own]
