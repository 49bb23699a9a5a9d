"""A suite is saved as a bundle, measured by several processes, and compared by verdict."""

import json
import re

import pytest

from deep500 import bundle, cli
from deep500.pytest_plugin.options import add_options

SUITE = """
import os, time
def work():
    return sum(range({size}))
def test_a(benchmark): benchmark(work)
def test_b(d5): d5.bench(sorted, list(range(50)))
"""


def bundles(tmp_path, name):
    """The bundles of that name, the oldest first."""
    return sorted((tmp_path / ".d5" / name).iterdir())


@pytest.fixture
def saved(tmp_path, suite, run_pytest):
    """A bundle of the suite, measured in three processes."""

    def save(name, size=200, *options):
        suite(SUITE.format(size=size))
        quick = ["--d5-budget=0.15", "--d5-processes=3"]
        return run_pytest(f"--d5-save={name}", *quick, *options)

    return save


def test_a_suite_is_saved_verified_and_shown(tmp_path, saved, capsys, monkeypatch):
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    done = saved("main")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "process 3 of 3 measures the same" in done.stdout
    [path] = bundles(tmp_path, "main")
    contents = bundle.read(path)
    assert contents.finished and not contents.problems
    times = [block["times"] for block in contents.blocks if "times" in block]
    processes = {dict(part)["process"] for part in times}  # type: ignore[call-overload]
    assert processes == {0, 1, 2}
    assert cli.main(["verify", str(path)]) == 0
    assert "verified" in capsys.readouterr().out
    assert cli.main(["show", str(path), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    entries = [each["numbers"]["entries"][0] for each in shown["measurements"]]
    assert [entry["processes"] for entry in entries] == [3, 3]
    assert shown["problems"] == []


def test_a_slower_suite_fails_and_the_comment_says_what(tmp_path, saved, capsys):
    assert saved("base").returncode == 0
    done = saved("head", 900, "--d5-against=base")
    assert done.returncode == 1, done.stdout
    assert re.search(r"SLOWER: test_speed.py::test_a\n", done.stdout), done.stdout
    assert "SLOWER: test_speed.py::test_b" not in done.stdout
    [base], [head] = bundles(tmp_path, "base"), bundles(tmp_path, "head")
    comment = tmp_path / "comment.md"
    compare = ["compare", str(base), str(head), "--gate", "--comment", str(comment)]
    assert cli.main(compare) == 1
    text = comment.read_text()
    assert "test_a" in text and "slower" in text and "test_b |" not in text
    same = ["compare", str(base), str(base), "--comment", str(comment)]
    assert cli.main(same) == 0
    assert comment.read_text() == ""
    capsys.readouterr()


@pytest.mark.slow
def test_a_bundle_that_was_changed_is_no_base(tmp_path, saved, run_pytest):
    assert saved("base").returncode == 0
    [path] = bundles(tmp_path, "base")
    derived = path / "derived.json"
    derived.write_text(derived.read_text().replace("test_a", "test_c"))
    done = run_pytest("--d5-against=base")
    assert done.returncode == 4 and "does not verify" in done.stderr, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.slow
def test_a_test_that_fails_elsewhere_leaves_its_process_out(suite, run_pytest):
    suite(
        "import os\n"
        "def test_a(d5):\n"
        "    assert 'DEEP500_PYTEST_TASK' not in os.environ\n"
        "    d5.bench(len, [])\n"
    )
    done = run_pytest("--d5-processes=3", "--d5-budget=0.1")
    assert done.returncode == 0, done.stdout
    assert "process 2 did not measure test_speed.py::test_a" in done.stdout
    assert "there are 1" in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--d5-against=nothing"], "holds no bundle"),
        pytest.param(
            ["--d5-save=a/b"], "a name has letters, digits", marks=pytest.mark.slow
        ),
        (["--d5-save", "--d5-once"], "--d5-once times nothing"),
        (["--d5-save=x"], "cannot be written"),
        (["--d5-save", "test_speed.py"], "took the path 'test_speed.py' for a name"),
    ],
)
def test_options_that_cannot_work(options, message, tmp_path, suite, run_pytest):
    suite("def test_a(d5): d5.bench(len, [])\n")
    if message == "cannot be written":
        (tmp_path / ".d5").write_text("a file in the way")
    done = run_pytest(*options)
    assert done.returncode == 4, done.stdout
    [line] = done.stderr.strip().splitlines()
    assert line.startswith("ERROR: ") and message in line


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--d5-processes=0", "0: give 1 to 100"),
        ("--d5-budget=-1", "-1: give seconds, more than 0"),
        ("--d5-margin=x", "invalid share value: 'x'"),
    ],
)
def test_numbers_that_cannot_be(option, message):
    """Refused once, before the first test, whatever is measured."""
    parser = pytest.Parser(_ispytest=True)
    add_options(parser, with_alias=False)
    with pytest.raises(pytest.UsageError) as error:
        parser.parse([option])
    assert message in str(error.value)


def test_two_tests_of_one_name(tmp_path, suite, run_pytest):
    path = suite("def test_a(d5): d5.bench(len, [])\n")
    done = run_pytest("--keep-duplicates", path, path)
    assert done.returncode == 4
    assert "two tests are named test_speed.py::test_a" in done.stderr, done.stderr


def test_nothing_measured_is_an_error(suite, run_pytest):
    suite("def test_a(): pass\n")
    done = run_pytest("--d5-save")
    assert done.returncode == 4 and "nothing was measured" in done.stdout, done.stdout


@pytest.mark.slow
def test_what_was_measured_before_an_interruption_is_kept(tmp_path, suite, run_pytest):
    suite(
        "def test_a(d5): d5.bench(len, [])\ndef test_b(d5): raise KeyboardInterrupt\n"
    )
    done = run_pytest("--d5-save=main", "--d5-budget=0.1")
    assert done.returncode == 2, done.stdout
    [path] = bundles(tmp_path, "main")
    contents = bundle.read(path)
    assert not contents.finished and not contents.problems
    names = {dict(block)["name"] for block in contents.blocks}
    assert names == {"test_speed.py::test_a"}
