"""The gallery and the page of the rules show every rule, and follow from the rules alone."""

from pathlib import Path

from deep500 import cli
from deep500.dossiers.auditing import all_rules
from deep500.dossiers.gallery import gallery, specimen_picture
from deep500.dossiers.rules_page import (
    IMAGES,
    gallery_markdown,
    image_name,
    rules_markdown,
)
from deep500.reports.canvas import settings
from deep500.reports.html import html

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "audit.md"
MARK = "<!-- The rest is written by benchmarks/_audit_page.py. -->\n"


def test_the_page_of_the_rules_is_up_to_date() -> None:
    _, _, written = PAGE.read_text().partition(MARK)
    assert written == rules_markdown(all_rules())


def test_the_page_of_the_gallery_is_up_to_date() -> None:
    """Of the pictures, every tenth is drawn again."""
    rules = all_rules()
    assert (DOCS / "audit-gallery.md").read_text() == gallery_markdown(rules)
    images = DOCS / IMAGES
    assert {path.name for path in images.iterdir()} == set(map(image_name, rules))
    with settings():
        for rule in rules[::10]:
            drawn = specimen_picture(rule).svg
            assert (images / image_name(rule)).read_text() == f"{drawn}\n"


def test_the_gallery_has_a_picture_per_rule() -> None:
    rules = all_rules()[:3]
    page = html(gallery(rules))
    assert page == html(gallery(rules))
    wide_and_narrow = 2
    assert page.count('role="img"') == wide_and_narrow * len(rules)
    assert "not said" in page


def test_the_gallery_takes_no_source(tmp_path: Path) -> None:
    line = ["audit", str(PAGE), "--gallery", str(tmp_path / "g.html")]
    assert cli.main(line) == 2
