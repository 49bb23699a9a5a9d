"""The talks' and the survey's own examples as claims files: each breaks the rules that its first line names."""

import re
from pathlib import Path

import pytest

from deep500.dossiers.auditing import all_rules, audit
from deep500.dossiers.claims_file import read_claims

FILES = sorted((Path(__file__).parents[2] / "examples" / "claims").glob("*.toml"))


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_it_breaks_what_it_says(path: Path) -> None:
    text = path.read_text()
    breaks = set(re.search("# breaks:(.*)", text)[1].split())
    keeps = re.search("# keeps:(.*)", text)
    result = audit(read_claims(path), all_rules(), [path.name])
    failed = {outcome.id for outcome in result.having("FAIL")}
    assert breaks <= failed
    if keeps:
        passed = {outcome.id for outcome in result.having("PASS")}
        assert failed == breaks
        assert set(keeps[1].split()) <= passed


def test_all_ways_and_most_rules_have_an_example() -> None:
    text = "".join(path.read_text() for path in FILES)
    named = set(re.findall(r"\b[RF]\d+\b", " ".join(re.findall("# breaks:.*", text))))
    assert {f"F{way}" for way in range(1, 13)} <= named
    assert {"R1", "R3", "R4", "R5", "R6", "R8", "R9"} <= named
