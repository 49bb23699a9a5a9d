"""The history of one name: its results in the ledger of this machine, or in a folder, as series in order of time."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..bundle.records.ledger import Ledger
from ..errors import Deep500Error, did_you_mean
from .collecting import Candidate, RefusedBundle, bundle_paths, collect
from .document import ResultSeries
from .history import all_series

MOST_RUNS = 500  # the newest of the ledger that are read


@dataclass(frozen=True)
class NamedHistory:
    """The series of a name, and what could not be used."""

    name: str
    series: Sequence[ResultSeries]
    refused: Sequence[RefusedBundle]


def history(
    name: str, folder: Path | None, metric: str | None, level: float
) -> NamedHistory:
    """All series of a recipe or a measurement of that name, or else the series in which an entry of that name is."""
    paths = bundle_paths(folder) if folder is not None else _ledger_paths()
    candidates, refused = collect(paths)
    chosen = [candidate for candidate in candidates if _is_named(candidate, name)]
    if not chosen:
        series = {one.series for one in candidates if one.entry == name}
        chosen = [one for one in candidates if one.series in series]
    if not chosen:
        subjects = sorted({c.contestant.standing.subject for c in candidates})
        where = str(folder) if folder is not None else "the ledger"
        hint = did_you_mean(name, subjects)
        known = ", ".join(subjects[:20]) or "none that can be used"
        raise Deep500Error(
            f"no result of {name!r} in {where}.{hint} There are: {known}"
        )
    found = all_series(chosen, metric, level, fewest=1)
    of_name = [one for one in refused if name in one.entry]
    return NamedHistory(name, found, of_name)


def _is_named(candidate: Candidate, name: str) -> bool:
    standing = candidate.contestant.standing
    return name in (standing.subject, standing.system)


def _ledger_paths() -> list[Path]:
    """The bundles of the newest finished runs that are still where they were written."""
    paths: dict[Path, None] = {}
    for run in Ledger().runs():
        path = Path(run.folder)
        if run.state == "finished" and path.is_dir():
            paths[path] = None
        if len(paths) >= MOST_RUNS:
            break
    return [*paths]
