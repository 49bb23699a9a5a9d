"""How often the checks of operators are right: false alarms on correct kernels, and planted errors that escape.

    python benchmarks/checking.py --framework pytorch jax tensorflow
    python benchmarks/checking.py --planted

Over all cases of all operators. The minutes it takes are mostly JAX's compiler and TensorFlow's dispatch; --only names
operators, --seed draws other inputs.
"""

import argparse
import sys
import warnings
from collections import Counter
from pathlib import Path

from deep500 import registry
from deep500.check.operators import check_operator
from deep500.check.operators.examples import examples
from deep500.errors import Unsupported
from deep500.frameworks import framework


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--framework", nargs="+", default=["pytorch"])
    parser.add_argument("--dtype", nargs="+", default=["float32", "float64"])
    parser.add_argument(
        "--only", nargs="+", default=registry.known("operators"), metavar="OPERATOR"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--all", action="store_true", help="operators that run through our formula too"
    )
    parser.add_argument(
        "--planted",
        action="store_true",
        help="planted errors instead, on the reference",
    )
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.planted:
        planted(args.only, args.seed)
    else:
        for name in args.framework:
            false_alarms(name, args)


def false_alarms(name: str, args: argparse.Namespace) -> None:
    """Everything that is called wrong, and the totals."""
    with_threads(name)
    verdicts: Counter = Counter()
    operators, cases = set(), set()
    for operator in args.only:
        cls = registry.find("operators", operator)
        if (
            not args.all
            and not callable(getattr(cls, name, None))
            and name != "onnxruntime"
        ):
            continue
        report = check_operator(cls, name, seed=args.seed, dtypes=args.dtype)
        verdicts.update((c.name, c.verdict) for c in report.checks)
        operators.add(operator)
        cases.update(c.case for c in report.checks)
        for check in report.wrong:
            print(f"  {check.case} {check.dtype} {check.name}: {check.text}")
    found = Counter(verdict for (_, verdict), n in verdicts.items() for _ in range(n))
    print(
        f"{name}: {len(operators)} operators, {len(cases)} cases in {', '.join(args.dtype)}: "
        f"{found['ok']} checks ok, {found['wrong']} wrong, {found['not applicable']} not applicable"
    )


def planted(only: list[str], seed: int) -> None:
    """How many examples and operators every planted error applies to, and on how many it is not found."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from operators.planted import ERRORS
    from operators.test_planted_errors import fitting, wrong

    among = [
        e
        for e in examples(seed)
        if type(e.operator).__name__ in only and any(y.size for y in e.outputs)
    ]
    for error in ERRORS:
        found = fitting(error, among)
        escaped = [e.name for spoilt, e in found if not wrong(spoilt, e)]
        operators = {type(e.operator).__name__ for _, e in found}
        print(
            f"{error.__name__}: applies to {len(operators)} operators in {len(found)} examples, "
            f"{len(escaped)} escaped {' '.join(escaped)}"
        )


def with_threads(name: str) -> None:
    try:
        framework(name).set_threads(1)
    except Unsupported as error:
        print(f"  {error}")


if __name__ == "__main__":
    main()
