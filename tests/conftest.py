"""What all tests share."""

import compileall
import gc
import os
import random
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# No deadline: a busy machine is not a wrong result. In CI the examples are the same each time.
settings.register_profile("deep500", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("deep500")

# JAX compiles anew for every shape: in tests quickly, not well.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true "
    "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1",
)

# Under nohup, or behind an & of a script, every test's child would ignore them.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.pthread_sigmask(signal.SIG_SETMASK, ())

# The home folder may be read-only; builds of one run serve the next.
TESTS = Path(__file__).parent
BUILDS = TESTS.parent / ".venv" / "builds"
os.environ.setdefault("DEEP500_CACHE", str(BUILDS))
os.environ.setdefault("MPLCONFIGDIR", str(BUILDS / "matplotlib"))

# Two processes of tests share the CPUs: threads of PyTorch and of NumPy's BLAS that wait for the next operator by
# spinning take them from each other, and a small operator then costs twenty times as much.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Both start their threads once, with the first array: whichever test comes first, there is one.
os.environ.update(
    {"PJRT_NPROC": "1", "TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"}
)

LONGEST = (
    "test_project.py",
)  # these run every page of the documentation, block by block


# How many cells of a slow test `make test-all` runs at most, chosen with a seed; DEEP500_EXHAUSTIVE=1 runs all.
SAMPLE = 40
SAMPLES = {  # cells of a tenth of a second, cells of 70 checks, planted defects
    "operators/test_autodiff.py": 300,
    "operators/test_backward_models.py": 300,
    "operators/test_cases.py": 300,
    "grids/test_operator_checks.py": 6,
    "corpus/test_corpus.py": 1000,
}


def slow_cells() -> set[str]:
    """The ids in slow_cells.txt, of single cells or of tests with all their cells."""
    lines = (TESTS / "slow_cells.txt").read_text().splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def ids(item: pytest.Item) -> set[str]:
    """The id of a cell and that of its test, as slow_cells.txt writes them."""
    file = item.path.relative_to(TESTS).as_posix()
    cell = f"{file}::{item.nodeid.partition('::')[2]}"
    return {cell, cell.partition("[")[0]}


def pytest_configure(config: pytest.Config) -> None:
    """Compiles our modules once: with PYTHONDONTWRITEBYTECODE, each of a thousand processes would compile them anew."""
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(TESTS.parent / "deep500", quiet=2, workers=0)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Frees Python's garbage collector from the million objects of the tests and modules, which stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def left_out(items: list[pytest.Item]) -> list[pytest.Item]:
    """The cells of large slow grids that are not in the sample; none if DEEP500_EXHAUSTIVE is set."""
    if os.environ.get("DEEP500_EXHAUSTIVE"):
        return []
    grids = defaultdict(list)
    for item in items:
        if item.get_closest_marker("slow"):
            grids[item.nodeid.partition("[")[0]].append(item)
    left: list[pytest.Item] = []
    for test, cells in grids.items():
        file = cells[0].path.relative_to(TESTS).as_posix()
        too_many = len(cells) - SAMPLES.get(file, SAMPLE)
        if too_many > 0:
            left += random.Random(test).sample(cells, too_many)
    return left


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Marks and samples slow cells; the longest tests come first: at the end, one process would wait for the other."""
    listed = slow_cells()
    for item in items:
        if ids(item) & listed:
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: item.path.name not in LONGEST)
    if any("::" in argument for argument in config.args):
        return
    check_slow_cells(listed, items)
    if not config.option.keyword:  # with one, those that it names are wanted
        deselected = left_out(items)
        config.hook.pytest_deselected(items=deselected)
        names = {item.nodeid for item in deselected}
        items[:] = [item for item in items if item.nodeid not in names]


def check_slow_cells(listed: set[str], items: list[pytest.Item]) -> None:
    """A line of slow_cells.txt that matches no test is an error."""
    there = set().union(*map(ids, items))
    files = {name.partition("::")[0] for name in there}
    stale = sorted(c for c in listed - there if c.partition("::")[0] in files)
    if stale:
        raise pytest.UsageError(f"slow_cells.txt names no test: {', '.join(stale)}")


@pytest.fixture(scope="session", autouse=True)
def home_of_the_tests(
    tmp_path_factory: pytest.TempPathFactory, keep_peaks: Callable[[Path], None]
) -> Iterator[None]:
    """No test writes into the ledger of the user who runs it."""
    home = tmp_path_factory.mktemp("home")
    keep_peaks(home)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEEP500_HOME", str(home))
        yield


@pytest.fixture(scope="session", autouse=True)
def short_looks_at_the_machine() -> Iterator[None]:
    """Before each of hundreds of runs, d5 watches for 0.3 s what others use: here as briefly as it can."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("deep500.measure.quiet.LOOK_S", 0.06)
        yield


@pytest.fixture(scope="session")
def keep_peaks() -> Callable[[Path], None]:
    """Write peaks of this machine into a folder for DEEP500_HOME: measuring them takes seconds of every CPU."""
    from deep500.measure.bounds import peak_cache
    from deep500.measure.bounds.peak_kernels import Peak

    rate = Peak(1e10, "flop/s", "matmul", 9, 1e10, 1e10, 1e10)
    bandwidth = Peak(1e10, "B/s", "copy", 9, 1e10, 1e10, 1e10)
    machine = peak_cache.this_machine(4.2)
    rates = {"float32": rate, "float64": rate}
    peaks = peak_cache.Peaks(rates, bandwidth, machine, "today")

    def write(home: Path) -> None:
        path = home / "peaks" / peak_cache.file_name(machine)
        peak_cache.write_peaks(path, peaks)

    return write


@pytest.fixture(autouse=True)
def seeded_generators() -> None:
    """No test draws on from where the tests before it in the same process stopped."""
    random.seed(0)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(0)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)
