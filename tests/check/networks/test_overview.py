"""The overview of a check: a row that is wrong shows what is wrong, not the best of what is right."""

from deep500.check.networks.divergence import node_check
from deep500.results.network_check import _counts

RIGHT = node_check("pytorch", "forward", "relu", value=0.5, bound=1.0)
WRONG = node_check("pytorch", "forward", "softmax", ok=False, value=40.0, bound=1.0)
CRASHED = node_check("pytorch", "forward", "conv", ok=False, text="it crashed")
ABSENT = node_check("pytorch", "forward", "gelu", ok=None, decided=False)


def test_a_wrong_row_names_the_worst() -> None:
    assert _counts([RIGHT, WRONG]) == ["wrong", "2", "1", "40", "softmax"]
    assert _counts([WRONG, RIGHT]) == ["wrong", "2", "1", "40", "softmax"]
    assert _counts([RIGHT, CRASHED])[3:] == ["–", "conv"]


def test_a_right_row_names_what_came_nearest_to_its_bound() -> None:
    assert _counts([RIGHT])[3:] == ["0.5", "relu"]
    assert _counts([RIGHT, ABSENT]) == ["not decided", "2", "1", "0.5", "relu"]
