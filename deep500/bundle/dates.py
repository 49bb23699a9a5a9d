"""The dates of a bundle, as seconds since 1970."""

from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True)
class Dates:
    """When a bundle was begun and finished, in seconds since 1970; `finished` is None while it is not."""

    begun: float
    finished: float | None = None


def date_seconds(date: str) -> float:
    """The seconds since 1970 of a date in ISO format; one without a zone is in UTC."""
    moment = datetime.fromisoformat(date)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()


def date_text(seconds: float) -> str:
    """The date, in UTC and to the second."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
