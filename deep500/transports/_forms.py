"""Forms of messages: ranks tell what they send the first time, since no engine compares it with what is expected.

Gloo takes a short message for a whole one, and ends the process of a rank that gets a long one.
"""

from collections import defaultdict, deque
from collections.abc import Callable
from typing import Protocol

import numpy as np

from ..contracts.transport import Send
from ..errors import Deep500Error

FORM = "deep500/form"  # keys of the store

Channel = tuple[int, int]  # the other rank, and the tag
Begin = Callable[[], None]


class FormStore(Protocol):
    """Where ranks tell the forms of their messages."""

    def set(self, to: int, key: str, text: str) -> None: ...

    def read(self, key: str) -> str | None:
        """None if nobody has set it yet."""


class Forms:
    """The forms of this rank's messages: each new one is told before it is sent, and compared before it is received."""

    def __init__(self, rank: int, store: FormStore):
        self.rank = rank
        self.store = store
        self.sent: dict[Channel, list[str]] = defaultdict(list)
        self.agreed: dict[Channel, list[str]] = defaultdict(list)
        # what makes receives begin that came before their form was known, in order
        self.waiting: dict[Channel, deque[tuple[np.ndarray, Begin]]] = defaultdict(
            deque
        )

    def tell(self, step: Send) -> None:
        """Before a message is sent."""
        if step.announced:
            return
        forms = self.sent[step.to, step.tag]
        form = form_of(step.array)
        if form not in forms:
            key = _key(self.rank, step.to, step.tag, len(forms))
            self.store.set(step.to, key, form)
            forms.append(form)

    def begin_in_order(self, channel: Channel, into: np.ndarray, begin: Begin) -> None:
        """Begin a receive as soon as the form of its message is known, behind those of its channel before it."""
        self.waiting[channel].append((into, begin))
        self.advance(channel)

    def advance(self, channel: Channel) -> None:
        """Begin what can be begun; a Deep500Error if something else is sent than is expected."""
        queue = self.waiting[channel]
        while queue and self.compare(channel, queue[0][0]):
            _, begin = queue.popleft()
            begin()

    def compare(self, channel: Channel, into: np.ndarray) -> bool:
        """Whether messages of this form come on a channel; False if the other rank has not told yet."""
        forms = self.agreed[channel]
        form = form_of(into)
        if form in forms:
            return True
        source, tag = channel
        sent = self.store.read(_key(source, self.rank, tag, len(forms)))
        if sent is None:
            return False
        if sent != form:
            raise other_form(self.rank, into, channel, sent)
        forms.append(form)
        return True


def form_of(array: np.ndarray) -> str:
    return f"{array.dtype}{[*array.shape]}"


def other_form(
    rank: int, into: np.ndarray, channel: Channel, sent: str
) -> Deep500Error:
    """The error for a message that is not what a rank expects."""
    source, tag = channel
    return Deep500Error(
        f"rank {rank} expects {form_of(into)} from rank {source} (tag {tag}), which sent {sent}"
    )


def _key(source: int, to: int, tag: int, number: int) -> str:
    return f"{FORM}/{source}/{to}/{tag}/{number}"
