"""Asks the questions of a check in a fresh process with a deadline: a subject that crashes or never ends is wrong."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..definition_text import names_code
from ..errors import (
    Deep500Error,
    InternalError,
    one_line,
    raise_if_internal,
    with_place,
)
from ..supervision.isolation import Died, isolated
from ..supervision.serving import Progress
from .contract import NounCheck
from .nouns import check_class
from .report import CheckReport, CheckResult, report_of


def checked_elsewhere(
    check: NounCheck,
    text: str,
    settings: Mapping[str, Any],
    where: str,
    timeout_s: float,
) -> CheckReport:
    """The report on what `text` names, in one place."""
    request = {
        "noun": check.noun,
        "fields": check.settings,
        "text": text,
        "settings": dict(settings),
        "where": where,
        "limit_s": timeout_s,
    }
    try:
        answer = isolated(f"{__name__}:ask", request, timeout_s + check.grace_s)
    except Died as error:
        fault = CheckResult("process", False, text=one_line(error))
        return CheckReport(check.noun, text, where, check.noun, [fault], isolated=True)
    return report_of(answer, f"the answer of {where or check.noun}")


def ask(
    noun: str,
    fields: Mapping[str, Any],
    text: str,
    settings: Mapping[str, Any],
    where: str,
    limit_s: float,
    progress: Progress,
) -> dict[str, Any]:
    """What the fresh process does."""
    check = check_class(noun)(**fields)
    subject = check.load(text, settings)
    try:
        with check.limit(limit_s):
            report = check.report(subject, where, progress)
    except (Deep500Error, InternalError):
        raise
    except Exception as error:  # code from anyone
        if not names_code(text):
            raise_if_internal(error)
        fault = CheckResult("process", False, text=with_place(error))
        report = CheckReport(noun, text, where, noun, [fault])
    return replace(report, isolated=True).document
