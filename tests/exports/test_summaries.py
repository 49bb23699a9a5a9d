"""One number per benchmark: asv, github-action-benchmark and Prometheus, read back."""

import json
import re

import numpy as np
import pytest

from deep500.logs import log_dossier

LABEL = r'[a-z_]+="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"[a-z0-9_]+\{{{LABEL}(?:,{LABEL})*\}} \S+")


def test_asv_reads_medians_and_intervals(export, golden):
    path = export("bench", "asv")
    dossier = log_dossier(path)
    entries = golden("bench").derived.entries
    values = sorted(number.value for number in dossier.number)
    assert len(values) == len(entries)
    document = json.loads(path.read_text())
    assert document["version"] == 2
    columns = document["result_columns"]
    for row in document["results"].values():
        cells = dict(zip(columns, row, strict=True))
        samples = np.array(cells["samples"][0])
        assert cells["result"] == [pytest.approx(np.median(samples))]
        assert cells["stats_repeat"] == [len(samples)]
        if cells["stats_ci_99_a"]:
            low, high = cells["stats_ci_99_a"][0], cells["stats_ci_99_b"][0]
            assert low <= cells["result"][0] <= high


def test_a_wider_level_gives_a_wider_interval(golden, export):
    """The 99 % of asv are computed, not those of the report under another name."""
    entry = golden("bench").derived.entries[0]
    document = json.loads(export("bench", "asv").read_text())
    columns = document["result_columns"]
    cells = dict(zip(columns, next(iter(document["results"].values())), strict=True))
    if cells["stats_ci_99_a"] is None:
        pytest.skip("this bundle has too few samples for 99 %")
    width = cells["stats_ci_99_b"][0] - cells["stats_ci_99_a"][0]
    assert width >= entry.high - entry.low


def test_github_action_benchmark_gets_costs_and_rates_apart(export, golden):
    """This run reached no target, so that it has no time to accuracy: rates and qualities alone."""
    path = export("recipe", "github-action-benchmark")
    assert not path.exists()
    bigger = json.loads(path.with_stem(path.stem + "-bigger").read_text())
    metrics = {metric.name: metric for metric in golden("recipe").derived.metrics}
    assert {entry["name"] for entry in bigger} == {"TestAccuracy", "Throughput"}
    for entry in bigger:
        metric = metrics[entry["name"]]
        assert entry["value"] == metric.median and entry["unit"] == metric.unit
    smaller = json.loads(export("bench", "github-action-benchmark").read_text())
    medians = [entry.median for entry in golden("bench").derived.entries]
    assert [entry["value"] for entry in smaller] == medians
    assert {entry["unit"] for entry in smaller} == {"s"}


@pytest.mark.parametrize("name", ["bench", "recipe", "collective", "suite"])
def test_prometheus_text_has_the_form_of_the_format(name, export):
    lines = export(name, "prometheus").read_text().splitlines()
    samples = [line for line in lines if not line.startswith("#")]
    assert samples and all(SAMPLE.fullmatch(line) for line in samples)
    for line in samples:
        float(line.rpartition(" ")[2])
    parser = pytest.importorskip("prometheus_client.parser", reason="not installed")
    families = parser.text_string_to_metric_families("\n".join(lines) + "\n")
    assert {family.name for family in families} >= {"deep500_result"}
