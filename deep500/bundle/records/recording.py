"""Records a result as a bundle on disk and a line in the ledger, whether it is finished or not."""

import hashlib
import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ... import bundle
from ...contracts.result import (
    Record,
    ResultKind,
    derived_document,
    derived_numbers,
    result_kind,
)
from ...errors import Deep500Error, Wrong, one_line
from ...home import home
from ...measure.bench_plan import check_plan
from ...measure.clock import calibrate
from ...measure.machine import environment
from ...measure.plan import Plan
from ...measure.running import Progress, measure_plan
from ...schema import encoded
from ...training.resumption import ResumptionNote
from .diagnosis import diagnosis_document, noise_plan
from .ledger import Ledger
from .resuming import check_same_plan
from .resumption_note import resumption_note

DOCUMENTS = ("plan.json", "environment.json")  # written before the first block
MOST_PROBLEMS = 10  # the most problems of the ledger that a diagnosis lists
Prepare = Callable[[], Mapping[str, Any]]


class Recording:
    """A result that is being recorded: `append` blocks, then `finish`."""

    def __init__(
        self,
        kind: ResultKind,
        plan: Mapping[str, Any],
        surroundings: Mapping[str, Any],
        writer: bundle.Writer,
        blocks: list[dict[str, Any]],
    ):
        self.kind = kind
        self.plan = plan
        self.environment = surroundings
        self.writer = writer
        self.blocks = blocks
        self.record: Record | None = None  # None until it is finished
        # the note for the first block after a resumption
        self.resumption: ResumptionNote | None = None

    @property
    def folder(self) -> Path:
        return self.writer.folder

    def append(self, block: object) -> None:
        """Add a block, a mapping or a dataclass; it is on disk before this returns."""
        document = encoded(block)
        self.writer.append(document)
        self.blocks.append(document)

    def finish(
        self,
        sensors: Mapping[str, Any] | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> Record:
        """Derive every number, write the manifest, and return the record as it is on disk."""
        plan = self.kind.check_plan(self.plan)
        blocks = self.kind.check_blocks(plan, self.blocks)
        derived = derived_numbers(self.kind, plan, blocks)
        documents: dict[str, object] = {"derived.json": None}
        if derived is not None:
            documents["derived.json"] = derived_document(self.kind, derived)
        if sensors is not None:
            sensors = _as_json(sensors)
            documents["sensors.json"] = sensors
        digest = self.writer.finish(documents, dict(files or {}))
        self.record = Record(
            self.kind,
            plan,
            blocks,
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
    plan: object,
    folder: str | Path | None = None,
    *,
    name: str = "",
    prepare: Prepare | None = None,
    resume: bool = False,
    surroundings: Mapping[str, Any] | None = None,
    subject: str = "",
) -> Iterator[Recording]:
    """Begin a line in the ledger and a bundle (by default under the home folder), and end both, even after an error.

    `plan` is a dataclass or a mapping. `prepare` is called before the bundle is written, so that it can reject a
    request, and returns what is still to be added to the plan. `resume` continues an unfinished bundle of the same
    plan, if there is one. `surroundings` is the environment, if it is already known. `subject` says in the ledger what
    this is a run of.
    """
    result = result_kind(kind)
    if folder:
        location = Path(folder).absolute()
    else:
        location = new_folder(name or kind)
    plan_document = encoded(plan)
    plan_hash = hashlib.sha256(bundle.canonical(plan_document)).hexdigest()
    ledger = Ledger()
    run = ledger.started(location, kind, plan_hash, subject)
    opened: Recording | None = None
    try:
        complete_plan = dict(plan_document)
        if prepare:
            complete_plan |= prepare()
        if subject:
            complete_plan["ledger"] = ledger.attempts(subject, besides=run)
        complete_plan = _as_json(complete_plan)
        if resume and bundle.begun(location, DOCUMENTS):
            opened = _reopened(result, complete_plan, location)
        else:
            surroundings = surroundings or environment().to_json()
            opened = _created(result, complete_plan, location, surroundings)
        yield opened
        if opened.record is None:
            raise Deep500Error(f"nothing was finished in {location}")
    except KeyboardInterrupt as interrupt:  # Ctrl-C, or a signal
        if opened:
            _abandon(opened, interrupt)
            interrupt.add_note("`d5 list` shows what was kept")
        ledger.interrupted(run, str(interrupt) or "Ctrl-C")
        raise
    except Exception as error:
        if opened:
            _abandon(opened, error)
        ledger.failed(run, one_line(error, 1000))
        raise
    ledger.finished(run, opened.record.hash, opened.writer.documents["plan.json"])


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
        written = check_plan(record.plan)
        sensors = measure_plan(plan, clock, written, record.append, progress)
        if more:
            more(record)
        return record.finish(sensors)


def recorded_diagnosis(
    budget_s: float = 2.0, folder: str | Path | None = None
) -> Record:
    """Inspect everything that influences measurements on this machine, and record its noise in a bundle."""
    plan = noise_plan(budget_s)
    clock = calibrate()
    here = environment()
    document = diagnosis_document(plan, clock, here)
    for problem in Ledger().problems()[:MOST_PROBLEMS]:
        document["advice"].append(f"the ledger is broken: {problem}")
    surroundings = here.to_json()
    with recording("doctor", document, folder, surroundings=surroundings) as record:
        written = check_plan(record.plan)
        sensors = measure_plan(plan, clock, written, record.append)
        return record.finish(sensors)


def find_bundle(name: str | None = None) -> Path:
    """The bundle with this path or of this run in the ledger; by default, that of the last measurement."""
    if name is not None and Path(name).exists():
        return Path(name)
    for run in Ledger().runs():
        folder = Path(run.folder)
        if not folder.is_dir():
            continue
        if run.run == name or (name is None and _is_measurement(run.kind)):
            return folder
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
    # a kind of another version, or of a package that is no longer installed
    except Deep500Error:
        return False


def new_folder(name: str) -> Path:
    """A folder that no other run has, for one of this name."""
    now = datetime.now(UTC)
    suffix = secrets.token_hex(3)
    return home() / "runs" / f"{now:%Y%m%d-%H%M%S}-{name}-{suffix}"


def _created(
    kind: ResultKind,
    plan: Mapping[str, Any],
    folder: Path,
    surroundings: Mapping[str, Any],
) -> Recording:
    surroundings = _as_json(surroundings)
    kind.check_plan(plan)
    documents: dict[str, object] = {
        "plan.json": plan,
        "environment.json": surroundings,
    }
    writer = bundle.create(folder, documents, kind=kind.name)
    return Recording(kind, plan, surroundings, writer, [])


def _reopened(kind: ResultKind, plan: Mapping[str, Any], folder: Path) -> Recording:
    # an open bundle is locked against other writers
    writer, existing = bundle.reopen(folder)
    try:
        check_same_plan(folder, kind, plan, existing)
        surroundings = existing.documents.get("environment.json")
        kind.check_blocks(kind.check_plan(plan), existing.blocks)
    except BaseException:
        writer.close()
        raise
    if not isinstance(surroundings, dict):
        surroundings = {}
    resumed = Recording(kind, plan, surroundings, writer, existing.blocks)
    resumed.resumption = resumption_note(surroundings)
    return resumed


def _abandon(opened: Recording, error: BaseException) -> None:
    """Keep the measured blocks; delete the bundle if there are none, or if the result is wrong."""
    if opened.blocks and not isinstance(error, Wrong):
        opened.writer.close()
    else:
        opened.writer.discard()


def _as_json(document: Any) -> Any:
    """The document as a reader of the bundle gets it."""
    return json.loads(bundle.canonical(document))
