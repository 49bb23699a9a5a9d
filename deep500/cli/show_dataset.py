"""print what a data set holds: splits, arrays, checksums, and how unequal its classes are"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Deep500Error
from . import options
from .output import print_json, write_page

if TYPE_CHECKING:
    from ..check.samplers.dataset_bias import BiasReport
    from ..contracts.dataset import Split


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "dataset",
        metavar="DATASET",
        help="a data set, as `d5 list datasets` names it",
    )
    options.set_(parser, "of the data set, such as folder=data or seed=1")
    parser.add_argument(
        "--histogram",
        type=Path,
        default=None,
        metavar="FILE",
        help="a picture of the classes (.svg), as well",
    )


def call(args: argparse.Namespace) -> int:
    from .. import registry
    from ..check.samplers.dataset_bias import bias_svg, dataset_bias

    if args.histogram and args.histogram.suffix != ".svg":
        raise Deep500Error(
            f"the picture is an .svg file, and {args.histogram.name} is none"
        )
    definition = registry.named("datasets", args.dataset)
    try:
        dataset = definition(**options.settings(args.set))
    except TypeError as error:
        raise Deep500Error(
            f"the data set {args.dataset!r} cannot be made: {error}"
        ) from None
    splits = dataset.load()
    bias = dataset_bias(splits) if "label" in splits["train"].columns else None
    if args.histogram and bias is None:
        raise Deep500Error(f"the data set {args.dataset} has no classes to draw")
    if args.histogram and bias:
        write_page(args.histogram, bias_svg(bias))
    facts = _facts(splits, dataset.checksums(), bias)
    if args.json:
        histogram = str(args.histogram) if args.histogram else None
        print_json(facts | {"histogram": histogram})
    else:
        print(_text(facts))
        if args.histogram:
            print(f"picture: {args.histogram}")
    return 0


def _facts(
    splits: "dict[str, Split]", files: dict[str, str], bias: "BiasReport | None"
) -> dict[str, Any]:
    described: dict[str, Any] = {}
    for name, split in splits.items():
        arrays = {}
        for array, spec in split.specs.items():
            arrays[array] = {
                "shape": list(spec.shape),
                "dtype": str(spec.dtype),
            }
        described[name] = {
            "examples": len(split),
            "arrays": arrays,
            "digest": split.digest(),
        }
    return {
        "splits": described,
        "files": files,
        "bias": bias.to_json() if bias else None,
    }


def _text(facts: dict[str, Any]) -> str:
    lines = []
    for name, split in facts["splits"].items():
        arrays = []
        for array, spec in split["arrays"].items():
            dtype, shape = spec["dtype"], tuple(spec["shape"])
            arrays.append(f"{array} {dtype} {shape}")
        contents = f"{split['examples']} examples of {', '.join(arrays)}"
        lines.append(f"{name}: {contents}; sha256 {split['digest']}")
    for name, digest in facts["files"].items():
        lines.append(f"file, {name}: sha256 {digest}")
    if facts["bias"]:
        lines += [_classes(split) for split in facts["bias"]["splits"]]
    return "\n".join(lines)


def _classes(split: dict[str, Any]) -> str:
    counts = split["counts"]
    interval = f"[{split['low']:.3f}, {split['high']:.3f}], n = {sum(counts)}"
    deviation = f"deviation from equal shares {split['deviation']:.3f} {interval}"
    by_chance = f"by chance up to {split['by_chance']:.3f}"
    return f"classes of {split['name']}: {len(counts)}, {deviation}; {by_chance}"
