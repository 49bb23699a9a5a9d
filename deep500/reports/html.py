"""The report of a measurement as one self-contained HTML page."""

from .answers import Answer, answer, status
from .cautions import cautions
from .contents import (
    comparisons,
    effects,
    entries,
    measured_things,
    quantiles,
    ratios,
)
from .data import ReportData
from .markup import (
    alarm,
    banner,
    bullets,
    details,
    figure,
    inline,
    page,
    pill,
    section,
    surroundings,
    table,
)
from .pictures import pictures
from .rates import rates, remarks
from .series import Picture
from .surroundings import plan, provenance, sensors


def html(data: ReportData) -> str:
    """The whole report as a page."""
    return page(
        "Deep500 measurement",
        data.title,
        f"""{_banner(data, answer(data))}
{alarm(data.problems)}
{_results(data)}
{_pictures(data)}
{_method(data)}
{surroundings(data, [("sensors", sensors(data))])}
<footer>
{section("Raw data", bullets(provenance(data)))}
</footer>""",
    )


def _banner(data: ReportData, found: Answer) -> str:
    total = sum(found.verdicts.values())
    pills = " ".join(
        pill(verdict, f"{count} " if total > 1 else "") for verdict, count in found.verdicts.items()
    )
    tone = next(iter(found.verdicts)) if len(found.verdicts) == 1 else ""
    return banner(pills or pill("measured"), tone, found.headline, found.figures, status(data))


def _results(data: ReportData) -> str:
    compared = "".join(
        f"<p>{inline(intro)}</p>{table(content)}" for intro, content in comparisons(data)
    )
    compared += details("Effect sizes", table(effects(data)))
    operators = (
        section("Operators", table(operator_rates) + bullets(remarks(data)))
        if (operator_rates := rates(data)).rows
        else ""
    )
    return "".join(
        [
            operators,
            section("Times", table(entries(data))),
            section("Comparisons", compared),
            section("Notes and warnings", bullets(cautions(data))),
            section("Further quantiles", table(quantiles(data))),
        ]
    )


def _pictures(data: ReportData) -> str:
    return section("Pictures", "".join(_figure(picture, data) for picture in pictures(data)))


def _figure(picture: Picture, data: ReportData) -> str:
    numbers = (
        details("The same as numbers", table(ratios(data))) if picture.name == "ratios" else ""
    )
    return figure(picture, numbers)


def _method(data: ReportData) -> str:
    return section("What was measured", table(measured_things(data))) + section(
        "What was varied and how", table(plan(data))
    )
