"""JSON documents as dataclasses: what is read, what is written, and what a misfit says."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep500.errors import Deep500Error
from deep500.schema import (
    Between,
    Count,
    Length,
    Positive,
    decoded,
    encoded,
    inline,
    named,
    optional,
    others,
)


@dataclass(frozen=True)
class Load:
    cpus: Positive
    others: float


@dataclass(frozen=True)
class Block:
    process: Count
    ns: Sequence[Sequence[Positive]]
    span: tuple[float, float] | None = optional()
    load: Load | None = optional()
    names: Mapping[str, str | int | None] | None = optional()
    mode: Literal["warm", "cold"] = "warm"
    texts: Annotated[tuple[str, ...], Length(2)] = ()

    def __post_init__(self) -> None:
        if self.span and self.span[0] > self.span[1]:
            raise ValueError("a span that ends after it begins")


@dataclass(frozen=True)
class Holder:
    block: Block | None


@dataclass(frozen=True)
class Rest:
    name: str
    more: Mapping[str, object] = others()


@dataclass(frozen=True)
class Row:
    name: str
    load: Load | None = inline()


GOOD = {
    "process": 0,
    "ns": [[1, 2], [3]],
    "span": [0, 1.5],
    "load": {"cpus": 2, "others": 0.5},
    "names": {"a": "b", "c": 1, "d": None},
    "mode": "cold",
    "texts": ["x"],
}


def test_a_document_is_read_and_written_back() -> None:
    block = decoded(Block, GOOD, "it")
    assert block.load == Load(2, 0.5)
    assert block.span == (0, 1.5)
    assert block.texts == ("x",)
    assert encoded(block) == GOOD


def test_what_is_optional_is_left_out() -> None:
    block = decoded(Block, {"process": 1, "ns": []}, "it")
    assert block.load is None
    assert encoded(block) == {"process": 1, "ns": [], "mode": "warm", "texts": []}


@dataclass(frozen=True)
class Fact:
    group: str = named("class")
    tags: Sequence[str] = optional(())
    series: Sequence[float | None] = ()


def test_a_field_may_have_another_key_in_a_document() -> None:
    fact = decoded(Fact, {"class": "memory"}, "it")
    assert fact == Fact("memory")
    assert encoded(fact) == {"class": "memory", "series": []}
    with pytest.raises(Deep500Error, match="/class is missing"):
        decoded(Fact, {"group": "memory"}, "it")


def test_a_series_may_have_gaps_but_no_other_values() -> None:
    series = [1.5, None, 2]
    assert decoded(Fact, {"class": "", "series": series}, "it").series == series
    for wrong in (True, "nan", 1e301):
        with pytest.raises(Deep500Error, match="/series/1 is"):
            decoded(Fact, {"class": "", "series": [1.5, wrong]}, "it")


def test_what_a_part_refuses_is_said_though_the_part_may_be_missing() -> None:
    with pytest.raises(Deep500Error, match="a span that ends after it begins"):
        decoded(Holder, {"block": GOOD | {"span": [2, 1]}}, "it")
    assert decoded(Holder, {"block": None}, "it") == Holder(None)


def test_the_rest_is_collected_and_written_back() -> None:
    document = {"name": "a", "x": 1, "y": {"z": []}}
    rest = decoded(Rest, document, "it")
    assert rest.more == {"x": 1, "y": {"z": []}}
    assert encoded(rest) == document


def test_inline_fields_stand_among_the_others() -> None:
    assert encoded(Row("a", Load(1, 0.0))) == {"name": "a", "cpus": 1, "others": 0.0}
    assert encoded(Row("a")) == {"name": "a"}
    for row in (Row("a", Load(1, 0.0)), Row("a")):
        assert decoded(Row, encoded(row), "it") == row


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"process": -1}, "/process is -1, but a whole number from 0"),
        ({"process": True}, "/process is True, but a whole number"),
        ({"process": 10**400}, "/process is 1000"),
        ({"ns": [[1], [2, 0]]}, "/ns/1/1 is 0, but a whole number from 1"),
        ({"ns": [[1], 3]}, "/ns/1 is 3, but a list"),
        ({"ns": {}}, "/ns is {}, but a list"),
        ({"span": [1]}, "/span is [1], but"),
        ({"span": [2, 1]}, "a span that ends after it begins"),
        ({"load": {"cpus": 1}}, "/load/others is missing: a number is expected"),
        ({"load": []}, "/load is [], but an object or null is expected"),
        ({"names": {"a": "b", "c\x1b": []}}, r"/names/c\x1b is []"),
        ({"mode": "hot"}, "/mode is hot, but 'cold' or 'warm' is expected"),
        ({"texts": ["a", "b", "c"]}, "a list with 0 to 2 elements"),
    ],
)
def test_a_misfit_says_where_it_is_and_what_was_expected(
    change: dict, message: str
) -> None:
    with pytest.raises(Deep500Error) as caught:
        decoded(Block, GOOD | change, "samples.jsonl: block 3")
    text = str(caught.value)
    assert text.startswith("samples.jsonl: block 3: ")
    assert message in text
    assert text.isprintable()


@pytest.mark.parametrize("document", [None, 1, [], "x", True])
def test_what_is_no_object_is_refused(document: object) -> None:
    with pytest.raises(Deep500Error, match="an object is expected"):
        decoded(Block, document, "plan.json")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.dictionaries(st.sampled_from(list(GOOD)), JSON))
def test_every_document_fits_or_is_refused_in_one_line(change: dict) -> None:
    try:
        block = decoded(Block, GOOD | change, "it")
    except Deep500Error as error:
        assert "\n" not in str(error)
    else:
        json.dumps(encoded(block), allow_nan=False)


def test_a_range_holds_for_each_of_many_numbers() -> None:
    @dataclass(frozen=True)
    class Times:
        values: Sequence[Annotated[float, Between(0, 10)]]

    assert decoded(Times, {"values": [0, 9.5]}, "it").values == [0, 9.5]
    for wrong in (10, -1e-9, True, "1", None):
        with pytest.raises(Deep500Error, match="/values/1 is"):
            decoded(Times, {"values": [1.0, wrong]}, "it")
