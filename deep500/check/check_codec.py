"""The check of a codec."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..supervision.serving import Progress
from .contract import NounCheck
from .report import CheckReport

if TYPE_CHECKING:
    from ..contracts.codec import Codec


class CheckCodec(NounCheck):
    """check that a codec is what it declares: unbiased, a contraction, linear, so many bytes, nothing lost"""

    subject_help = "a built-in one, 'TopK(0.01)'; a chain, 'TopK(0.01) | QSGD(bits=4)'; or 'my.py:Mine(8)'"
    dtype_choices = ("float32", "float64")

    dtypes: tuple[str, ...] = ("float32", "float64")

    def places(
        self, text: str, settings: Mapping[str, Any], frameworks: Sequence[str]
    ) -> Sequence[str]:
        from .codecs import loops_of

        return loops_of(self.load(text, settings))

    def report(self, subject: "Codec", where: str, progress: Progress) -> CheckReport:
        from .codecs import check_loops

        return check_loops(subject, self.dtypes, self.seed, where, progress)
