"""What the plugin costs a suite that does not use it: the modules that it makes pytest import."""

import json
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIGHT = {
    "deep500",
    "deep500.pytest_plugin",
    "deep500.pytest_plugin.alias",
    "deep500.pytest_plugin.options",
}
COUNT = """
import json, sys
def pytest_sessionfinish():
    with open("modules.json", "w") as file:
        json.dump(sorted(sys.modules), file)
"""


def modules(tmp_path, run_pytest, *options, plugin=True):
    (tmp_path / "conftest.py").write_text(COUNT)
    done = run_pytest(*options, plugin=plugin)
    assert done.returncode == 0, done.stdout + done.stderr
    return set(json.loads((tmp_path / "modules.json").read_text()))


def test_an_unused_plugin_imports_next_to_nothing(tmp_path, suite, run_pytest):
    suite("def test_a(): pass\n")
    with_plugin = modules(tmp_path, run_pytest)
    without = modules(tmp_path, run_pytest, plugin=False)
    more = with_plugin - without
    ours = {name for name in more if name.startswith("deep500")}
    assert ours == LIGHT
    assert "numpy" not in with_plugin and "deep500.measure" not in with_plugin
    assert len(more - ours) <= 12, sorted(more - ours)


def test_a_used_plugin_is_found_by_the_same_count(tmp_path, suite, run_pytest):
    suite("def test_a(d5): d5.bench(len, [])\n")
    used = modules(tmp_path, run_pytest, "--d5-budget=0.05")
    assert "numpy" in used and "deep500.measure.running" in used


def test_pytest_finds_the_plugin_by_its_entry_point():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"deep500": "deep500.pytest_plugin"}
