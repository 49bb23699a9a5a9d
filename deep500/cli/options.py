"""Every option that several verbs share, defined once; its help begins with what the option means."""

import argparse
import ast
import math
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import Deep500Error

if TYPE_CHECKING:
    from ..measure.plan import Settings

Parser = argparse.ArgumentParser
# the dtypes of operators
FLOATS = "float16", "bfloat16", "float32", "float64"


def json(parser: Parser) -> None:
    parser.add_argument(
        "--json",
        action="store_true",
        help="data on standard output, for programs",
    )


def framework(
    parser: Parser,
    default_text: str,
    default: Sequence[str] | None = None,
    several: bool = True,
) -> None:
    parser.add_argument(
        "--framework",
        nargs="+" if several else None,
        default=default,
        metavar="NAME",
        help=f"where it runs, as `d5 list frameworks` names it ({default_text})",
    )


def device(parser: Parser) -> None:
    parser.add_argument(
        "--device",
        nargs="+",
        default=[],
        metavar="DEVICE",
        help="the device: cpu, gpu, gpu:1, a framework's own word (cuda:0, mps), or sim, a simulated accelerator (cpu; "
        "several are compared)",
    )


def on_devices(args: argparse.Namespace) -> None:
    """Set `args.framework` to one word for each framework and device, such as pytorch@cuda:0."""
    from ..frameworks import framework

    if not args.device:
        return
    words = []
    for name in args.framework or ["pytorch"]:
        for device in args.device:
            words.append(framework(name).on(device).word)
    args.framework = list(dict.fromkeys(words))


def device_facts(args: argparse.Namespace) -> dict[str, Any]:
    """What a plan says of the devices that were resolved: their names, drivers and memory; nothing of the host."""
    from ..frameworks import devices_of

    facts = devices_of(args.framework)
    return {"devices": facts} if facts else {}


def need_frameworks(names: Sequence[str]) -> None:
    """Raise a Deep500Error if a framework is unknown or not installed."""
    from ..frameworks import framework

    for adapter in map(framework, names):
        if not adapter.available():
            adapter.require()  # raises an error that says what to install


def set_(parser: Parser, meaning: str) -> None:
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=f"a setting to change: {meaning}",
    )


class _Once(argparse.Action):
    """Stores a value, and refuses a second one instead of forgetting the first."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if getattr(namespace, self.dest) != self.default:
            raise argparse.ArgumentError(
                self, "it is given twice, and one can be applied: give it once"
            )
        setattr(namespace, self.dest, values)


def transform(parser: Parser, what: str) -> None:
    parser.add_argument(
        "--transform",
        action=_Once,
        default="",
        metavar="TRANSFORMATION",
        help=f"{what}, as in 'MicroBatch(\"8 MiB\", batch=16)'; `d5 list transformations` names them",
    )


def shape(parser: Parser, participle: str) -> None:
    parser.add_argument(
        "--shape",
        nargs="+",
        default=[],
        metavar="SHAPE",
        help=f"the inputs: 64x64,64x64, int64<9:4x5, 0.1*8x8, =[1,2], () or - each (several: each is {participle})",
    )


def dtype(
    parser: Parser, default: Sequence[str], choices: Sequence[str] = FLOATS
) -> None:
    parser.add_argument(
        "--dtype",
        nargs="+",
        default=list(default),
        choices=choices,
        metavar="DTYPE",
        help=f"the dtypes of floats: {', '.join(choices)} ({' '.join(default)})",
    )


def reference(parser: Parser) -> None:
    parser.add_argument(
        "--reference",
        default=None,
        metavar="NAME",
        help="what computes the same: a built-in operator (Relu), or a NumPy function of float64 arrays, as FILE:NAME",
    )


def seed(parser: Parser, subject: str, default: int | None = None) -> None:
    default_text = "drawn and recorded" if default is None else default
    parser.add_argument(
        "--seed",
        type=int,
        default=default,
        metavar="N",
        help=f"the seed of {subject} ({default_text})",
    )


def random_seed(parser: Parser, subject: str, default: int) -> None:
    parser.add_argument(
        "--seed",
        type=_number_or_random,
        default=default,
        metavar="N",
        help=f"the seed of {subject} ({default}); `random` draws one and says which",
    )


def _number_or_random(text: str) -> int:
    if text == "random":
        return secrets.randbelow(2**32)
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a number nor `random`"
        ) from None


def budget(parser: Parser, default: float) -> None:
    parser.add_argument(
        "--budget",
        type=float,
        default=default,
        metavar="SECONDS",
        help=f"the time to spend on measuring ({default:g})",
    )


def timeout(
    parser: Parser, subject: str, default: float | None, default_text: str = ""
) -> None:
    if not default_text:
        default_text = f"{default:g}"
    parser.add_argument(
        "--timeout",
        type=_timeout,
        default=default,
        metavar="SECONDS",
        help=f"the longest wait for {subject} ({default_text})",
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None


def _timeout(text: str) -> float:
    seconds = _number(text)
    if not seconds > 0:
        raise Deep500Error(f"--timeout {text} leaves no time: give more than 0 seconds")
    return seconds


def _margin(text: str) -> float:
    share = _number(text)
    if not 0 <= share < float("inf"):
        raise Deep500Error(
            f"--margin {text}: give a share from 0 on, such as 0.02 for 2 %"
        )
    return share


def margin(
    parser: Parser,
    meaning: str = "the relative difference that does not matter (0.02)",
) -> None:
    parser.add_argument(
        "--margin",
        type=_margin,
        default=0.02,
        metavar="SHARE",
        help=meaning,
    )


def _level(text: str) -> float:
    share = _number(text)
    if not 0 < share < 1:
        raise Deep500Error(
            f"--level {text}: give a share between 0 and 1, such as 0.95"
        )
    return share


def level(parser: Parser) -> None:
    parser.add_argument(
        "--level",
        type=_level,
        default=0.95,
        metavar="SHARE",
        help="the level of confidence (0.95)",
    )


def measuring(parser: Parser, budget_s: float, processes: str) -> None:
    """The options of every measurement: how long, how precise, how many processes."""
    budget(parser, budget_s)
    parser.add_argument(
        "--precision",
        type=float,
        default=0.02,
        metavar="SHARE",
        help="the relative half-width to stop at (0.02)",
    )
    margin(parser)
    level(parser)
    parser.add_argument(
        "--processes",
        type=int,
        default=None,
        metavar="N",
        help=f"the number of processes, even beyond the budget: exactly N {processes}",
    )


def wait_for_quiet(parser: Parser) -> None:
    parser.add_argument(
        "--wait-for-quiet",
        type=_seconds,
        default=None,
        metavar="SECONDS",
        help="the longest wait until others use less than a tenth of the CPUs (0)",
    )


def _seconds(text: str) -> float:
    """The length of a wait."""
    try:
        seconds = _number(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < 1e9:
        raise argparse.ArgumentTypeError(f"{text}: give seconds, 0 or more")
    return seconds


def cpus() -> int:
    """The number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0))


def cache(parser: Parser) -> None:
    parser.add_argument(
        "--cache",
        choices=("warm", "cold"),
        default="warm",
        help="whether caches stay warm between calls or are emptied, also those of a device (warm)",
    )


def lock_clock(parser: Parser) -> None:
    parser.add_argument(
        "--lock-clock",
        type=int,
        default=None,
        metavar="MHZ",
        help="the clock of NVIDIA devices meanwhile, which needs root (it is recorded, and not locked)",
    )


def threads(parser: Parser) -> None:
    parser.add_argument(
        "--threads",
        type=int,
        default=None,
        metavar="N",
        help="the threads of every framework (all CPUs; 0: its own choice)",
    )


def measuring_settings(args: argparse.Namespace) -> "Settings":
    """What `measuring`, `timeout` and `seed` have read, as settings of a plan."""
    return {
        "budget_s": args.budget,
        "precision": args.precision,
        "margin": args.margin,
        "level": args.level,
        "processes": args.processes,
        "timeout_s": args.timeout,
        "seed": args.seed,
    }


def tier(parser: Parser, default: str, choices_text: str) -> None:
    parser.add_argument(
        "--tier",
        default=default,
        metavar="TIER",
        help=f"how much of it: {choices_text} ({default})",
    )


def out(
    parser: Parser, item: str = "the bundle's new folder (under $DEEP500_HOME)"
) -> None:
    parser.add_argument(
        "--out",
        type=Path,
        default=None,
        metavar="PATH",
        help=f"where to write {item}",
    )


def report(parser: Parser) -> None:
    parser.add_argument(
        "--report",
        action="store_true",
        help="a page as well: FOLDER.html, beside the bundle",
    )


def browser(parser: Parser) -> None:
    parser.add_argument(
        "--browser",
        action="store_true",
        help="open the page in a browser, as well",
    )


def most(parser: Parser, default_text: str, default: int | None = None) -> None:
    parser.add_argument(
        "--most",
        type=int,
        default=default,
        metavar="N",
        help=f"how many rows are shown ({default_text})",
    )


def model(parser: Parser) -> None:
    parser.add_argument(
        "model",
        metavar="NETWORK",
        help="an ONNX file, a built-in network (resnet), or my.py:function",
    )


def batch(
    parser: Parser, default: int | Sequence[int] | None, remark: str = ""
) -> None:
    several = isinstance(default, Sequence)
    parser.add_argument(
        "--batch",
        type=int,
        nargs="+" if several else None,
        default=default,
        metavar="N",
        help=f"the size of the batch{remark}",
    )


def bundle(parser: Parser, required: bool = False) -> None:
    help_text = "a folder, a zip or a run of `d5 list`"
    if not required:
        help_text += " (the last one)"
    parser.add_argument(
        "bundle",
        nargs=None if required else "?",
        default=None,
        metavar="BUNDLE",
        help=help_text,
    )


def recipe(parser: Parser) -> None:
    parser.add_argument(
        "recipe",
        type=Path,
        metavar="RECIPE",
        help="a recipe file, or the name of one of ours (digits_cnn)",
    )


def data(parser: Parser) -> None:
    parser.add_argument(
        "--data",
        type=Path,
        default=None,
        metavar="PATH",
        help="the arrays that go in: the folder with the files of the data set ($DEEP500_DATA)",
    )


def equivalent(parser: Parser, default: float | None, remark: str) -> None:
    parser.add_argument(
        "--equivalent",
        type=float,
        default=default,
        metavar="MARGIN",
        help=f"the difference of a quality that does not matter: points of a %%, else %% of its median {remark}",
    )


def renamed(parser: Parser, old: str, new: str) -> None:
    """Accept the old spelling of an option, only to raise a Deep500Error that names the new one."""

    class Renamed(argparse.Action):
        def __call__(self, *_: Any, **__: Any) -> NoReturn:
            raise Deep500Error(f"{old} is now {new}")

    parser.add_argument(old, action=Renamed, nargs="*", help=argparse.SUPPRESS)


def settings(texts: Sequence[str]) -> dict[str, Any]:
    """Parse NAME=VALUE, where VALUE is a Python literal (a list becomes a tuple) or else a string."""
    values: dict[str, Any] = {}
    for text in texts:
        name, value = named_value("--set", text)
        values[name] = _literal(value)
    return values


def named_value(option: str, text: str, form: str = "name=value") -> tuple[str, str]:
    """The two sides of the first equals sign; raises a Deep500Error if the first is not an identifier."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise Deep500Error(f"{option} {text!r} is not of the form {form}")
    return name, value


def _literal(text: str) -> Any:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return tuple(value) if isinstance(value, list) else value
