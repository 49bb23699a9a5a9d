"""The report of an audit: the answer, then what is broken with its evidence, doubts, and what is in order."""

from collections.abc import Sequence

from ..contracts.declaration import AuditFinding, Evidence
from ..reports.blocks import Banner, Block, Bullets, Report, Section, Table
from ..reports.text import Text, clean, plain
from .auditing import Audit, RuleOutcome

MOST_FINDINGS = 5  # shown of one rule; --json has all of them


def audit_report(audit: Audit) -> Report:
    """The blocks of the report."""
    names = ", ".join(map(clean, audit.sources))
    sentence: Text = clean(audit.sentence)
    blocks: list[Block] = [Banner(sentence, sentence, pill="audited")]
    for verdict in ("FAIL", "WARN"):
        for outcome in audit.having(verdict):
            blocks.append(_section(outcome))
    blocks.append(_kept(audit))
    return Report("Deep500 audit", f"Audit of {names}"[:200], blocks)


def _section(outcome: RuleOutcome) -> Section:
    found = [f for f in outcome.findings if f.verdict == outcome.verdict]
    lines: list[Text] = [_line(finding) for finding in found[:MOST_FINDINGS]]
    hidden = len(found) - MOST_FINDINGS
    if hidden > 0:
        lines.append(f"and {hidden} more (--json lists them)")
    lines.append(f"What to do: {outcome.advice}")
    title = f"{outcome.verdict} {outcome.id}: {outcome.rule}"
    return Section(title, [Bullets(lines)])


def _line(finding: AuditFinding) -> str:
    return f"{clean(finding.text)} [{evidence_text(finding.evidence)}]"


def evidence_text(evidence: Sequence[Evidence]) -> str:
    """Every file with its fields and their values."""
    by_file: dict[str, list[str]] = {}
    for each in evidence:
        said = "not said" if each.value is None else plain(each.value)[:80]
        fields = by_file.setdefault(clean(each.file), [])
        fields.append(f"{clean(each.field)} = {said}".removeprefix(" = "))
    return "; ".join(f"{file}: {', '.join(said)}" for file, said in by_file.items())


def _kept(audit: Audit) -> Block:
    rows = [_row(outcome) for outcome in audit.having("PASS")]
    others = ", ".join(outcome.id for outcome in audit.having("not applicable"))
    blocks: list[Block] = [Table(["rule", "kept by", "evidence"], rows, "ltt")]
    if others:
        blocks.append(Bullets([f"Not applicable: {others}."]))
    return Section("Kept", blocks)


def _row(outcome: RuleOutcome) -> Sequence[Text]:
    first = outcome.findings[0]
    text = clean(first.text)
    if len(outcome.findings) > 1:
        text = f"{text} (and {len(outcome.findings) - 1} more)"
    return [outcome.id, text, evidence_text(first.evidence[:2])]


def rules_report(rules: Sequence[tuple[str, str, str]]) -> Report:
    """All rules: id, what an honest result does, why."""
    rows = [[rule_id, sentence, why] for rule_id, sentence, why in rules]
    sentence = (
        f"{len(rows)} rules: R of SC'15, F ways to fool the masses, N newer cheats"
    )
    table = Table(["rule", "an honest result", "otherwise"], rows, "ltt")
    return Report("Deep500 audit", "Rules", [Banner(sentence, sentence), table])
