"""The check of anyone's training step."""

from collections.abc import Mapping
from typing import Any

from ..errors import Deep500Error
from ..supervision.serving import Progress
from .contract import NounCheck
from .report import CheckReport


class CheckStep(NounCheck):
    """check a training step: do accumulation, ranks and resumption give what one batch, rank and run give?"""

    subject_help = (
        "a class or function in a file that makes a training, 'my_script.py:Training', a module 'my_script.py', or a "
        "recipe; docs/check-a-step.md says what methods it has"
    )
    set_help = "an argument of the class or function, such as dropout=0; of a recipe framework=jax or examples=16"
    seeded = "orders of examples and moves of numbers"
    timeout_s = 600.0

    def load(self, text: str, settings: Mapping[str, Any]) -> Any:
        from .steps.loading import load_subject

        return text, load_subject(text), settings

    def accept(self, text: str, settings: Mapping[str, Any]) -> None:
        """A user's code runs in a process of its own, and so is not loaded here."""
        if not text.strip():
            raise Deep500Error("name a training, as my_script.py:Training")

    def report(self, subject: Any, where: str, progress: Progress) -> CheckReport:
        from .steps import checks
        from .steps.trainings import training_of

        text, value, settings = subject
        training = training_of(value, settings)
        results = [*checks(training, text, settings, self.seed, progress)]
        return CheckReport("step", text, where, "step", results)
