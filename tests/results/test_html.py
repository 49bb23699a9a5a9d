import dataclasses
import re

import pytest

from . import bench_data as results
from .pages import Page
from .rendering import html

NUMBER = re.compile(r"\d (?:[pnµm]?s|×)(?=$|[ ,\[])")
SUPPORTED = re.compile(
    r"\d (?:[pnµm]?s|×) \[-?[\d.]+, -?[\d.]+\](?: at [\d.]+ %)?(?:, n = \d+)?"
)
# where the values lie, beside the median or its refusal
MODES = re.compile(r"; \d+ modes: .*")
# tables of measured numbers, by a header
RESULTS = "median [", "ratio [", "quantiles of", "ratio of costs"


def bare_numbers(page: Page) -> list[str]:
    """Cells with a time or a ratio that has no interval beside it, or no n in its row."""
    found = []
    for rows in page.tables:
        if any(header.startswith(RESULTS) for header in rows[0]):
            for row in rows[1:]:
                cells = [MODES.sub("", cell) for cell in row[1:]]
                found += [
                    cell
                    for cell in cells
                    if NUMBER.search(cell)
                    and not (
                        SUPPORTED.search(cell) and re.search(r"n = \d+", " ".join(row))
                    )
                ]
    return found


def check_page(text: str) -> Page:
    """What holds for every page."""
    page = Page(text)
    assert page.faults == []
    assert bare_numbers(page) == []
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:url\(|href=")#([\w-]+)', text)) <= set(ids)
    assert not {tag for tag, _ in page.tags} & {
        "script",
        "iframe",
        "img",
        "link",
        "object",
        "embed",
        "base",
        "form",
    }
    assert not [
        name
        for _, attributes in page.tags
        for name in attributes
        if name.startswith("on")
    ]
    outside = [
        value
        for _, attributes in page.tags
        for name, value in attributes.items()
        if name in ("src", "href", "xlink:href", "action", "data")
        and not str(value).startswith("#")
    ]
    assert outside == []
    assert "@import" not in text and not re.search(r"url\((?!#)", text)
    return page


@pytest.fixture(scope="module")
def texts():
    """Every kind of page, drawn once."""
    kinds = (results.one, results.two, results.twelve, results.awkward, results.hostile)
    return {kind.__name__: html(kind()) for kind in kinds}


@pytest.mark.parametrize("name", ["one", "two", "twelve", "awkward", "hostile"])
def test_every_page_is_sound(name, texts):
    check_page(texts[name])


def test_the_checks_see_planted_errors(texts):
    text = texts["two"]
    without_intervals = re.sub(r"(<b>[\d.]+ ms</b>) <span>\[.*?\]</span>", r"\1", text)
    without_n = text.replace("n = 240", "").replace("n = 120", "")
    assert (
        len(bare_numbers(Page(without_intervals))) >= 4
        and len(bare_numbers(Page(without_n))) >= 4
    )
    for planted in (
        "<b>",
        "<script></script>",
        '<img src="x">',
        '<p id="violins-x"></p><p id="violins-x"></p>',
        '<a href="http://example.org">x</a>',
        '<p onclick="x">x</p>',
        "<style>@import 'x'</style>",
    ):
        with pytest.raises(AssertionError):
            check_page(text.replace("<h1>", planted + "<h1>"))


def test_the_answer_stands_first_as_word_and_colour(texts):
    page = Page(texts["two"])
    assert page.headings[:2] == ["Three ways to add", "Times"]
    banner = next(a["class"] for tag, a in page.tags if tag == "section")
    assert banner == "banner slower"
    assert (
        page.text.index("▲ slower")
        < page.text.index("b is slower than a")
        < page.text.index("Times")
    )


@pytest.mark.parametrize(
    ("median", "word"),
    [(1.1e-3, "▼ faster"), (1.234e-3, "= same"), (1.26e-3, "? inconclusive")],
)
def test_each_verdict_has_a_sign_and_a_word(make, median, word):
    assert word in Page(html(make({"a": 1.234e-3, "b": median}))).text


def test_many_verdicts_are_counted(texts):
    assert re.search(r"▲ \d+ slower", Page(texts["twelve"]).text)


def test_the_entry_table_has_a_row_per_entry(texts):
    rows = Page(texts["twelve"]).table("median [95 % interval], n")
    assert len(rows) == 13
    assert rows[1][0] == "1. np.einsum('ij,jk->ik', a, b, optimize=0)"
    assert re.fullmatch(r"1\.\d{3} ms \[1\.\d{3}, 1\.\d{3}\], n = 240", rows[1][1])


def test_a_ratio_stands_beside_both_absolute_values(texts):
    text = texts["two"]
    row = Page(text).table("ratio [interval], n")[1]
    assert row[1:3][0] == "▲ slower" and "×" in row[2] and "ms" in row[3]
    assert re.search(r"Compared with <code>a</code>, which takes .{0,40}1\.2", text)


def test_modes_stand_beside_the_median(texts):
    row = Page(texts["awkward"]).table("median [95 % interval], n")[3]
    modes = r"; 2 modes: 3\.000 µs \(60 %\) and 4\.500 µs \(40 %\)"
    assert re.fullmatch(r"[\d.]+ µs \[[\d.]+, [\d.]+\], n = 240" + modes, row[1])


def test_refused_quantiles_and_batches_are_labelled(texts):
    page = Page(texts["awkward"])
    rows = page.table("quantiles of")
    assert rows[1][1] == "means of 7 calls" and rows[2][1] == "single calls"
    assert all(row[-1] == "refused, n = 240" for row in rows[1:])
    assert "p99 at 95 % needs 299 samples" in page.text


def test_five_pictures_with_captions(texts):
    page = Page(texts["two"])
    assert (
        sum(tag == "svg" for tag, _ in page.tags)
        == sum(tag == "figcaption" for tag, _ in page.tags)
        == 5
    )
    assert "whiskers: from the 5 % to the 95 % quantile" in page.text
    # nothing to compare
    assert sum(tag == "svg" for tag, _ in Page(texts["one"]).tags) == 4


def test_text_from_files_is_shown_and_not_obeyed(texts):
    text = texts["hostile"]
    page = check_page(text)
    for part in (
        "<script>alert(1)</script>",
        "</title><script>alert(2)</script>",
        "<b>hash</b> differs",
        "<s>value</s>",
        "<img src=x onerror=alert(1)>",
        "d5 verify 'a b'\"'\"'; rm -rf x'",
        "<b>cold</b>",
    ):
        assert part in page.text, part
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e\ud800]", text)
    text.encode()


def test_environment_facts_are_shown_known_or_not(texts):
    page = Page(texts["two"])
    assert "6 of 7 facts are known (86 %)." in page.text
    facts = [
        row
        for rows in page.tables
        if rows[0] == ["fact", "value", "source"]
        for row in rows[1:]
    ]
    assert ["memory modules", "unknown: needs root", "dmi"] in facts
    assert ["threads", '{"OMP": "1"}', "os.environ"] in facts
    assert any(tag == "details" for tag, _ in page.tags)


def test_a_page_without_samples_environment_or_bundle(two):
    data = dataclasses.replace(two, samples={}, environment={}, bundle=None, hash=None)
    page = check_page(html(data))
    assert (
        "The environment was not recorded." in page.text
        and "were not saved" in page.text
    )
    assert sum(tag == "svg" for tag, _ in page.tags) == 1  # the ratios need no samples


def test_the_same_data_give_the_same_page(awkward, texts):
    assert html(awkward) == texts["awkward"]
