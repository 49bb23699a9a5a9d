"""Record a result so that it leaves a trace: a bundle on disk and its line in the ledger, finished or not."""

import hashlib
import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .. import bundle
from ..contracts.result import Record, ResultKind, derived_numbers, result_kind
from ..errors import Deep500Error, Wrong, one_line
from ..home import home
from ..measure.clock import calibrate
from ..measure.machine import environment
from ..measure.plan import Plan
from ..measure.running import Progress, measure_plan
from ..validation.diagnosis import diagnosis_document, noise_plan
from .ledger import Ledger
from .resuming import check_same_plan
from .resumption import resumption_note

DOCUMENTS = ("plan.json", "environment.json")  # what is written before the first block
MOST_PROBLEMS = 10  # of the ledger that a diagnosis names
Prepare = Callable[[], Mapping[str, Any]]


class Recording:
    """A result that is being made: `append` blocks, then `finish`."""

    def __init__(
        self,
        kind: ResultKind,
        plan: Mapping[str, Any],
        surroundings: Mapping[str, Any],
        writer: bundle.Writer,
        blocks: list[dict[str, Any]],
    ):
        self.kind, self.plan, self.environment = kind, plan, surroundings
        self.writer, self.blocks = writer, blocks
        self.record: Record | None = None  # once it is finished
        self.resumption: dict[str, Any] | None = (
            None  # for the first block after a resumption
        )

    @property
    def folder(self) -> Path:
        return self.writer.folder

    def append(self, block: dict[str, Any]) -> None:
        """Add a block; it is on disk before this returns."""
        self.writer.append(block)
        self.blocks.append(block)

    def finish(
        self,
        sensors: Mapping[str, Any] | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> Record:
        """Derive every number, once, write the manifest, and return the record as it is on disk."""
        self.kind.check_blocks(
            self.plan, _as_json(self.blocks)
        )  # as whoever reads it will
        derived = _as_json(derived_numbers(self.kind, self.plan, self.blocks))
        documents = {"derived.json": derived}
        if sensors is not None:
            documents["sensors.json"] = sensors = _as_json(sensors)
        digest = self.writer.finish(documents, dict(files or {}))
        self.record = Record(
            self.kind,
            self.plan,
            self.blocks,
            derived,
            self.environment,
            bundle=str(self.folder),
            hash=digest,
            sensors=sensors,
        )
        return self.record


@contextmanager
def recording(
    kind: str,
    plan: Mapping[str, Any],
    folder: str | Path | None = None,
    *,
    name: str = "",
    prepare: Prepare | None = None,
    resume: bool = False,
    surroundings: Mapping[str, Any] | None = None,
) -> Iterator[Recording]:
    """Begin a line in the ledger and a bundle (under the home folder if none is named); end both, however it ends.

    `prepare` runs before anything is written and returns what is still to be added to the plan: what is wrong with a
    request shows there. `resume` goes on with an unfinished bundle of the same plan, if one was begun. `surroundings`
    is the environment, if it is known already.
    """
    own = result_kind(kind)
    place = Path(folder).absolute() if folder else _new_folder(name or kind)
    ledger = Ledger()
    run = ledger.started(
        place, kind, hashlib.sha256(bundle.canonical(plan)).hexdigest()
    )
    opened: Recording | None = None
    try:
        whole = _as_json(dict(plan) | dict(prepare() if prepare else {}))
        if resume and bundle.begun(place, DOCUMENTS):
            opened = _reopened(own, whole, place)
        else:
            opened = _created(
                own, whole, place, surroundings or environment().to_json()
            )
        yield opened
        if opened.record is None:
            raise Deep500Error(f"nothing was finished in {place}")
    except (Exception, KeyboardInterrupt) as error:
        if opened:
            _abandon(opened, error)
        ledger.failed(run, one_line(error, 1000))
        raise
    ledger.finished(run, opened.record.hash)


def recorded_run(
    plan: Plan,
    folder: str | Path | None = None,
    progress: Progress | None = None,
    *,
    kind: str = "bench",
    more: Callable[[Recording], None] | None = None,
) -> Record:
    """Measure the plan of a benchmark into a bundle; `more` appends further blocks of its kind."""
    clock = calibrate()
    document = plan.to_json() | {"clock": asdict(clock)}
    with recording(kind, document, folder) as record:
        sensors = measure_plan(plan, clock, record.plan, record.append, progress)
        if more:
            more(record)
        return record.finish(sensors)


def recorded_diagnosis(
    budget_s: float = 2.0, folder: str | Path | None = None
) -> Record:
    """Look at everything that bears on measuring here, and measure the noise into a bundle."""
    plan, clock, surroundings = noise_plan(budget_s), calibrate(), environment()
    document = diagnosis_document(plan, clock, surroundings)
    broken = Ledger().problems()[:MOST_PROBLEMS]
    document["advice"] += [f"the ledger is broken: {problem}" for problem in broken]
    with recording(
        "doctor", document, folder, surroundings=surroundings.to_json()
    ) as record:
        sensors = measure_plan(plan, clock, record.plan, record.append)
        return record.finish(sensors)


def find_bundle(name: str | None = None) -> Path:
    """A bundle by its path, by its run in the ledger, or the last measurement that left one."""
    if name is not None and Path(name).exists():
        return Path(name)
    runs = [run for run in Ledger().runs() if Path(run.folder).is_dir()]
    for run in runs:
        if run.run == name or (name is None and _is_measurement(run.kind)):
            return Path(run.folder)
    if name is None:
        raise Deep500Error(
            "there is no run yet: make one with `d5 bench`, or name a bundle"
        )
    raise Deep500Error(
        f"no bundle {name!r}: give a folder or zip that exists, or a run of `d5 list`"
    )


def _is_measurement(kind: str) -> bool:
    try:
        return result_kind(kind).measurement
    except (
        Deep500Error
    ):  # a kind of another version, or of a package that is not here any more
        return False


def _new_folder(name: str) -> Path:
    return (
        home()
        / "runs"
        / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{name}-{secrets.token_hex(3)}"
    )


def _created(
    kind: ResultKind,
    plan: Mapping[str, Any],
    folder: Path,
    surroundings: Mapping[str, Any],
) -> Recording:
    surroundings = _as_json(surroundings)
    contents: tuple[object, object] = (kind.check_plan(plan), surroundings)
    documents = dict(zip(DOCUMENTS, contents, strict=True))
    writer = bundle.create(folder, documents, kind=kind.name)
    return Recording(kind, plan, surroundings, writer, [])


def _reopened(kind: ResultKind, plan: Mapping[str, Any], folder: Path) -> Recording:
    writer, found = bundle.reopen(folder)  # from here on, nobody else writes to it
    try:
        check_same_plan(folder, kind, plan, found)
        surroundings = found.documents.get("environment.json")
        blocks = kind.check_blocks(plan, found.blocks)
    except BaseException:
        writer.close()
        raise
    surroundings = surroundings if isinstance(surroundings, dict) else {}
    resumed = Recording(kind, plan, surroundings, writer, blocks)
    resumed.resumption = resumption_note(surroundings)
    return resumed


def _abandon(opened: Recording, error: BaseException) -> None:
    """Keep what was measured; leave nothing behind where nothing was, or nothing that means anything."""
    if opened.blocks and not isinstance(error, Wrong):
        opened.writer.close()
    else:
        opened.writer.discard()


def _as_json(document: Any) -> Any:
    """The document as anyone will read it from the bundle."""
    return json.loads(bundle.canonical(document))
