"""A bundle may come from anyone: whatever its files hold is shown as text or refused in one line."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deep500.errors import Deep500Error
from deep500.measure.bench_plan import check_plan
from deep500.measure.numbers import BenchNumbers
from deep500.results.benching.data import ReportData
from deep500.schema import decoded, encoded

from . import bench_data as results
from .pages import Page
from .rendering import html, markdown, terminal

junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=5,
)


def objects(keys: str) -> st.SearchStrategy[dict]:
    """Objects with some of the right keys and any values, some of them numbers as they should be."""
    return st.dictionaries(st.sampled_from(keys.split()), st.floats(0.001, 2) | junk)


parts = {
    "modes": junk | st.lists(objects("at share"), max_size=2),
    "notes": junk | st.lists(junk, max_size=2),
    "quantiles": junk | st.lists(objects("q value low high ratio refused"), max_size=3),
    "warmup": junk | objects("kind cut"),
    "levels": junk | objects("n m"),
}
rows = st.builds(
    lambda numbers, rest: numbers | rest,
    objects(
        "median low high n level batch processes method ratio margin verdict shift probability"
    ),
    st.fixed_dictionaries({}, optional=parts),
)
whole = st.fixed_dictionaries(
    {},
    optional={
        "status": junk,
        "stopped": junk,
        "notes": parts["notes"],
        "control": junk | objects("base ratio low high verdict n"),
    },
)
plans = objects(
    "entries factors level precision margin budget_s processes cache control seed timeout_s clock other"
)


def report(
    entry: dict,
    comparison: dict,
    rest: dict,
    plan: dict,
    environment: object,
    sensors: object,
) -> ReportData:
    whole = results.report_data({"a": 1e-3, "b": 2e-3})
    derived = encoded(whole.derived) | rest
    if "entries" not in rest:
        derived["entries"][0] |= entry
    if "comparisons" not in rest:
        derived["comparisons"][0] |= comparison
    return ReportData(
        "t",
        check_plan(encoded(whole.plan) | plan),
        {"classes": {"c": environment}},
        decoded(BenchNumbers, derived, "derived.json"),
        sensors=sensors,  # type: ignore[arg-type]
        samples={
            "a": [np.array([1.0, 2.0, np.nan, -1.0, 0.0, np.inf, 1e300]), np.array([])]
        },
    )


@settings(deadline=None)
@given(rows, rows, whole, plans, junk, junk)
def test_as_text(entry, comparison, rest, plan, environment, sensors):
    try:
        data = report(entry, comparison, rest, plan, environment, sensors)
    except Deep500Error as error:
        assert "\n" not in str(error)
    else:
        assert terminal(data) and markdown(data)


@settings(max_examples=8, deadline=None)
@given(rows, rows)
def test_as_a_page(entry, comparison):
    try:
        data = report(entry, comparison, {}, {}, {}, {})
    except Deep500Error:
        return
    assert Page(html(data)).faults == []


def test_without_the_schema_a_renderer_would_break():
    data = report({}, {}, {}, {}, {}, {})
    entry = replace(data.entries[0], warmup=[1])  # type: ignore[arg-type]
    derived = replace(data.derived, entries=[entry], comparisons=[])
    data = replace(data, derived=derived)
    with pytest.raises(AttributeError):
        markdown(data)
