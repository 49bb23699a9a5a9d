"""Writes the part of docs/audit.md that lists the rules: python benchmarks/_audit_page.py docs/audit.md"""

import sys
from pathlib import Path

from deep500.dossiers.auditing import all_rules
from deep500.dossiers.rules_page import rules_markdown

MARK = "<!-- The rest is written by benchmarks/_audit_page.py. -->\n"


def main(page: Path) -> None:
    head, mark, _ = page.read_text().partition(MARK)
    assert mark, f"{page} has no line {MARK}"
    page.write_text(f"{head}{mark}{rules_markdown(all_rules())}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
