"""Writes the page of the audit of every bundle of a folder beside it, where a board finds it."""

from pathlib import Path

from ..bundle.records.loading import rendered
from ..errors import Deep500Error
from ..reports.html import html
from .audit_report import audit_report
from .auditing import Audit, all_rules, audit
from .bundles import bundle_dossier
from .sources import is_bundle


def write_audit_pages(folder: Path) -> int:
    """Audit every bundle; `NAME.audit.html` is replaced. Returns how many there are.

    What cannot be read gets no page, and loses the one that it had.
    """
    rules = all_rules()
    written = 0
    for bundle in sorted(folder.iterdir()):
        if not is_bundle(bundle):
            continue
        page = bundle.with_name(f"{bundle.name}.audit.html")
        page.unlink(missing_ok=True)  # also if it is a link
        try:
            found = audit(bundle_dossier(bundle), rules, [bundle.name])
        except Deep500Error:
            continue
        page.write_text(audit_page(found), encoding="utf-8")
        written += 1
    return written


def audit_page(found: Audit) -> str:
    """The page of an audit."""
    return rendered(html, audit_report(found))
