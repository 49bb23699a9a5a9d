"""A run whose ranks each have a copy of the scheme's modules, as processes have: they share what they send alone."""

import sys
from collections.abc import Callable
from types import ModuleType

import numpy as np

from ...contracts.scheme import Scheme, Worker
from ...contracts.transport import Program
from ...errors import errors_of_user_code
from ...import_path import is_users_path
from ...supervision.isolation import isolated
from ...user_files import forget_modules
from .resuming import DEADLINE, process_arguments, scheme_in_new_process
from .trials import Trials, replicas

SCHEMES = f"{__name__.partition('.')[0]}.schemes."


class Copies(Scheme):
    """Every rank runs a scheme of its own."""

    schemes: tuple[Scheme, ...]

    def start(self, worker: Worker) -> Program:
        return self.schemes[worker.rank].start(worker)

    def epoch(self, worker: Worker) -> Program:
        return self.schemes[worker.rank].epoch(worker)

    def model(self, worker: Worker) -> Program:
        return self.schemes[worker.rank].model(worker)

    def trainers(self, size: int) -> tuple[int, ...]:
        return self.schemes[0].trainers(size)


def trained_apart(trials: Trials) -> np.ndarray | None:
    """The replicas at the end of a run whose ranks have copies; None if a new process cannot make the scheme."""
    arguments = process_arguments(trials)
    if arguments is None:
        return None
    rows = isolated(f"{__name__}:train", arguments, DEADLINE)
    return None if rows is None else np.array(rows, np.float64)


def train(
    text: str,
    name: str,
    import_path: list[str],
    ranks: int,
    engine: str,
    seed: int,
    progress: Callable[[str], None],
) -> list[list[float]] | None:
    """In the new process: the whole run; None if the text does not give the scheme of this name."""
    sys.path[:] = import_path
    copies = []
    for _ in range(ranks):
        forget_modules(is_of_schemes)
        scheme = scheme_in_new_process(text, name)
        if scheme is None:
            return None
        copies.append(scheme)
    progress("training with a copy of the scheme for each rank")
    run = Trials(Copies(tuple(copies)), ranks, engine, seed).new_run()
    with errors_of_user_code("the run"):
        run.run()
    return replicas(run).tolist()


def is_of_schemes(module: ModuleType) -> bool:
    """Whether a module is one of schemes, or of a user: neither of ours nor installed."""
    file = getattr(module, "__file__", None)
    if module.__name__.startswith(SCHEMES):
        return True
    if file is None or module.__name__ == "__main__":
        return False
    return is_users_path(file)
