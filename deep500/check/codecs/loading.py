"""Creates a codec from a user's text (`TopK(0.01) | QSGD`, `my_codec.py:Mine`), and checks it in a new process."""

from collections.abc import Callable, Sequence
from typing import Any

from ...contracts.codec import Codec
from ...definition_text import Names, definition_of
from ...supervision.isolation import Died, isolated
from ..report import CheckResult
from . import CodecReport, check_codec


def load_codec(text: str, names: Names | None = None) -> Codec:
    """A built-in codec, one in a file, or a chain of them, with settings."""
    return definition_of(text, "codecs", names)


def check_codec_elsewhere(
    text: str, loops: str, dtypes: Sequence[str], seed: int, timeout_s: float
) -> CodecReport:
    """As `check_codec`, in a new process with a deadline, because a user's codec may crash or never end."""
    arguments = {
        "text": text,
        "loops": loops,
        "dtypes": list(dtypes),
        "seed": seed,
    }
    try:
        answer = isolated(f"{__name__}:check_named", arguments, timeout_s)
    except Died as error:
        fault = CheckResult("process", False, text=str(error))
        return CodecReport(text, loops, "codec", [fault], isolated=True)
    return CodecReport.from_json(answer)


def check_named(
    text: str,
    loops: str,
    dtypes: Sequence[str],
    seed: int,
    progress: Callable[[str], None],
) -> dict[str, Any]:
    """Check a codec in the new process, and return its report as JSON."""
    codec = load_codec(text)
    report = check_codec(codec, dtypes, seed, loops, progress)
    return report.to_json() | {"isolated": True}
