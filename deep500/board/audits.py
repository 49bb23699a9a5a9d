"""The audit of a bundle, if `d5 audit` has left its page beside it: `NAME.audit.html`."""

import re
from pathlib import Path

from ..reports.markup import page

LONGEST = 1 << 25  # bytes
# a page of ours has none of these, and its policy forbids most of them
ACTIVE = re.compile(r"<\s*(script|iframe|object|embed|form|base)\b|http-equiv=.refresh")


def audit_page(bundle: Path) -> bytes | None:
    """The page as it is, if it is one that this project writes and nothing in it is active; else None."""
    path = bundle.with_name(f"{bundle.name}.audit.html")
    try:
        if path.is_symlink() or path.stat().st_size > LONGEST:
            return None
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
    head = page("", "", "").partition("<title>")[0]
    if not text.startswith(head) or ACTIVE.search(text.lower()):
        return None
    return text.encode()
