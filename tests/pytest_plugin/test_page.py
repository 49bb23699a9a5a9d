"""The tests on the page are tests that pass."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "pytest.md"


def test_the_suite_of_the_page_passes(suite, run_pytest):
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    suite(code)
    done = run_pytest("--d5-budget=0.3")
    assert done.returncode == 0 and "3 passed" in done.stdout, done.stdout
