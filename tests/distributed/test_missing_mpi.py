"""Without MPI, or without its launcher, a user is told in one line what to install, at once and with nothing left."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deep500.distributed.launching import launch, python_command
from deep500.errors import Unsupported
from deep500.supervision.descendants import descendants

ROOT = Path(__file__).parents[2]


def without_mpi4py(folder: Path) -> dict[str, str]:
    """An environment in which every Python fails to import mpi4py."""
    (folder / "sitecustomize.py").write_text(
        'import sys\nsys.modules["mpi4py"] = None\n'
    )
    path = os.pathsep.join([str(folder), str(ROOT)])
    return {**os.environ, "PYTHONPATH": path}


@pytest.mark.parametrize("launcher", [[], ["mpiexec", "-n", "2"]])
def test_a_recipe_without_mpi4py_is_refused_in_one_line(
    tmp_path: Path, launcher: list[str]
) -> None:
    scripts = Path(sys.executable).parent
    launcher = [str(scripts / name) if name == "mpiexec" else name for name in launcher]
    words = ["run", "digits_cnn_distributed", "--tier", "tiny", "--seeds", "1"]
    words += ["--transport", "mpi", "--ranks", "2", "--out", str(tmp_path / "out")]
    done = subprocess.run(
        [*launcher, sys.executable, "-m", "deep500.cli", *words],
        env=without_mpi4py(tmp_path),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2, done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("d5: ")]
    assert errors and "the transport mpi needs mpi4py and an MPI library" in errors[-1]
    assert "pip install 'deep500-bench[mpi]'" in errors[-1]
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_machine_without_mpiexec_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    before = descendants(os.getpid())
    with pytest.raises(Unsupported, match="there is no mpiexec: install MPI"):
        launch(python_command("-c", "pass"), 2, "mpi")
    assert descendants(os.getpid()) <= before
