"""The table of how exact elementary functions are."""

from collections.abc import Sequence

from ..validation.benching.elementary import Exactness
from .tables import table

HEADERS = [
    "function",
    "dtype",
    "framework",
    "kernel",
    "largest error (ULP)",
    "at",
    "mean error (ULP)",
    "n",
    "domain",
]


def exactness_text(rows: Sequence[Exactness], seed: int) -> str:
    """Every function with its largest and mean error; special points and refusals below."""
    cells = [
        [
            r.function,
            r.dtype,
            r.framework,
            r.kernel,
            _ulp(r.largest),
            r.at,
            _ulp(r.mean),
            str(r.n),
            r.domain,
        ]
        for r in rows
        if not r.unsupported
    ]
    notes = [
        "The largest error is that of a sample (half uniform over the domain, half by the logarithm, "
        f"seed {seed}): a lower bound of the largest there is. 0.5 is correctly rounded; truth: mpmath."
    ]
    said: dict[str, list[str]] = {}
    for r in rows:
        for fault in r.special:
            said.setdefault(f"{r.function} in {r.dtype}: {fault}", []).append(r.framework)
        if r.unsupported:
            said.setdefault(
                f"{r.function} in {r.dtype} was not measured: {r.unsupported}", []
            ).append(r.framework)
    notes += [f"{', '.join(frameworks)}: {text}" for text, frameworks in said.items()]
    return table(HEADERS, cells, "llllrlrrl") + "\n" + "\n".join(f"- {note}" for note in notes)


def _ulp(value: float | None) -> str:
    return "infinite" if value is None else f"{value:.2f}" if value < 1e4 else f"{value:.2e}"
