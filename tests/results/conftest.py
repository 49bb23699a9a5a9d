from collections.abc import Callable

import pytest

from deep500.results.benching.data import ReportData

from . import bench_data as results


@pytest.fixture
def make() -> Callable[..., ReportData]:
    return results.report_data


@pytest.fixture
def one() -> ReportData:
    return results.one()


@pytest.fixture
def two() -> ReportData:
    return results.two()


@pytest.fixture
def twelve() -> ReportData:
    return results.twelve()


@pytest.fixture
def awkward() -> ReportData:
    return results.awkward()


@pytest.fixture
def hostile() -> ReportData:
    return results.hostile()
