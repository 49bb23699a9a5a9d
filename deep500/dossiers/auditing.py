"""Judges a dossier by the rules: one outcome per rule, with the findings behind it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .. import registry
from ..contracts.audit_rule import AuditRule, rule_order
from ..contracts.declaration import VERDICTS, AuditFinding, AuditVerdict
from ..contracts.dossier import Dossier
from ..errors import UNDECIDED, Deep500Error, unknown


@dataclass(frozen=True)
class RuleOutcome:
    """What one rule says of a dossier: the worst verdict of its findings, the worst of which come first."""

    id: str
    rule: str
    verdict: AuditVerdict
    findings: Sequence[AuditFinding]
    advice: str


@dataclass(frozen=True)
class Audit:
    """The outcomes of all rules that were asked."""

    sources: Sequence[str]
    outcomes: Sequence[RuleOutcome]

    def having(self, verdict: AuditVerdict) -> list[RuleOutcome]:
        return [outcome for outcome in self.outcomes if outcome.verdict == verdict]

    @property
    def sentence(self) -> str:
        """The answer."""
        failed, warned = self.having("FAIL"), self.having("WARN")
        passed = self.having("PASS")
        judged = len(failed) + len(warned) + len(passed)
        if not judged:
            return "Nothing here can be judged: no rule applies."
        of_rules = f"{judged} rules that apply" if judged > 1 else "1 rule that applies"
        doubts = ""
        if warned:
            leave = "leaves" if len(warned) == 1 else "leave"
            doubts = f", and {len(warned)} {leave} a doubt ({_ids(warned)})"
        if failed:
            are = "is" if len(failed) == 1 else "are"
            return f"{len(failed)} of {of_rules} {are} broken ({_ids(failed)}){doubts}."
        if judged == 1:
            return f"The only rule that applies is not broken{doubts}."
        return f"None of {of_rules} is broken{doubts}."

    @property
    def exit_code(self) -> int:
        """0: no rule is broken, 1: a rule is broken, 3: no rule applies."""
        if self.having("FAIL"):
            return 1
        if not self.having("PASS") and not self.having("WARN"):
            return UNDECIDED
        return 0


def audit(
    dossier: Dossier, rules: Sequence[AuditRule], sources: Sequence[str]
) -> Audit:
    """The dossier judged by these rules."""
    return Audit(sources, [outcome(rule, dossier) for rule in rules])


def outcome(rule: AuditRule, dossier: Dossier) -> RuleOutcome:
    """What one rule says of a dossier."""
    findings = sorted(
        rule.judge(dossier), key=lambda finding: VERDICTS.index(finding.verdict)
    )
    verdict: AuditVerdict = "not applicable"
    if findings:
        verdict = findings[0].verdict
    return RuleOutcome(rule.id, rule.sentence, verdict, findings, rule.advice)


def all_rules() -> list[AuditRule]:
    """Every rule of audit/ and of installed packages, in order."""
    rules = []
    for name in registry.known("audit"):
        rule_class = registry.find("audit", name)
        rule = rule_class()
        if not isinstance(rule, AuditRule):
            raise Deep500Error(f"audit: {name} is no AuditRule")
        rules.append(rule)
    return sorted(rules, key=rule_order)


def chosen_rules(ids: Sequence[str]) -> list[AuditRule]:
    """The rules of these ids, such as R1, f07 or N12; all of them if there are none."""
    rules = all_rules()
    if not ids:
        return rules
    by_id = {rule.id: rule for rule in rules}
    chosen = {_plain_id(rule_id, by_id) for rule_id in ids}
    return [rule for rule in rules if rule.id in chosen]


def _plain_id(text: str, by_id: dict[str, AuditRule]) -> str:
    match = re.fullmatch(r"\s*([A-Za-z])0*(\d+)\s*", text)
    plain = f"{match[1].upper()}{match[2]}" if match else text.strip()
    if plain not in by_id:
        raise unknown("rule", text[:40], list(by_id))
    return plain


def _ids(outcomes: Sequence[RuleOutcome]) -> str:
    return ", ".join(outcome.id for outcome in outcomes)
