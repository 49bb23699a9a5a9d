"""Numbers of a bundle that are compared with those that its samples give: anyone may have written them."""

import pytest

from deep500.bundle.records.loading import _differences


@pytest.mark.parametrize("recorded", [10**400, -(10**400), 2, "1", None, True])
def test_another_number_is_a_difference(recorded: object) -> None:
    [difference] = _differences({"n": recorded}, {"n": 1.5}, "")
    assert difference.startswith("/n says ") and difference.endswith("say 1.5")


@pytest.mark.parametrize("number", [10**400, 1.5, 3])
def test_the_same_number_is_no_difference(number: float) -> None:
    assert list(_differences({"n": number}, {"n": number}, "")) == []


def test_the_last_bits_may_differ() -> None:
    assert list(_differences([0.1 + 0.2], [0.3], "")) == []
