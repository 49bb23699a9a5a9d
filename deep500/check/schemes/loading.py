"""From what a user writes (`LocalSGD(period=8)`, `my_scheme.py:Mine`) to a scheme."""

from collections.abc import Mapping
from typing import Any

from ...contracts.scheme import Scheme
from ...definition_text import Names, definition_of
from ...distributed.optimizer_scheme import distributed_optimizer


def load_scheme(text: str, own: Mapping[str, Any] | None = None) -> Scheme:
    """A built-in scheme or a class in a file, with settings; the class may be a distributed optimizer.

    `own` are the classes of the recipe's file, by name.
    """
    names = Names(own or {}, distributed_optimizer)
    return definition_of(text, "schemes", names)
