"""The environment is looked at once for all tests here: that takes longer than most of them."""

from functools import cache

import pytest

from deep500.measure.machine import environment

once = cache(environment)


@pytest.fixture(autouse=True)
def one_look_at_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deep500.bundle.records.recording.environment", once)
