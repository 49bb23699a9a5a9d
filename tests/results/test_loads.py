"""Who else used the machine: times of two runs are compared if others used little of it, and alike."""

import pytest

from deep500.results.outcomes.loads import disturbing_shares


@pytest.mark.parametrize(
    ("others_a", "others_b", "is_disturbing"),
    [
        (0.0, 0.1, False),
        (0.4, 0.5, False),
        (0.0, 0.2, True),
        (0.5, 0.55, True),
        # alike, and a thread waits for a CPU by chance
        (0.93, 0.98, True),
    ],
)
def test_shares_that_disturb(
    others_a: float, others_b: float, is_disturbing: bool
) -> None:
    said = disturbing_shares(others_a, others_b)
    assert bool(said) == is_disturbing
    assert said == disturbing_shares(others_b, others_a) or "during A" in said
