"""Words of the report on compression."""

from ...reports.text import clean
from .data import DENSE


def method_name(method: str) -> str:
    """The codec, or the scheme: "TopK(0.01)"."""
    text = clean(method)
    if text == DENSE:
        return "dense"
    start = "AllReduce(codec="
    if text.startswith(start) and text.endswith(")"):
        inner = text[len(start) : -1].replace(", collective=", " by ")
        return inner.removesuffix("()")
    return text


def rate_name(mbit: float) -> str:
    return f"{mbit:g} Mbit/s" if mbit else "no limit"
