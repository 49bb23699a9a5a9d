"""The reported numbers of a record, for tools that keep one number per benchmark and commit."""

from ..contracts.dossier import ReportedNumber
from ..contracts.export_format import AnyRecord
from ..errors import Deep500Error


def reported_numbers(record: AnyRecord) -> list[ReportedNumber]:
    """Every number that the report shows, each name once; a Deep500Error if there is none."""
    numbers: dict[str, ReportedNumber] = {}
    for number in record.kind.dossier(record).number:
        if number.value is not None:
            numbers.setdefault(number.name, number)
    if not numbers:
        raise Deep500Error(
            f"{record.bundle} (of kind {record.kind.name!r}) reports no number that could be exported"
        )
    return [*numbers.values()]


def is_lower_better(number: ReportedNumber) -> bool:
    """Whether less of it is better: of costs; a quality is read by its name."""
    words = ("loss", "error", "perplexity")
    if number.kind == "quality":
        return any(word in number.name.lower() for word in words)
    return number.kind in ("cost", "ratio", "count", None)
