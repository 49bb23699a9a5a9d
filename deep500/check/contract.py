"""What `d5 check NOUN` asks of a subject. Every noun is one file in this folder: check_codec.py holds CheckCodec."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

from .. import registry
from ..definition import Definition
from ..definition import option as option
from ..definition_text import parts_of
from ..errors import lacking
from ..supervision.serving import Progress
from .report import CheckReport, CheckResult


class NounCheck(Definition):
    """The questions about one noun. The docstring of a subclass is the help of its command.

    A field is a setting of the check and an option of the command: `steps: int = option(100, "how many steps")` is
    `--steps 100`. The subject is loaded and asked in a process of its own, once for every place.
    """

    # of the subject on the command line
    subject_help: ClassVar[str] = "a built-in one, or one in a file: 'my.py:Mine(0.1)'"
    # what its settings are, for --set; "" if they are only given in brackets
    set_help: ClassVar[str] = ""
    # where it runs unless --framework says otherwise; none if it needs no framework
    frameworks: ClassVar[tuple[str, ...]] = ()
    framework_help: ClassVar[str] = ""
    # what the seed draws
    seeded: ClassVar[str] = "the inputs"
    timeout_s: ClassVar[float] = 300.0
    # the dtypes to choose from, if there is a field `dtypes`; () for all floats
    dtype_choices: ClassVar[tuple[str, ...]] = ()
    # the kind of its bundles
    kind: ClassVar[str] = "check"
    # how much longer than --timeout its process may take to say where it was
    grace_s: ClassVar[float] = 0.0

    seed: int = 0

    @property
    def noun(self) -> str:
        """What is checked, in a word: "codec"."""
        return registry.file_stem(type(self).__name__).removeprefix("check_")

    def load(self, text: str, settings: Mapping[str, Any]) -> Any:
        """The subject that a user names; a Deep500Error if there is none."""
        parts = parts_of(text, registry.plural(self.noun))
        return parts.with_settings(settings).whole()

    def accept(self, text: str, settings: Mapping[str, Any]) -> None:
        """Raise a Deep500Error for what is wrong with a request, before anything is started."""
        self.load(text, settings)

    def places(
        self, text: str, settings: Mapping[str, Any], frameworks: Sequence[str]
    ) -> Sequence[str]:
        """Where the subject is checked, one report each: the frameworks, or once."""
        return frameworks or self.frameworks or [""]

    def questions(
        self, subject: Any, where: str, progress: Progress
    ) -> Iterable[CheckResult]:
        """Ask everything in turn; whatever is raised ends the check."""
        raise lacking(self, "questions")

    def report(self, subject: Any, where: str, progress: Progress) -> CheckReport:
        """The report on the subject in one place."""
        checks = list(self.questions(subject, where, progress))
        return CheckReport(self.noun, str(subject), where, self.noun, checks)

    def limit(self, seconds: float) -> AbstractContextManager[None]:
        """What ends a check from inside its process; by default only the process itself is ended."""
        return nullcontext()

    def plan(
        self, text: str, settings: Mapping[str, Any], places: Sequence[str]
    ) -> dict[str, Any]:
        """The request as it is written into the bundle."""
        own = dict(self.settings)
        seed = own.pop("seed")
        dtypes = list(own.pop("dtypes", ()))
        return {
            "noun": self.noun,
            self.noun: text,
            "attributes": {**settings, **own},
            "frameworks": list(places),
            "dtypes": dtypes,
            "seed": seed,
        }
