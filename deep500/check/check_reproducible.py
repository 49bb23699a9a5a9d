"""The check of a recipe's reproducibility: one hash of its weights for many layouts."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ..errors import Deep500Error, Unsupported, one_line, unknown
from ..supervision.serving import Progress
from .contract import NounCheck, option
from .report import CheckResult

if TYPE_CHECKING:
    from .layouts.layout import RankLayout
    from .layouts.tracing import Trace

TIERS = ("tiny", "small", "full")
TRANSPORTS = ("virtual", "mpi", "torch")
MOST_RANKS = 64


class CheckReproducible(NounCheck):
    """check that a recipe trains to the same weights, bit for bit, for any number of ranks and any layout"""

    subject_help = "a recipe that comes with Deep500, or a file: recipe.py"
    set_help = "an entry of the recipe, such as batch_size=32 or reproducible=8,36"
    frameworks = ("pytorch",)
    seeded = "nothing: recipes have seeds of their own"
    timeout_s = 600.0

    ranks: int = option(8, "how many ranks at most", "P")
    steps: int = option(5, "the steps: the first ones, and the epoch's last", "N")
    tier: str = option("tiny", "how much of it is trained: tiny, small or full", "TIER")
    data: str = option(
        "", "the arrays that go in: the folder with the files of the data set", "PATH"
    )
    transport: tuple[str, ...] = option(
        ("virtual", "mpi", "torch"), "what carries messages", "TRANSPORT"
    )

    def load(self, text: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The request from which every process makes the recipe."""
        return {
            "recipe": text,
            "tier": self.tier,
            "settings": dict(settings),
            "framework": "",
            "steps": self.steps,
            "data": self.data or None,
        }

    def accept(self, text: str, settings: Mapping[str, Any]) -> None:
        from .layouts.rank import recipe_of

        if not 1 <= self.ranks <= MOST_RANKS:
            raise Deep500Error(f"--ranks {self.ranks}: give 1 to {MOST_RANKS}")
        if not 1 <= self.steps <= 10_000:
            raise Deep500Error(f"--steps {self.steps}: give 1 to 10000")
        if self.tier not in TIERS:
            raise unknown("tier", self.tier, TIERS)
        for transport in self.transport:
            if transport not in TRANSPORTS:
                raise unknown("transport", transport, TRANSPORTS)
        recipe_of(self.load(text, settings))

    def report(self, subject: Any, where: str, progress: Progress) -> Any:
        from .report import CheckReport

        checks = list(self.questions(subject, where, progress))
        return CheckReport(self.noun, subject["recipe"], where, self.noun, checks)

    def questions(
        self, subject: Any, where: str, progress: Progress
    ) -> Iterator[CheckResult]:
        from .layouts.comparing import first_difference
        from .layouts.layout import layouts

        request = {**subject, "framework": where}
        first: Trace | None = None
        same: list[str] = []
        tried = 0
        with TemporaryDirectory() as name:
            for layout in layouts(self.ranks, self.transport):
                progress(layout.name)
                try:
                    trace = _traced(layout, request, Path(name))
                except Unsupported as error:
                    if first is None:
                        raise
                    text = one_line(error)
                    yield CheckResult("layout", None, case=layout.name, text=text)
                    continue
                tried += 1
                first = first or trace
                difference = first_difference(first, trace)
                if not difference:
                    same.append(layout.name)
                yield CheckResult(
                    "layout", not difference, case=layout.name, text=difference
                )
        assert first is not None
        is_one = len(same) == tried
        text = f"SHA-256 {first.sha256} in {len(same)} of {tried} layouts"
        yield CheckResult("one hash", is_one, text=text)


def _traced(layout: "RankLayout", request: dict[str, Any], folder: Path) -> "Trace":
    from .layouts.rank import recipe_of, traced_on_ranks
    from .layouts.tracing import traced

    if layout.transport != "virtual":
        return traced_on_ranks(layout, request, folder)
    return traced(recipe_of(request), layout, request["steps"], request["data"])
