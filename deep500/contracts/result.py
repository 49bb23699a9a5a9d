"""The result contract: what a kind of result records, which numbers are derived from it, and what its report shows.

A kind is one class in one file, `results/<kind>.py`; the name of the file is the `kind` of its bundles. `d5 verify`,
`show`, `report`, `compare` and `list` use only this contract. A bundle may come from anyone, so plan and blocks are
checked before anything else uses them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    TypeVar,
    get_args,
    get_origin,
)

from .. import registry
from ..bundle.dates import Dates
from ..definition import Definition
from ..errors import Deep500Error, did_you_mean, lacking
from ..reports.blocks import Banner, Block, Report
from ..reports.in_notebooks import InNotebooks
from ..schema import decoded, encoded
from .sample_row import SampleRow
from .standing import Contestant

if TYPE_CHECKING:
    from .dossier import Dossier

# what a kind of result plans, measures and derives: dataclasses
PlanT = TypeVar("PlanT")
BlockT = TypeVar("BlockT")
DerivedT = TypeVar("DerivedT")


@dataclass(frozen=True)
class Record(InNotebooks, Generic[PlanT, BlockT, DerivedT]):
    """One result: just recorded, or read from a bundle and checked."""

    kind: "ResultKind[PlanT, BlockT, DerivedT]"
    plan: PlanT
    blocks: Sequence[BlockT]
    # None while there are too few blocks for any number
    derived: DerivedT | None
    environment: Mapping[str, Any]
    finished: bool = True
    bundle: str | None = None  # its path
    hash: str | None = None
    problems: Sequence[str] = ()
    sensors: Mapping[str, Any] | None = None
    # what no rule forbids, and a sceptical reader wants to know
    remarks: Sequence[str] = ()

    @property
    def verified(self) -> bool:
        """Whether every hash is right and every number can be derived from its blocks."""
        return not self.problems

    def report(self) -> Report:
        """The report of its kind, with the problems of verification at the top."""
        report = self.kind.report(self)
        return replace(report, problems=self.problems)

    def to_json(self) -> dict[str, Any]:
        """The output of `--json`: the numbers, and the bundle that they belong to."""
        form = {
            "kind": self.kind.name,
            "bundle": self.bundle,
            "hash": self.hash,
            "finished": self.finished,
            "verified": self.verified,
            "problems": list(self.problems),
            "remarks": list(self.remarks),
        }
        return {**form, **encoded(self.kind.numbers(self))}


@dataclass(frozen=True)
class Contrast:
    """Result B compared with result A: as data, as blocks of a report, and the names of what is worse in B.

    `answer` is shown first; its sentence says which of the two is better. `lost` has a sentence for everything that
    cannot be compared because one side lacks it. `equivalence` is the verdict of tests of equivalence, if it has any.
    """

    data: Mapping[str, Any]  # dataclasses, mappings, sequences and scalars
    blocks: Sequence[Block]
    worse: Sequence[str] = ()
    answer: Banner | None = None
    lost: Sequence[str] = ()
    equivalence: str = ""


class ResultKind(Definition, Generic[PlanT, BlockT, DerivedT]):
    """A kind of result: `class Mine(ResultKind[MyPlan, MyBlock, MyNumbers])`, three frozen dataclasses.

    plan.json and the blocks of samples.jsonl are read as the first two (see schema.py). `derive` is a pure function, so
    that anyone can compute every number again.
    """

    # incremented when the same blocks would give other numbers; those that an earlier one recorded are not compared
    procedure: ClassVar[int] = 1
    # `d5 show` without a name skips kinds that are no measurements
    measurement: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return registry.file_stem(type(self).__name__)

    def check_plan(self, plan: object) -> PlanT:
        """The plan, if it has the form that `derive` and `report` need; else a Deep500Error."""
        kind = self._schema(0, "check_plan")
        return decoded(kind, plan, "plan.json")

    def check_blocks(self, plan: PlanT, blocks: Sequence[object]) -> list[BlockT]:
        """The blocks of samples.jsonl, if they fit the plan; else a Deep500Error."""
        kind = self._schema(1, "check_blocks")
        checked = []
        for number, block in enumerate(blocks):
            where = f"samples.jsonl: block {number}"
            checked.append(decoded(kind, block, where))
        return checked

    def _schema(self, place: int, method: str) -> Any:
        """One of the classes in the header of the kind; without them, it needs a method of its own."""
        given: dict[Any, Any] = {}  # what stands for the parameters of a generic base
        for ancestor in type(self).__mro__:
            for base in getattr(ancestor, "__orig_bases__", ()):
                origin = get_origin(base)
                if origin is None or not issubclass(origin, ResultKind):
                    continue
                classes = [given.get(one, one) for one in get_args(base)]
                if origin is ResultKind:
                    return classes[place]
                given |= dict(zip(origin.__parameters__, classes, strict=True))
        raise lacking(self, method)

    def derive(self, plan: PlanT, blocks: Sequence[BlockT]) -> DerivedT | None:
        """Every number that is reported; None while there are too few blocks for any."""
        raise lacking(self, "derive")

    def report(self, record: Record[PlanT, BlockT, DerivedT]) -> Report:
        """The report of a result; its problems are added by the caller."""
        raise lacking(self, "report")

    def numbers(self, record: Record[PlanT, BlockT, DerivedT]) -> object:
        """The numbers of a result that `--json` prints: a dataclass or a mapping."""
        if record.derived is None:
            return {}
        return derived_document(self, record.derived)

    def accepted(self, record: Record[PlanT, BlockT, DerivedT]) -> bool:
        """Whether the command that recorded it exits with 0."""
        return True

    def exit_code(self, record: Record[PlanT, BlockT, DerivedT]) -> int:
        """0: good, 1: a check failed, 3: not decided."""
        return 0 if self.accepted(record) else 1

    def check_files(
        self, blocks: Sequence[BlockT], files: Mapping[str, str]
    ) -> list[str]:
        """The problems of the other files of a finished bundle, which are given by name and SHA-256."""
        return []

    def contradictions(
        self, record: Record[PlanT, BlockT, DerivedT], dates: Dates
    ) -> Iterable[str]:
        """What plan, blocks and dates of an intact bundle say against each other, with both numbers."""
        return ()

    def remarks(
        self, record: Record[PlanT, BlockT, DerivedT], dates: Dates
    ) -> Iterable[str]:
        """What is unusual in a bundle without contradicting it; never a reason to refuse it."""
        return ()

    def dossier(self, record: Record[PlanT, BlockT, DerivedT]) -> "Dossier":
        """What the result declares, for `d5 audit`; set-up, contradictions and remarks are added by the caller."""
        from .dossier import Dossier

        return Dossier()

    def sample_rows(
        self, record: Record[PlanT, BlockT, DerivedT]
    ) -> Iterable[SampleRow]:
        """Every raw value with its levels, for `d5 export`. A kind whose blocks are no numbers does not define this."""
        raise Deep500Error(
            f"a result of kind {self.name!r} has no samples that fit into a table: read samples.jsonl of the bundle"
        )

    def compare(
        self,
        a: Record[PlanT, BlockT, DerivedT],
        b: Record[PlanT, BlockT, DerivedT],
        margin: float,
        level: float,
    ) -> Contrast:
        """B compared with A. A kind whose results cannot be compared does not define this."""
        kinds = ", ".join(comparable_kinds())
        raise Deep500Error(
            f"two results of kind {self.name!r} cannot be compared: "
            f"`d5 compare` takes {kinds}"
        )

    def contestants(
        self, record: Record[PlanT, BlockT, DerivedT]
    ) -> Sequence[Contestant]:
        """What of a result can be ranked on a board. A kind that cannot be ranked does not define this."""
        raise Deep500Error(f"a result of kind {self.name!r} is not ranked on a board")

    def equivalence(
        self,
        a: Record[PlanT, BlockT, DerivedT],
        b: Record[PlanT, BlockT, DerivedT],
        margin: float,
        level: float,
    ) -> Contrast:
        """Whether A and B are the same up to a margin in the unit of their qualities; for kinds that have some."""
        raise Deep500Error(
            f"two results of kind {self.name!r} have no qualities: --equivalent is for runs of recipes"
        )


def result_kind(name: str) -> ResultKind[Any, Any, Any]:
    """The kind of that name; it is looked up only in `results/` and entry points, whatever a bundle says."""
    class_names = registry.known("results")
    by_kind = {registry.file_stem(class_name): class_name for class_name in class_names}
    if name not in by_kind:
        shown = name[:40]
        kinds = ", ".join(by_kind)
        suggestion = did_you_mean(shown, by_kind)
        raise Deep500Error(
            f"the kind {shown!r} is not known to this version; there are: {kinds}.{suggestion}"
        )
    kind = registry.find("results", by_kind[name])
    return kind()


def derived_numbers(
    kind: ResultKind[PlanT, BlockT, DerivedT],
    plan: PlanT,
    blocks: Sequence[BlockT],
) -> DerivedT | None:
    """Every number of a result."""
    numbers: Any = kind.derive(plan, blocks)
    if isinstance(numbers, Mapping):
        numbers = {"procedure": kind.procedure, **numbers}
    return numbers


def derived_document(
    kind: ResultKind[Any, Any, DerivedT], derived: DerivedT
) -> dict[str, Any]:
    """The content of derived.json: the numbers, and the version of the procedure that computed them."""
    return {"procedure": kind.procedure, **encoded(derived)}


def comparable_kinds() -> list[str]:
    """The names of the kinds that define `compare`."""
    kinds = []
    for class_name in registry.known("results"):
        kind: Any = registry.find("results", class_name)
        if kind.compare is not ResultKind.compare:
            kinds.append(registry.file_stem(kind.__name__))
    return kinds
