"""Writes what docs say of the rules: the end of docs/audit.md, and docs/audit-gallery.md with its pictures.

python benchmarks/_audit_page.py docs
"""

import sys
from pathlib import Path

from deep500.contracts.audit_rule import AuditRule
from deep500.dossiers.auditing import all_rules
from deep500.dossiers.gallery import specimen_picture
from deep500.dossiers.rules_page import (
    IMAGES,
    gallery_markdown,
    image_name,
    rules_markdown,
)
from deep500.reports.canvas import settings

MARK = "<!-- The rest is written by benchmarks/_audit_page.py. -->\n"


def image(rule: AuditRule) -> str:
    with settings():
        return specimen_picture(rule).svg + "\n"


def main(docs: Path) -> None:
    rules = all_rules()
    page = docs / "audit.md"
    head, mark, _ = page.read_text().partition(MARK)
    assert mark, f"{page} has no line {MARK}"
    page.write_text(f"{head}{mark}{rules_markdown(rules)}")
    (docs / "audit-gallery.md").write_text(gallery_markdown(rules))
    images = docs / IMAGES
    images.mkdir(parents=True, exist_ok=True)
    for rule in rules:
        (images / image_name(rule)).write_text(image(rule))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
