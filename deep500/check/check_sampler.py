"""The check of a sampler."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..definition_text import parts_of
from ..supervision.serving import Progress
from .contract import NounCheck, option
from .report import CheckReport

if TYPE_CHECKING:
    from ..contracts.sampler import Sampler


class CheckSampler(NounCheck):
    """check that a sampler draws what it says: coverage, batches, weights, positions, independent epochs and seeds"""

    subject_help = "a built-in one (ShuffleSampler), or one in a file: 'my.py:Mine(64)'"
    set_help = "of the sampler, such as batch_size=64 or weights=[1,2,3] (batch_size=4)"
    seeded = "the sampler"
    kind = "sampler_check"

    examples: int = option(
        0, "how many examples there are (as its settings say, or 13)"
    )
    epochs: int = option(2000, "how many epochs are drawn")

    def load(self, text: str, settings: Mapping[str, Any]) -> "Sampler":
        from .samplers import named_sampler

        return named_sampler(text, self._with_seed(text, settings))

    def report(self, subject: "Sampler", where: str, progress: Progress) -> CheckReport:
        from .samplers import LEVEL, drawn_report

        return drawn_report(subject, self.examples, self.epochs, LEVEL, progress)

    def plan(
        self, text: str, settings: Mapping[str, Any], places: Sequence[str]
    ) -> dict[str, Any]:
        from .samplers import LEVEL, size_of

        return {
            "sampler": text,
            "settings": self._with_seed(text, settings),
            "size": size_of(self.load(text, settings), self.examples),
            "epochs": self.epochs,
            "level": LEVEL,
        }

    def _with_seed(self, text: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings, with the seed unless the text gives one, or the sampler takes none."""
        parts = parts_of(text, "samplers")
        if "seed" in parts.given or not parts.takes("seed"):
            return dict(settings)
        return {"seed": self.seed, **settings}
