"""Ranks that a benchmark starts: each leaves its result in a folder, or why it failed."""

import json
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import Deep500Error
from ..schema import decoded, encoded

if TYPE_CHECKING:
    from ..contracts.transport import Program, Transport
    from ..distributed.launching import Launched

REQUEST = "request.json"
ResultT = TypeVar("ResultT")
GRACE = 20.0  # seconds that ranks have to end after one has failed
Finish = Callable[["Transport", object], None]


def carried_out(transport: "Transport", program: "Program") -> Any:
    """The value of a program on the one rank of this process."""
    [rank] = transport.ranks
    return transport.run(lambda _: program)[rank]


def result_file(folder: Path, rank: int) -> Path:
    """Where a rank leaves its result."""
    return folder / f"rank-{rank}.json"


@contextmanager
def rank_process(folder: Path) -> Iterator[Finish]:
    """What a rank does in this block; it ends with the call of what it is given. After a failure, no rank waits."""
    from ..distributed.communication import break_transports, launched_rank
    from ..distributed.failures import leave_failure

    def finish(transport: "Transport", result: object) -> None:
        [rank] = transport.ranks
        text = json.dumps(encoded(result))
        result_file(folder, rank).write_text(text)
        transport.close()

    try:
        yield finish
    except Deep500Error as error:
        reports = break_transports(error)
        if not leave_failure(launched_rank(), error) and reports:
            raise
        raise SystemExit(2) from None
    except BaseException as error:
        break_transports(error)
        raise


def request_of(kind: type[ResultT], folder: Path) -> ResultT:
    """What the ranks of a launch are to do."""
    document = json.loads((folder / REQUEST).read_text())
    return decoded(kind, document, REQUEST)


def launched_results(
    module: str,
    request: object,
    kind: type[ResultT],
    ranks: int,
    transport: str,
    enter: Sequence[str] = (),
) -> list[ResultT]:
    """Start a module as so many ranks, behind the words of `enter`, and read what they leave."""
    from ..distributed.launching import launch, python_command

    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / REQUEST).write_text(json.dumps(encoded(request)))
        command = [*enter, *python_command("-m", module, name)]
        launched = launch(
            command,
            ranks,
            transport,
            grace=GRACE,
            capture=True,
            env={"OMP_NUM_THREADS": "1"},
        )
        check_launched(launched)
        return [rank_result(kind, folder, rank) for rank in range(ranks)]


def check_launched(launched: "Launched") -> None:
    """Raise a Deep500Error that says why the ranks did not finish, with the one that failed first."""
    from ..distributed.failures import first_own

    if own := first_own(launched.failures):
        raise Deep500Error(own.message)
    if launched.first is not None and launched.first[1] < 0:
        rank, code = launched.first
        name = signal.Signals(-code).name
        raise Deep500Error(f"rank {rank} was ended by {name}")
    if launched.failures:
        raise Deep500Error(launched.failures[0].message)
    if launched.code:
        lines = launched.output.strip().splitlines() or ["they said nothing"]
        raise Deep500Error(f"the ranks ended with {launched.code}: {lines[-1]}")


def rank_result(kind: type[ResultT], folder: Path, rank: int) -> ResultT:
    """What a rank has left."""
    file = result_file(folder, rank)
    if not file.exists():
        raise Deep500Error(f"rank {rank} ended without a result")
    document: Any = json.loads(file.read_text())
    return decoded(kind, document, f"rank {rank}")
