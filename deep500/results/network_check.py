"""A check of a network: every node on every framework, forward and backward, with its error, bound and verdict."""

from collections.abc import Sequence
from typing import Any

from ..contracts.result import Blocks, Plan, Record, ResultKind
from ..contracts.shapes import NUMBER, check_object
from ..errors import UNDECIDED, Deep500Error
from ..reports.blocks import (
    Banner,
    Block,
    Bullets,
    Figures,
    PageOnly,
    Problems,
    Report,
    Section,
    Sentence,
    Table,
)
from ..reports.surroundings import raw_data
from ..reports.tables import NOTHING
from ..reports.text import Code, Text, Verdict, clean, listed, shortened
from ..validation.networks.checking.report import (
    DIRECTIONS,
    NodeCheck,
    Side,
    first_of,
    summary,
)
from .networks.shares import shares

PLAN = {
    "models": [str],
    "frameworks": [str],
    "optimizer": str,
    "dimensions": dict,
    "data": str,
    "remarks": [str],
    "seed": int,
}
SIDE = {"framework": str, "isolated": bool, "lost": str, "checks": [dict]}
CHECK = {
    "framework": str,
    "direction": str,
    "node": str,
    "operator": str,
    "ok": (bool, type(None)),
    "error": (*NUMBER, type(None)),
    "bound": (*NUMBER, type(None)),
    "text": str,
    "kernel": str,
    "decided": bool,
}
UNFINISHED = "unfinished: the run was ended before all frameworks were checked"
MOST_FAULTS = 10  # of a framework that are listed
LONGEST_NAME = 36  # of a node in the overview
MOST_ROWS = 200  # of a table of nodes


class NetworkCheck(ResultKind):
    """One block per framework: all its checks. The verdicts, and the first divergence, follow."""

    def check_plan(self, plan: object) -> dict[str, Any]:
        return check_object("plan.json", plan, PLAN)

    def check_blocks(
        self, plan: Plan, blocks: Sequence[object]
    ) -> list[dict[str, Any]]:
        return [_checked(number, block) for number, block in enumerate(blocks)]

    def derive(self, plan: Plan, blocks: Blocks) -> dict[str, Any] | None:
        if not blocks:
            return None
        sides = _sides(blocks)
        first = first_of(side.first for side in sides)
        right = all(side.verdict == "ok" for side in sides)
        numbers = [_numbers(side) for side in sides]
        return {"ok": right, "first": first and first.to_json(), "sides": numbers}

    def report(self, record: Record) -> Report:
        if not record.blocks:
            raise Deep500Error(
                f"{record.bundle} holds no checks yet: nothing was checked before it ended"
            )
        sides = _sides(record.blocks)
        name = clean(" and ".join(record.plan["models"]))
        problems = [] if record.finished else [UNFINISHED]
        blocks: list[Block] = [_banner(name, sides), Problems(problems)]
        blocks.append(Bullets([clean(remark) for remark in record.plan["remarks"]]))
        blocks.append(_overview(sides))
        blocks += [_faults(side) for side in sides]
        blocks.append(Figures(lambda: shares(sides)))
        blocks.append(PageOnly([_nodes(side) for side in sides]))
        seed = record.plan["seed"]
        blocks.append(Sentence(f"`--seed {seed}` draws the same inputs again."))
        return Report(
            "Deep500 check", name, [*blocks, raw_data(record.bundle, record.hash)]
        )

    def numbers(self, record: Record) -> dict[str, Any]:
        """Every check, beside the verdict."""
        checks = [check for side in record.blocks for check in side["checks"]]
        return dict(record.derived or {}) | {"nodes": checks}

    def accepted(self, record: Record) -> bool:
        return bool(record.derived and record.derived["ok"])

    def exit_code(self, record: Record) -> int:
        """1 where something is wrong, 3 where nothing is but not everything has a verdict."""
        if self.accepted(record):
            return 0
        return 1 if record.derived and record.derived["first"] else UNDECIDED


def _checked(number: int, block: object) -> dict[str, Any]:
    where = f"samples.jsonl: block {number}"
    side = check_object(where, block, SIDE)
    for check in side["checks"]:
        check_object(f"{where}: a check", check, CHECK)
        if check["direction"] not in DIRECTIONS or len(check) != len(CHECK):
            raise Deep500Error(f"{where}: a check is not one of this version's")
    return side


def _sides(blocks: Blocks) -> list[Side]:
    return [Side.from_json(block) for block in blocks]


def _numbers(side: Side) -> dict[str, Any]:
    worst = {}
    for direction in DIRECTIONS:
        check = side.worst(direction)
        if check:
            worst[direction] = check.to_json()
    first = side.first
    return {
        "framework": side.framework,
        "verdict": side.verdict,
        "checks": len(side.checks),
        "wrong": len(side.wrong),
        "unavailable": len(side.undecided),
        "first": first and first.to_json(),
        "worst": worst,
    }


def _banner(name: str, sides: Sequence[Side]) -> Banner:
    words = [Verdict(side.verdict) for side in sides]
    pairs = zip(sides, words, strict=True)
    said = listed([[clean(side.framework), " ", word] for side, word in pairs])
    headline: list[Text] = [f"{name}: ", *said]
    return Banner(headline, headline, {word: words.count(word) for word in words})


def _overview(sides: Sequence[Side]) -> Table:
    """What was compared on every framework, and how near to its bound the worst came."""
    rows: list[list[Text]] = []
    for side in sides:
        for direction in DIRECTIONS:
            found = [check for check in side.checks if check.direction == direction]
            if found:
                rows.append([clean(side.framework), direction, *_counts(found)])
    headers = [
        "framework",
        "direction",
        "verdict",
        "checks",
        "not ok",
        "of bound",
        "at",
    ]
    return Table(headers, rows, "lllrrrl")


def _counts(found: Sequence[NodeCheck]) -> list[Text]:
    """The verdict, how many checks there were, and the one that took most of its bound."""
    part = Side("", list(found))
    worst = part.worst(found[0].direction)
    share = f"{worst.share:.2g}" if worst else NOTHING
    place = shortened(clean(worst.node), LONGEST_NAME) if worst else NOTHING
    failed = len(part.wrong) + len(part.undecided)
    return [Verdict(part.verdict), str(len(found)), str(failed), share, place]


def _faults(side: Side) -> Section:
    """The first divergence, others that are not explained by it, and what could not be asked."""
    if side.verdict == "ok":
        return Section("", [])
    lines: list[Text] = [clean(check.sentence) for check in side.wrong[:MOST_FAULTS]]
    if len(side.wrong) > MOST_FAULTS:
        lines.append(f"and {len(side.wrong) - MOST_FAULTS} more")
    if not side.wrong:
        lines.append(clean(summary(side)))
    elif side.lost:
        lines.append(clean(side.lost))
    return Section(f"{clean(side.framework)}: what diverges first", [Bullets(lines)])


def _nodes(side: Side) -> Section:
    rows = [_row(check) for check in side.checks[:MOST_ROWS]]
    headers = [
        "node",
        "operator",
        "direction",
        "kernel",
        "verdict",
        "error",
        "bound",
        "note",
    ]
    blocks: list[Block] = [Table(headers, rows, "lllllrrt")]
    if len(side.checks) > MOST_ROWS:
        blocks.append(
            Sentence(f"The first {MOST_ROWS} of {len(side.checks)}; `--json` has all.")
        )
    return Section(f"Nodes on {clean(side.framework)}", blocks)


def _row(check: NodeCheck) -> list[Text]:
    names = [
        Code(clean(check.node)),
        clean(check.operator),
        check.direction,
        clean(check.kernel),
    ]
    numbers = [_number(check.error), _number(check.bound)]
    return [*names, Verdict(check.verdict), *numbers, clean(check.text)]


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3g}"
