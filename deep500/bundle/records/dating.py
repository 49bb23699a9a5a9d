"""The dates of a bundle: when it was begun, created and finished, and in which order that must have been."""

from collections.abc import Iterator

from ...errors import Deep500Error
from ...measure.machine import Environment
from .. import Bundle
from ..dates import Dates, date_seconds, date_text
from ..encoding import MANIFEST

MOMENT = ("benchmark measurement setup", "moment")
SETUP_S = 60.0  # an environment is described before its bundle is created, and this takes a while


def bundle_dates(bundle: Bundle) -> Dates:
    """The earliest date that the bundle names as its beginning, and its end.

    A result that is saved after it was measured is created last; its environment has the earlier moment.
    """
    created = date_seconds(bundle.created)
    moment = _environment_moment(bundle)
    begun = created if moment is None else min(created, moment)
    return Dates(begun, _finished(bundle))


def date_problems(bundle: Bundle) -> Iterator[str]:
    """The dates that are out of order."""
    created = date_seconds(bundle.created)
    finished = _finished(bundle)
    moment = _environment_moment(bundle)
    if finished is not None and finished < created:
        yield f"{MANIFEST}: finished {date_text(finished)} lies before created {date_text(created)}"
    if moment is not None and moment > created + SETUP_S:
        yield (
            f"environment.json: its moment {date_text(moment)} lies after created {date_text(created)}, "
            "and the environment is described before"
        )


def future_remark(bundle: Bundle, now: float) -> Iterator[str]:
    """That a bundle is dated later than this machine's clock."""
    latest = _finished(bundle) or date_seconds(bundle.created)
    if latest > now + SETUP_S:
        yield f"it is dated {date_text(latest)}, and the clock here says {date_text(now)}"


def _finished(bundle: Bundle) -> float | None:
    manifest = bundle.documents.get(MANIFEST)
    if not isinstance(manifest, dict):
        return None
    return date_seconds(manifest["finished"])


def _environment_moment(bundle: Bundle) -> float | None:
    document = bundle.documents.get("environment.json")
    if not isinstance(document, dict):
        return None
    try:
        fact = Environment.from_json(document).fact(*MOMENT)
        return date_seconds(str(fact.value))
    except (Deep500Error, ValueError):
        return None
