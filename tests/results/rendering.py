"""Measurements and runs of recipes in every format, as the verbs render them."""

from pathlib import Path

from deep500.bundle.records.loading import load, report_of
from deep500.reports import html as page
from deep500.reports import markdown as marked
from deep500.reports import terminal as shown
from deep500.results.benching.data import ReportData
from deep500.results.benching.measurement_report import bench_report


def html(data: ReportData) -> str:
    return page.html(bench_report(data))


def markdown(data: ReportData) -> str:
    return marked.markdown(bench_report(data))


def terminal(data: ReportData) -> str:
    return shown.terminal(bench_report(data))


def bundle_text(path: Path) -> str:
    return shown.terminal(report_of(load(path)))


def bundle_html(path: Path) -> str:
    return page.html(report_of(load(path)))


def bundle_markdown(path: Path) -> str:
    return marked.markdown(report_of(load(path)))
