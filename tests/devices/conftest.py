"""PyTorch counts its devices at its first backward pass: the simulated one must be there before, in its own process."""

from pathlib import Path

import pytest

IN_A_PROCESS_OF_THEIR_OWN = (
    "test_cheats.py",
    "test_clocks_under_load.py",
    "test_delays.py",
    "test_graphs.py",
    "test_measuring.py",
    "test_pytorch.py",
    "test_simulated_device.py",
)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """test_in_own_processes.py runs these files; named on the command line, they run as any other."""
    if collection_path.name not in IN_A_PROCESS_OF_THEIR_OWN:
        return None
    named = {Path(argument.partition("::")[0]).name for argument in config.args}
    return None if collection_path.name in named else True
