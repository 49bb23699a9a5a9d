"""Run a plan so that it leaves a trace: a bundle on disk and its line in the ledger, finished or not."""

import hashlib
from datetime import UTC, datetime
from pathlib import Path

from ..bundle import canonical
from ..errors import Deep500Error, one_line
from ..home import home
from ..measure.plan import Plan
from ..measure.running import Progress, execute
from .ledger import Ledger


def recorded_run(plan: Plan, folder: Path | None = None, progress: Progress | None = None) -> Path:
    """Execute the plan into a bundle (under the home folder if none is named) and return where it lies."""
    folder = (
        folder.absolute()
        if folder
        else (home() / "runs" / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{plan.seed:08x}")
    )
    ledger = Ledger()
    run = ledger.started(folder, "bench", hashlib.sha256(canonical(plan.to_json())).hexdigest())
    try:
        result = execute(plan, folder, progress)
    except (Exception, KeyboardInterrupt) as error:
        ledger.failed(run, one_line(error, 1000))
        raise
    ledger.finished(run, result.manifest)
    return folder


def find_bundle(name: str | None = None) -> Path:
    """A bundle by its path, by its run in the ledger, or the last run that left one."""
    if name is not None and Path(name).exists():
        return Path(name)
    runs = [r for r in Ledger().runs() if Path(r.folder).is_dir()]
    if name is None:
        if not runs:
            raise Deep500Error("there is no run yet: make one with `d5 bench`, or name a bundle")
        return Path(runs[0].folder)
    for run in runs:
        if run.run == name:
            return Path(run.folder)
    raise Deep500Error(
        f"no bundle {name!r}: give a folder or zip that exists, or a run of `d5 list`"
    )
