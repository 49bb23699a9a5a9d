"""Where nothing can be written, every verb says so in one line and exits with 2."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import without_load_warnings

RECIPE = Path(__file__).parents[2] / "recipes" / "digits_mlp.py"
RECORDED = Path(__file__).parents[1] / "data" / "before" / "recipe-0.1.0.zip"
VERBS = {
    "bench": ("bench", "pass", "--budget", "0.2"),
    "check": ("check", "operator", "Relu", "--framework", "reference"),
    "run": (
        "run",
        str(RECIPE),
        "--tier",
        "tiny",
        "--framework",
        "reference",
        "--seeds",
        "1",
    ),
    "doctor": ("doctor", "--budget", "0.2"),
    "list": ("list",),
    "show": ("show",),
}
OPERATOR = """
template<typename T>
class same : public deep500::CustomOperator {
    int64_t n;
public:
    same(int64_t length) : n(length) {}
    void forward(const T *x, T *y) { for (int64_t i = 0; i < n; ++i) y[i] = x[i]; }
    void backward(const T *dy, const T *x, const T *y, T *dx) { for (int64_t i = 0; i < n; ++i) dx[i] = dy[i]; }
};
"""


# Not a preexec_fn: JAX, if another test has loaded it, warns of every fork.
LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
os.execv(sys.executable, [sys.executable, "-m", "deep500.cli", *sys.argv[2:]])
"""


def refusal(words, folder, most_bytes=resource.RLIM_INFINITY, **environment):
    """The one line that `d5` refuses these words with."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(most_bytes), *words],
        cwd=folder,
        text=True,
        capture_output=True,
        timeout=120,
        env=os.environ | environment,
    )
    assert done.returncode == 2, done.stdout + done.stderr
    said = without_load_warnings(done.stderr)
    assert not done.stdout and said.startswith("d5: ") and said.count("\n") == 1
    return said


@pytest.mark.parametrize(
    "verb, place", [*((verb, "file") for verb in VERBS), ("bench", "file/below")]
)
def test_a_home_that_is_a_file(tmp_path, verb, place):
    (tmp_path / "file").touch()
    said = refusal(VERBS[verb], tmp_path, DEEP500_HOME=place)
    assert (
        said
        == f"d5: DEEP500_HOME is {place}, and {tmp_path}/file is no folder: set it to one\n"
    )


@pytest.mark.parametrize("verb", ["bench", "doctor"])
def test_a_home_that_cannot_be_made(tmp_path, verb):
    said = refusal(VERBS[verb], tmp_path, DEEP500_HOME="/proc/deep500")
    assert said.startswith("d5: /proc/deep500 cannot be written (")
    assert said.endswith("): set DEEP500_HOME to a folder that can\n")


@pytest.mark.parametrize(
    "verb", ["bench", "doctor", pytest.param("run", marks=pytest.mark.slow)]
)
def test_a_full_disk(tmp_path, verb):
    """No file may grow beyond 9 KiB; the description of the machine is larger."""
    said = refusal(VERBS[verb], tmp_path, 9 * 1024, DEEP500_HOME=str(tmp_path / "home"))
    assert "cannot be written" in said
    assert not any((tmp_path / "home" / "runs").glob("*/*"))


@pytest.mark.slow
def test_a_cache_that_is_a_file(tmp_path):
    """What is compiled has nowhere to go: that does not make the operator wrong."""
    (tmp_path / "file").touch()
    (tmp_path / "same.cpp").write_text(OPERATOR)
    words = ("check", "operator", "same.cpp:same", "--framework", "reference")
    said = refusal(
        words, tmp_path, DEEP500_HOME=str(tmp_path / "home"), DEEP500_CACHE="file"
    )
    assert (
        said
        == f"d5: DEEP500_CACHE is file, and {tmp_path}/file is no folder: set it to one\n"
    )
    said = refusal(
        words, tmp_path, DEEP500_HOME=str(tmp_path / "home"), DEEP500_CACHE="/proc/d5"
    )
    assert said.startswith("d5: /proc/d5/built cannot be written (")


@pytest.mark.parametrize("home", ["file", "/proc/home"])
def test_pictures_need_no_home(tmp_path, home):
    """Matplotlib keeps its settings and fonts there, uses a temporary folder otherwise, and would warn of that."""
    (tmp_path / "file").touch()
    names = ("MPLCONFIGDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
    environment = {k: v for k, v in os.environ.items() if k not in names}
    environment |= {"HOME": str(tmp_path / home), "DEEP500_HOME": str(tmp_path / "d5")}
    words = ["report", str(RECORDED), "--format", "html", "--out", "page.html"]
    done = subprocess.run(
        [sys.executable, "-m", "deep500.cli", *words],
        cwd=tmp_path,
        text=True,
        capture_output=True,
        timeout=120,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert without_load_warnings(done.stderr) == ""
    assert "<svg" in (tmp_path / "page.html").read_text()
