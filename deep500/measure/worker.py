"""The fresh process: builds a session from a JSON request, then times blocks on demand. Standard library only."""

from dataclasses import asdict
from typing import Any

from ..errors import Deep500Error
from ..import_path import add_import_folder
from ..supervision.serving import Message, Progress, serve
from .candidates import (
    DataCandidate,
    Function,
    Statement,
    candidate_from_json,
    resolve,
)
from .clock import Clock, now
from .layout import layout_from_json
from .plan import PlanEntry
from .session import Session


class MeasuringWorker:
    """Answers requests: the first makes a session, an empty one finishes it, others prepare it or are blocks."""

    session: Session | None = None

    def answer(self, request: Message, progress: Progress) -> Message:
        try:
            return self._answer(request)
        except SystemExit as error:
            raise Deep500Error(
                f"the timed code called sys.exit({error.code!r})"
            ) from None

    def _answer(self, request: Message) -> Message:
        if self.session is None:
            self.session = _session(request)
            return {"calls": self.session.calibrate(request["watched"])}
        if "tolerance" in request:
            prepared = self.session.prepare(**request)
            return {"prepared": prepared.to_json()}
        if "orders" not in request:
            self.session.finish()
            return {"finished": True}
        began = now()
        visits = self.session.block(**request)
        block = asdict(visits)
        return {"block": block | {"spent_ns": now() - began}}


def _session(request: Message) -> Session:
    if request["user_imports"]:
        add_import_folder(".")
    entries = []
    for entry in request["entries"]:
        candidate = _candidate(entry)
        entries.append(PlanEntry(entry["name"], candidate, entry["levels"]))
    sync = resolve(request["sync"]) if request["sync"] else None
    layout = layout_from_json(request["layout"])
    clock = Clock(**request["clock"])
    return Session(entries, clock, sync, request["cold"], layout)


def _candidate(
    entry: dict[str, Any],
) -> Statement | Function | DataCandidate:
    if entry["kind"] == "job":
        return candidate_from_json(entry["job"])
    if entry["kind"] == "function":
        return Function(entry["text"], entry["setup"])
    return Statement(entry["text"], entry["setup"])


if __name__ == "__main__":
    serve(MeasuringWorker().answer)
