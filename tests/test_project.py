"""The files around the package agree with each other, and everything that the pages show runs."""

import ast
import os
import re
import subprocess
import sys
import sysconfig
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import deep500

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
    if page.is_file()
]
DEADLINE = "180s"

BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>\S.*?) -->\s*\n)?[ ]*```(?P<language>python|bash)\n(?P<code>.*?)^[ ]*```",
    re.MULTILINE | re.DOTALL,
)


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def unpinned(project: dict, constraints: str) -> set[str]:
    """The distributions that `project` names and `constraints` does not pin to one version."""
    extras = project["project"]["optional-dependencies"].values()
    named = sum(
        extras, project["project"]["dependencies"] + project["build-system"]["requires"]
    )
    names = {normal(re.match(r"[\w.-]+", text).group()) for text in named}
    pins = {
        normal(name)
        for name in re.findall(r"^([\w.-]+)==[\w.]+$", constraints, re.MULTILINE)
    }
    return names - pins - {normal(project["project"]["name"])}


def test_every_dependency_is_pinned() -> None:
    constraints = (ROOT / "constraints.txt").read_text()
    assert unpinned(PROJECT, constraints) == set()
    assert unpinned(PROJECT, constraints.replace("numpy==", "numpy>=")) == {"numpy"}
    assert PROJECT["build-system"]["requires"][0] in constraints.splitlines()


def test_the_version_is_the_same_everywhere() -> None:
    newest = re.search(
        r"^## \[(\d[^\]]*)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    assert (
        newest
        and newest.group(1) == PROJECT["project"]["version"] == deep500.__version__
    )


def make_targets(text: str) -> set[str]:
    """What a page tells its reader to make."""
    return set(re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE))


def test_every_make_command_that_a_page_names_exists() -> None:
    targets = set(
        re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    )
    assert {"run", "test"} <= make_targets((ROOT / "README.md").read_text())
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        assert make_targets(page.read_text()) <= targets, page.name
    assert make_targets("Say `make tea`.\nmake run\n") == {"tea", "run"}


def missing_targets(page: Path, text: str) -> list[str]:
    """The files of this project that a page links to or shows, and that are not there."""
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    own = [target for target in targets if "://" not in target]
    return [target for target in own if not (page.parent / target).exists()]


def test_what_a_page_links_to_and_shows_is_there() -> None:
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        assert missing_targets(page, page.read_text()) == [], page.name
    text = "![a picture](docs/none.svg) [a page](docs/limits.md#numbers)"
    assert missing_targets(ROOT / "README.md", text) == ["docs/none.svg"]


def blocks(text: str) -> list[tuple[int, list[str]]]:
    """The code blocks of a page that are run, each as its line and its command."""
    found = []
    for block in BLOCK.finditer(text):
        code = re.sub(
            "^" + re.match(" *", block["code"]).group(),
            "",
            block["code"],
            flags=re.MULTILINE,
        )
        command = (
            [sys.executable, "-c", code]
            if block["language"] == "python"
            else ["bash", "-ec", code]
        )
        if not block["reason"] and (
            block["language"] == "python" or code.startswith("d5 ")
        ):
            found.append((text.count("\n", 0, block.start("code")) + 1, command))
    return found


def failure(command: list[str], folder: Path) -> str:
    """Runs a command as a reader would, in `folder` with d5 on the path: what went wrong, or nothing."""
    path = f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}"
    env = os.environ | {"PATH": path, "DEEP500_HOME": str(folder / "home")}
    limited = ["timeout", DEADLINE, *command]  # ends the command's children too
    done = subprocess.run(
        limited, cwd=folder, env=env, input="", capture_output=True, text=True
    )
    return (
        f"exit code {done.returncode}: {(done.stdout + done.stderr)[-2000:]}"
        if done.returncode
        else ""
    )


@pytest.fixture(autouse=True)
def reader_with_peaks(tmp_path: Path, keep_peaks: Callable[[Path], None]) -> None:
    keep_peaks(tmp_path / "home")


@pytest.mark.parametrize(
    "page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    """From the top to the bottom in one folder, as a reader does: a block may use an earlier one's files."""
    for line, command in blocks(page.read_text()):
        assert not (why := failure(command, tmp_path)), f"{page.name}:{line}: {why}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_the_code_of_a_page_runs_again(page: Path, tmp_path: Path) -> None:
    """A reader who tries a block a second time gets no error about what the first time left behind."""
    for line, command in blocks(page.read_text()):
        for time in ("first", "second"):
            assert not (why := failure(command, tmp_path)), (
                f"{page.name}:{line}, {time} time: {why}"
            )


@pytest.mark.parametrize(
    "example", sorted(ROOT.glob("examples/*.py")), ids=lambda example: example.name
)
def test_an_example_runs(example: Path, tmp_path: Path) -> None:
    assert not (why := failure([sys.executable, str(example)], tmp_path)), why


# What a user's own code may import, and with it our pages, examples and recipes; the rest may move at any time.
PUBLIC = (
    r"deep500(\.(measure|errors|registry|testing|check\.contract|check\.report|bench\.benchmark"
    r"|contracts\.\w+|frameworks(\.\w+)+|reports\.\w+))?$"
)


def private_imports(code: str) -> list[str]:
    """The modules of ours that this code imports although they are not public."""
    modules = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            modules.append(str(node.module))
            if node.module == "deep500":
                modules += [
                    f"deep500.{alias.name}"
                    for alias in node.names
                    if alias.name not in dir(deep500)
                ]
    ours = [module for module in modules if module.partition(".")[0] == "deep500"]
    return [module for module in ours if not re.match(PUBLIC, module)]


def shown_code() -> Iterator[tuple[str, str]]:
    """All Python code that a reader may copy, with the file where it stands."""
    for path in [*ROOT.glob("examples/*.py"), *ROOT.glob("recipes/*.py")]:
        yield path.name, path.read_text()
    for page in PAGES:
        for block in BLOCK.finditer(page.read_text()):
            if block["language"] == "python":
                yield page.name, textwrap.dedent(block["code"])


def test_shown_code_imports_public_modules_only() -> None:
    private = [(name, private_imports(code)) for name, code in shown_code()]
    assert [(name, modules) for name, modules in private if modules] == []


@pytest.mark.parametrize(
    ("code", "private"),
    [
        ("import deep500 as d5\nfrom deep500.contracts.loss import Loss", []),
        ("from deep500 import measure, Trainer", []),
        ("import deep500.frameworks.pytorch as d5fw", []),
        (
            "from deep500.bundle.records.loading import load",
            ["deep500.bundle.records.loading"],
        ),
        ("def f():\n    import deep500.cli", ["deep500.cli"]),
        ("from deep500 import rerun", ["deep500.rerun"]),
    ],
)
def test_a_private_import_is_found(code: str, private: list[str]) -> None:
    assert private_imports(code) == private


def test_a_broken_block_is_found(tmp_path: Path) -> None:
    page = """
```python
open("here", "w").close()
```
```bash
d5 --no-such-option
```
* in a list:
  ```python
  if True:
      raise SystemExit(3)
  ```
<!-- not run: needs a cluster -->
```python
raise SystemExit(4)
```
```bash
make test
```
"""
    found = blocks(page)
    assert [line for line, _ in found] == [3, 6, 10]
    good, bad_option, bad_exit = (failure(command, tmp_path) for _, command in found)
    assert good == "" and (tmp_path / "here").exists()
    assert bad_option.startswith("exit code 2") and bad_exit.startswith("exit code 3")
