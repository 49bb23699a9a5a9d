import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass

import pytest

from deep500.cli import main


@dataclass
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


def without_load_warnings(err):
    """What a verb said, apart from whether others were using the machine at that moment."""
    lines = err.splitlines(keepends=True)
    return "".join(
        line for line in lines if not re.match("warning: .* to run on .* CPUs", line)
    )


@pytest.fixture
def d5(tmp_path, monkeypatch, capfd):
    """The command in this process, which has imported everything, with a ledger of its own."""

    def call(*args, cwd=tmp_path):
        capfd.readouterr()
        with monkeypatch.context() as patch:
            patch.chdir(cwd)
            patch.setenv("DEEP500_HOME", str(tmp_path / "home"))
            try:
                code = main([*map(str, args)])
            except SystemExit as end:  # after --help
                code = int(end.code)
        out, err = capfd.readouterr()
        return Answer(code, out, without_load_warnings(err))

    return call


@pytest.fixture
def fresh_d5(tmp_path):
    """The same in a fresh process, for what leaves traces in its process."""

    def call(*args, cwd=tmp_path, timeout=120):
        done = subprocess.run(
            [sys.executable, "-m", "deep500.cli", *map(str, args)],
            cwd=cwd,
            text=True,
            capture_output=True,
            timeout=timeout,
            env=os.environ | {"DEEP500_HOME": str(tmp_path / "home")},
        )
        return Answer(done.returncode, done.stdout, without_load_warnings(done.stderr))

    return call
