"""Check a bundle offline: every hash, and every derived number computed again from the raw samples."""

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from ..bundle import Bundle, read
from ..errors import Deep500Error, one_line
from ..measure import derivation
from ..measure.results import Result
from ..training import outcome as training

TOLERANCE = 1e-9  # another machine's mathematical library may differ in the last bits


@dataclass(frozen=True)
class Verification:
    """What was checked and what does not hold."""

    ok: bool
    finished: bool
    blocks: int
    hash: str | None
    lost_bytes: int
    problems: tuple[str, ...]

    @property
    def sentence(self) -> str:
        if not self.ok:
            return (
                f"NOT VERIFIED: {len(self.problems)} problem{'s' if len(self.problems) > 1 else ''}"
            )
        if not self.finished:
            lost = (
                f", {self.lost_bytes} bytes of a block in flight dropped" if self.lost_bytes else ""
            )
            return f"unfinished, a clean prefix of {self.blocks} blocks{lost}"
        return f"verified: {self.blocks} blocks, all hashes and all derived numbers hold; manifest {self.hash}"

    def to_json(self) -> dict:
        return asdict(self) | {"problems": list(self.problems)}


def verify(path: str | Path) -> Verification:
    """Check everything that a bundle claims; nothing in it is executed."""
    found = read(path)
    problems = list(found.problems)
    if not problems:
        problems += _recomputed(found)
    return Verification(
        not problems,
        found.finished,
        len(found.blocks),
        found.hash,
        found.lost_bytes,
        tuple(problems),
    )


Numbers = tuple[
    int, Callable[[], dict], list[str]
]  # their procedure, how to compute them, what else is wrong


def _bench(found: Bundle) -> Numbers:
    result = Result.from_bundle(found)
    return derivation.PROCEDURE, lambda: result.derived, []


def _recipe(found: Bundle) -> Numbers:
    plan = training.check_plan(found.documents.get("plan.json"))
    blocks = training.check_blocks(found.blocks)
    weights = {
        f"weights-{b['seed']}.safetensors": b["weights"]
        for b in blocks
        if "test" in b and found.finished
    }
    return (
        training.PROCEDURE,
        lambda: training.outcome(plan, blocks),
        [
            f"{name}: not the weights that samples.jsonl names"
            for name, digest in weights.items()
            if found.files.get(name) != digest
        ],
    )


KINDS = {"bench": _bench, "recipe": _recipe}  # of bundle


def _recomputed(found: Bundle) -> list[str]:
    if found.kind not in KINDS:
        return [f"the kind {found.kind!r} is not known to this version"]
    try:
        procedure, derive, others = KINDS[found.kind](found)
        if not found.finished:
            return []
        recorded = found.documents.get("derived.json")
        if not isinstance(recorded, dict):
            return ["derived.json: missing"]
        if recorded.get("procedure") != procedure:
            return [
                f"derived.json: procedure {recorded.get('procedure')!r}, this version computes {procedure}"
            ]
        return [f"derived.json: {what}" for what in _differences(recorded, derive(), "")] + others
    except Deep500Error as error:
        return [str(error)]
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:  # a file made by anyone
        return [f"its numbers cannot be computed: {one_line(error, 100, kind=True)}"]


def _differences(recorded: object, computed: object, where: str) -> Iterator[str]:
    """Where two JSON values part, numbers compared to the last few bits."""
    if isinstance(recorded, dict) and isinstance(computed, dict):
        for key in sorted(recorded.keys() | computed.keys()):
            if key not in recorded or key not in computed:
                yield f"{where}/{key} is {'missing' if key in computed else 'not derived from the samples'}"
            else:
                yield from _differences(recorded[key], computed[key], f"{where}/{key}")
    elif (
        isinstance(recorded, list)
        and isinstance(computed, list | tuple)
        and len(recorded) == len(computed)
    ):
        for i, (a, b) in enumerate(zip(recorded, computed, strict=True)):
            yield from _differences(a, b, f"{where}/{i}")
    elif not _equal(recorded, computed):
        yield f"{where} says {str(recorded)[:60]}, the samples say {str(computed)[:60]}"


def _equal(a: object, b: object) -> bool:
    if type(a) in (int, float) and type(b) in (int, float):
        return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=1e-15)  # type: ignore[arg-type]
    return type(a) is type(b) and a == b
