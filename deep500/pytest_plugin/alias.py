"""The fixture of pytest-benchmark, registered where that is not installed. PYTEST_DONT_REWRITE"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .benchmark import BenchmarkFixture


@pytest.fixture
def benchmark(request: pytest.FixtureRequest) -> Iterator["BenchmarkFixture"]:
    """pytest-benchmark's fixture, measured by Deep500: `benchmark(f, *args)` returns what f returns."""
    from . import run_of
    from .benchmark import BenchmarkFixture

    fixture = BenchmarkFixture(run_of(request.config), request.node)
    yield fixture
    fixture.close()
