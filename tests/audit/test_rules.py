"""Every rule fails the specimen that breaks it, passes the one that keeps it, and says on what it stands."""

import re

import pytest

from deep500.contracts.audit_rule import AuditRule
from deep500.contracts.dossier import Dossier
from deep500.dossiers.auditing import all_rules, audit, chosen_rules, outcome
from deep500.dossiers.claims_file import claims_dossier
from deep500.errors import Deep500Error

RULES = all_rules()
IDS = [rule.id for rule in RULES]


@pytest.mark.parametrize("rule", RULES, ids=IDS)
def test_it_fails_what_breaks_it(rule: AuditRule) -> None:
    found = outcome(rule, claims_dossier(rule.breaks, "breaks.toml"))
    assert found.verdict == "FAIL"
    first = found.findings[0]
    assert first.evidence
    for evidence in first.evidence:
        assert evidence.file == "breaks.toml"
        assert re.fullmatch(r"\w+\[\d+\]/\w+", evidence.field)


@pytest.mark.parametrize("rule", RULES, ids=IDS)
def test_it_passes_what_keeps_it(rule: AuditRule) -> None:
    assert outcome(rule, claims_dossier(rule.keeps, "keeps.toml")).verdict == "PASS"


@pytest.mark.parametrize("rule", RULES, ids=IDS)
def test_it_says_nothing_of_nothing(rule: AuditRule) -> None:
    assert outcome(rule, Dossier()).verdict == "not applicable"


@pytest.mark.parametrize("rule", RULES, ids=IDS)
def test_it_says_what_it_is_about(rule: AuditRule) -> None:
    assert rule.sentence.endswith(".")
    assert rule.why.endswith((".", "?"))
    assert rule.advice.endswith(".")


def test_there_are_twelve_rules_twelve_ways_and_more_than_ten_cheats() -> None:
    ways = [f"F{number}" for number in range(1, 13)]
    rules = [f"R{number}" for number in range(1, 13)]
    assert IDS[:24] == rules + ways
    assert len(IDS[24:]) >= 10


def test_rules_are_chosen_by_their_ids() -> None:
    assert [rule.id for rule in chosen_rules(["f07", "R1", "r01"])] == ["R1", "F7"]


def test_an_unknown_rule_is_named() -> None:
    with pytest.raises(Deep500Error, match="no rule is named 'R13'"):
        chosen_rules(["R13"])


def test_the_answer_counts_what_is_broken() -> None:
    rules = chosen_rules(["R1", "R7"])
    dossier = claims_dossier(rules[0].breaks, "breaks.toml")
    result = audit(dossier, rules, ["breaks.toml"])
    assert result.sentence == "2 of 2 rules that apply are broken (R1, R7)."
    assert result.exit_code == 1


def test_nothing_to_judge_is_not_decided() -> None:
    result = audit(Dossier(), RULES, ["nothing"])
    assert result.sentence == "Nothing here can be judged: no rule applies."
    assert result.exit_code == 3


def test_hpl_by_the_harmonic_mean() -> None:
    """The example of SC'15: 100 Gflop in 10, 100 and 40 s are 2 Gflop/s, and the mean of rates says 4.5."""
    seconds = (10, 100, 40)
    rates = [100 / s for s in seconds]
    assert sum(rates) / 3 == pytest.approx(4.5)
    assert 3 / sum(1 / rate for rate in rates) == pytest.approx(300 / sum(seconds))


def test_quantiles_need_as_many_values_as_an_exact_interval() -> None:
    from deep500.audit.r08_right_statistic import least_values

    assert [least_values(q) for q in (0.5, 0.9, 0.95, 0.99)] == [6, 29, 59, 299]


HUGE = 4_000_000_000_000_000_000
OURS = "needed = [31.0, 32.0, 31.0, 33.0, 32.0]"


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        (f"{OURS}\nlost = {HUGE}", "WARN"),
        (f"{OURS}\ndropped = {HUGE}", "WARN"),
        ("needed = [9e17, 9e17, 9e17]", "PASS"),
        ("needed = [31.0, 31.0]", "WARN"),
    ],
)
def test_gigantic_numbers_of_convergence_are_judged(ours: str, verdict: str) -> None:
    rule = chosen_rules(["N17"])[0]
    text = rule.breaks.replace(OURS, ours)
    found = outcome(rule, claims_dossier(text, "claims.toml"))
    assert found.verdict == verdict


def test_three_runs_against_three_decide_nothing() -> None:
    rule = chosen_rules(["N17"])[0]
    few = rule.breaks.replace(OURS, "needed = [3.0, 3.0, 4.0]")
    few = few.replace("41.0, 40.0, 41.0, 42.0, 41.0, 40.0, 42.0]", "]")
    found = outcome(rule, claims_dossier(few, "claims.toml"))
    assert found.verdict == "WARN"
    assert "too few runs of both" in found.findings[0].text


@pytest.mark.parametrize("line", ["needed = [1e300]", "needed = [-1.0]"])
def test_impossible_convergence_is_refused(line: str) -> None:
    with pytest.raises(Deep500Error, match="line 2"):
        claims_dossier(f"[[convergence]]\n{line}\n", "claims.toml")


def test_a_quality_that_falls_with_the_number_of_processes_is_a_doubt() -> None:
    rule = chosen_rules(["F1"])[0]
    fallen = rule.keeps.replace("quality = 75.9", "quality = 61.0")
    found = outcome(rule, claims_dossier(fallen, "claims.toml"))
    assert found.verdict == "WARN"
    assert (
        "its quality is 61, and that of the first point 76.1" in found.findings[0].text
    )
