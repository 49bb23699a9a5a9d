"""The reports of objects that know none themselves: results in memory, comparisons, checks and networks."""

from collections.abc import Sequence

from ..check.report import CheckReport, Reports
from ..contracts.network import Network
from ..measure.results import Result
from ..measure.statistics.comparison import Comparison
from ..reports.blocks import Block, Bullets, Report, Table
from ..reports.tables import NOTHING, measured, ratio
from ..reports.text import Text, VerdictWord, clean

MOST_NODES = 30


def result_report(result: Result) -> Report:
    """A measurement that was just made."""
    from ..results.benching.data import ReportData
    from ..results.benching.measurement_report import bench_report
    from ..results.benching.times_kind import with_samples

    title = " · ".join(result.names)
    data = ReportData(title, result.plan, result.environment or {}, result.derived)
    return bench_report(data, lambda: with_samples(data, result))


def comparison_report(comparison: Comparison) -> Report:
    """One ratio with its verdict and both times."""
    c = comparison
    sides = []
    for side in (c.a, c.b):
        figure: Text = NOTHING
        if side:
            figure = measured(side.estimate, side.low, side.high, side.n, side.level)
        sides.append(figure)
    figure = ratio(c.ratio, c.low, c.high, c.n, c.level)
    row = [*sides, figure, VerdictWord(c.verdict)]
    notes = Bullets([clean(note) for note in c.notes])
    blocks: list[Block] = [Table(["A", "B", "B / A", "B is"], [row]), notes]
    return Report("Deep500 comparison", "B against A", blocks)


def check_report(check: CheckReport | Reports) -> Report:
    """What was checked, the faults first."""
    from ..results.checking.check_page import check_banner, place_section

    reports: Sequence[CheckReport]
    remarks: Sequence[str] = ()
    if isinstance(check, Reports):
        reports, remarks = check.reports, check.remarks
    else:
        reports = [check]
    subject = clean(check.subject)
    blocks: list[Block] = [check_banner(subject, reports, "; ".join(remarks))]
    blocks += [place_section(report, False, False, True) for report in reports]
    return Report("Deep500 check", subject, blocks)


def network_report(network: Network) -> Report:
    """What a network consists of and costs for one example; nothing is run."""
    from ..costs.network_costs import network_costs
    from ..costs.summary import costs_report

    return costs_report(network_costs(network, 1), MOST_NODES, None)
