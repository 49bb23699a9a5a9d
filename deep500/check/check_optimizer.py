"""The check of an optimizer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..definition_text import names_code
from ..errors import Deep500Error
from ..supervision.serving import Progress
from .contract import NounCheck, option
from .report import CheckReport

# the frameworks on which the optimizers of a library run
LIBRARIES = {"torch": "pytorch", "optax": "jax", "keras": "tensorflow"}


@dataclass(frozen=True)
class LoadedOptimizer:
    """An optimizer, and how another process makes it."""

    optimizer: Any
    origin: Mapping[str, Any]


class CheckOptimizer(NounCheck):
    """check that an optimizer is right: every step against a float64 oracle, resumption, the framework's own rule"""

    subject_help = "'Adam(0.01) | ClipByNorm(1.0)', one in a file, 'my.py:Mine(0.01)', or 'torch.optim.Adam(lr=0.01)'"
    set_help = "a setting of the optimizer, such as learning_rate=0.01"
    frameworks = ("pytorch",)
    framework_help = "pytorch, or the library's own"
    seeded = "the problems"
    timeout_s = 600.0
    dtype_choices = ("float32", "float64")
    kind = "optimizer_check"

    reference: str = option(
        "",
        "what computes the same: 'Adam(0.01)', my.py:Other, 'torch.optim.Adam(lr=0.01)', 'optax.adam(0.01)'",
    )
    dtypes: tuple[str, ...] = ("float64", "float32")
    steps: int = option(100, "the steps on every problem")

    def load(self, text: str, settings: Mapping[str, Any]) -> LoadedOptimizer:
        from .optimizers.subjects import load_optimizer

        origin = {"optimizer": text, "settings": dict(settings)}
        return LoadedOptimizer(load_optimizer(text, settings), origin)

    def accept(self, text: str, settings: Mapping[str, Any]) -> None:
        """Refuse errors in texts, unless they name a file or a module, whose code runs only in a new process."""
        from .optimizers.subjects import load_optimizer

        if self.steps < 2:
            raise Deep500Error(f"--steps {self.steps} are too few: give at least 2")
        if self.reference and not names_code(self.reference):
            load_optimizer(self.reference, {})
        if not names_code(text):
            load_optimizer(text, settings)

    def places(
        self, text: str, settings: Mapping[str, Any], frameworks: Sequence[str]
    ) -> Sequence[str]:
        library = text.strip().partition(".")[0]
        own = LIBRARIES.get(library, self.frameworks[0])
        return frameworks or [own]

    def report(
        self, subject: LoadedOptimizer, where: str, progress: Progress
    ) -> CheckReport:
        from .optimizers.checking import check_steps
        from .optimizers.subjects import load_optimizer

        rule = load_optimizer(self.reference) if self.reference else None
        return check_steps(
            subject.optimizer,
            where,
            rule,
            subject.origin,
            self.seed,
            self.dtypes,
            self.steps,
            progress,
        )

    def plan(
        self, text: str, settings: Mapping[str, Any], places: Sequence[str]
    ) -> dict[str, Any]:
        return {
            "optimizer": text,
            "settings": dict(settings),
            "reference": self.reference or None,
            "frameworks": list(places),
            "dtypes": list(self.dtypes),
            "steps": self.steps,
            "seed": self.seed,
        }
