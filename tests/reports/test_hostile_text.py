"""No renderer lets text through that could drive a terminal or a browser, whether or not a kind has cleaned it."""

import json
import unicodedata

import pytest

from deep500.cli.output import json_text
from deep500.reports.blocks import (
    Banner,
    Block,
    Bullets,
    Details,
    Footer,
    PageOnly,
    Preformatted,
    Problems,
    Report,
    Section,
    Sentence,
    Table,
)
from deep500.reports.data import to_json
from deep500.reports.html import html
from deep500.reports.markdown import markdown
from deep500.reports.tables import Number
from deep500.reports.terminal import terminal
from deep500.reports.text import MOST_CHARACTERS, Code, VerdictWord, clean

EVIL = "\x1b[2J\x9b1m<script>\u202e\u2066\u200b\x07\ud800```"
HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


@pytest.fixture
def report() -> Report:
    """Every block, with the same text in every place that takes one."""
    texts = [EVIL, Code(EVIL), VerdictWord(EVIL), Number(EVIL, EVIL, EVIL)]
    blocks: list[Block] = [
        Banner(texts, texts, {VerdictWord(EVIL): 1}, [(EVIL, EVIL)], EVIL),
        Problems([EVIL]),
        Section(EVIL, [Sentence(texts), Bullets(texts)]),
        Table([EVIL, EVIL], [[EVIL, texts]]),
        Preformatted(EVIL),
        Details(EVIL, [Sentence(EVIL)]),
        PageOnly([Sentence(EVIL)]),
        Footer([Sentence(EVIL)]),
    ]
    return Report(EVIL, EVIL, blocks, [EVIL])


@pytest.mark.parametrize("render", [terminal, markdown, html])
def test_escapes_are_visible(report, render):
    text = render(report)
    assert {c for c in text if unicodedata.category(c) in HIDDEN} <= {"\n"}
    assert "\\x1b[2J" in text and "\\u202e" in text
    text.encode("utf-8")


def test_a_page_has_no_markup_of_others(report):
    assert "<script" not in html(report)


def test_a_fence_cannot_be_closed_from_inside(report):
    assert "````\n" in markdown(report)


def test_json_is_harmless_and_loses_nothing(report):
    text = json_text(to_json(report))
    assert {c for c in text if unicodedata.category(c) in HIDDEN} <= {"\n"}
    assert json.loads(text)["title"] == EVIL
    assert json.loads(text)["verified"] is False


def test_a_very_long_text_is_shortened():
    assert clean("x" * 10_000) == "x" * 10_000
    assert len(clean("x" * 10**6)) == MOST_CHARACTERS
