"""Whoever started the ranks: one launcher, and the one of the transport."""

import pytest

from deep500.distributed.communication import check_launcher, is_first_process
from deep500.errors import Deep500Error

TORCHRUN = {
    "RANK": "1",
    "WORLD_SIZE": "2",
    "MASTER_ADDR": "127.0.0.1",
    "GROUP_WORLD_SIZE": "1",
}
MPIEXEC = {"PMI_RANK": "1", "PMI_SIZE": "2"}


@pytest.mark.parametrize(
    ("transport", "variables"),
    [
        ("torch", TORCHRUN),
        ("mpi", MPIEXEC),
        ("mpi", {}),
        ("torch", {}),
        # a torchrun for each process of mpiexec's, which know of each other
        ("torch", {**MPIEXEC, **TORCHRUN, "GROUP_WORLD_SIZE": "2"}),
        ("torch", {**TORCHRUN, "PMI_RANK": "0", "PMI_SIZE": "1"}),
    ],
)
def test_one_launcher_is_taken(transport: str, variables: dict[str, str]) -> None:
    check_launcher(transport, variables)


@pytest.mark.parametrize(
    ("transport", "variables", "message"),
    [
        ("mpi", TORCHRUN, "started for the transport torch, and mpi is asked for"),
        ("torch", MPIEXEC, "started for the transport mpi, and torch is asked for"),
        (
            "torch",
            {**MPIEXEC, **TORCHRUN},
            "mpiexec has started 2 processes and torchrun ranks in each",
        ),
    ],
)
def test_two_launchers_are_refused(
    transport: str, variables: dict[str, str], message: str
) -> None:
    with pytest.raises(Deep500Error, match=message) as raised:
        check_launcher(transport, variables)
    assert "\n" not in str(raised.value) and "--ranks 1" not in str(raised.value)


def test_one_process_speaks_for_all() -> None:
    assert is_first_process({})
    assert is_first_process({**TORCHRUN, "RANK": "0"})
    assert not is_first_process(TORCHRUN)
    assert not is_first_process({**TORCHRUN, "RANK": "0", "PMI_RANK": "1"})
