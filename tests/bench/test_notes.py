"""What a benchmark says before it measures: how long its trials take, once something can be timed."""

import pytest

from deep500.bench.notes import Pace


@pytest.mark.parametrize("good", [True, False])
def test_a_pace_that_is_slow_is_told_if_anything_can_be_timed(good: bool) -> None:
    told: list[str] = []
    pace = Pace(2, 1, budget_s=1.0, smaller="shapes", tell=told.append)
    pace.began -= 20
    pace.step(good)
    assert told == []
    pace.step(good)
    assert len(told) == good
    assert all("beside the budget of 1 s: fewer shapes" in text for text in told)
