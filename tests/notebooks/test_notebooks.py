"""Results, comparisons, checks and networks in a notebook, and the magic."""

import re
from html import unescape
from pathlib import Path

import pytest

import deep500 as d5
from deep500 import measure
from deep500.bundle.records.bundle_comparison import compare
from deep500.bundle.records.loading import load
from deep500.notebooks import reports
from deep500.reports.notebook import mimebundle

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
FORMS = ["text/html", "text/markdown", "text/plain"]


def slow(name):
    return pytest.param(name, marks=pytest.mark.slow)


def page_of(frame):
    """The page in a frame, which must be all that there is."""
    match = re.fullmatch(
        r'<iframe sandbox srcdoc="([^"]*)" title="[^"]*" style="[^"]*"></iframe>', frame
    )
    assert match, frame[:200]
    return unescape(match.group(1))


@pytest.mark.parametrize(
    "name", ["check", "suite", *map(slow, ["bench", "recipe", "network"])]
)
def test_a_record_shows_itself(name):
    record = load(GOLDEN / f"{name}.zip")
    forms = record._repr_mimebundle_()
    assert list(forms) == FORMS
    page = page_of(forms["text/html"])
    assert page.startswith("<!DOCTYPE html>") and "<script" not in page
    assert forms["text/markdown"].startswith("# ")
    assert page_of(record._repr_html_()) == page
    assert list(record._repr_mimebundle_(include=["text/plain"])) == ["text/plain"]
    assert "text/html" not in record._repr_mimebundle_(exclude={"text/html"})


def test_a_comparison_of_bundles_shows_itself():
    compared = compare(GOLDEN / "bench.zip", GOLDEN / "bench_again.zip")
    assert "against" in page_of(compared._repr_html_())


def test_what_has_no_report_of_its_own_gets_one():
    result = measure.run({"a": lambda: 1, "b": lambda: [1] * 50}, budget_s=0.2)
    [(_, _, comparison)] = result.comparisons
    network = d5.networks.Mlp(hidden=(4,)).build((3,), 2)
    checked = d5.check_operator(d5.operators.Relu, "reference")
    shown = {
        "result_report": (result, "median"),
        "comparison_report": (comparison, comparison.verdict),
        "network_report": (network, "Gemm"),
        "check_report": (checked, "Relu"),
    }
    for function, (thing, word) in shown.items():
        forms = mimebundle(getattr(reports, function)(thing))
        assert word in forms["text/plain"], function
        assert word in page_of(forms["text/html"]), function


def test_a_hostile_name_stays_text():
    hostile = '"><script>alert(1)</script>\x1b[31m'
    result = measure.run({hostile: lambda: 1}, budget_s=0.05)
    frame = mimebundle(reports.result_report(result))["text/html"]
    assert frame.count('"') == 6 and "\x1b" not in frame
    assert "<script" not in page_of(frame)


def test_ipython_loads_the_extension():
    pytest.importorskip("IPython", reason="pip install ipython")
    from IPython.core.formatters import format_display_data
    from IPython.testing.globalipapp import start_ipython

    shell = start_ipython() or __import__("IPython").get_ipython()
    shell.run_line_magic("load_ext", "deep500")
    result = measure.run({"a": lambda: 1}, budget_s=0.05)
    data, _ = format_display_data(result)
    assert page_of(data["text/html"])
    from IPython.utils.capture import capture_output

    with capture_output() as captured:
        shell.run_line_magic("d5", "list operators")
    assert "Relu" in captured.stdout
