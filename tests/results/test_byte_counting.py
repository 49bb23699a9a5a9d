"""A report says which bytes were counted at the transport and which were modelled."""

from types import SimpleNamespace
from typing import Any

import pytest

from deep500.contracts.metric import History
from deep500.results.outcomes.byte_counting import byte_counting


@pytest.mark.parametrize(
    ("counters", "words"),
    [
        ({}, None),
        ({"bytes of rank 0": 8.0, "modelled bytes of rank 0": 0.0}, "all of them were counted"),
        ({"bytes of rank 0": 8.0, "modelled bytes of rank 0": 8.0}, "all of them are modelled"),
        ({"bytes of rank 0": 8.0, "modelled bytes of rank 0": 2.0}, "25 % of them are modelled"),
        ({"bytes of rank 0": 8.0}, "counts its array once"),
    ],
)  # fmt: skip
def test_how_bytes_were_found_is_said(
    counters: dict[str, float], words: str | None
) -> None:
    data: Any = SimpleNamespace(runs=[History(0, counters=counters)])
    sentences = byte_counting(data)
    if words is None:
        assert sentences == []
    else:
        assert words in sentences[0]
