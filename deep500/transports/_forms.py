"""Forms of messages: ranks tell what they send the first time, since no engine compares it with what is expected.

Gloo takes a short message for a whole one, and ends the process of a rank that gets a long one. There, messages of
different forms have different tags (`form_tag`), so that a message of a form that is not expected never comes.
"""

import math
from collections import defaultdict, deque
from collections.abc import Callable
from functools import lru_cache
from typing import Protocol
from zlib import crc32

import numpy as np

from ..contracts.transport import Recv, RecvAny, Send
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
        self.sent_count: dict[Channel, int] = defaultdict(int)
        self.received_count: dict[Channel, int] = defaultdict(int)
        # tags of RecvAny: which message a Recv gets is not known there
        self.of_any_rank: set[int] = set()
        self.agreed: dict[Channel, list[str]] = defaultdict(list)
        # what makes receives begin that came before their form was known, in order
        self.waiting: dict[Channel, deque[tuple[np.ndarray, Begin]]] = defaultdict(
            deque
        )

    def tell(self, step: Send) -> None:
        """Before a message is sent: a new form, with the number of the message on its channel."""
        if step.announced:
            return
        channel = step.to, step.tag
        forms = self.sent[channel]
        form = form_of(step.array)
        if form not in forms:
            key = _key(self.rank, step.to, step.tag, len(forms))
            self.store.set(step.to, key, f"{self.sent_count[channel]} {form}")
            forms.append(form)
        self.sent_count[channel] += 1

    def numbered(self, step: Recv | RecvAny) -> int:
        """The number of the message that a receive will get on its channel; -1 if that depends on other receives."""
        if isinstance(step, RecvAny):
            self.of_any_rank.add(step.tag)
            return -1
        if step.announced or step.tag in self.of_any_rank:
            return -1
        channel = step.source, step.tag
        self.received_count[channel] += 1
        return self.received_count[channel] - 1

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
        told = self.told(channel)
        if told is None:
            return False
        _, sent = told
        if sent != form:
            raise other_form(self.rank, into, channel, sent)
        forms.append(form)
        return True

    def told(self, channel: Channel) -> tuple[int, str] | None:
        """The next new form on a channel that nobody has received yet, and the number of its message."""
        source, tag = channel
        text = self.store.read(_key(source, self.rank, tag, len(self.agreed[channel])))
        if text is None:
            return None
        number, _, form = text.partition(" ")
        return int(number), form

    def of_size(self, channel: Channel, nbytes: int) -> str:
        """The form that a message of this size has on a channel, if one is known, or else its size."""
        for form in self.agreed[channel]:
            if _size(form) == nbytes:
                return form
        return f"{nbytes} bytes"

    def check_number(self, channel: Channel, into: np.ndarray, number: int) -> None:
        """Refuse a message of this number that was sent in another form than it is received in."""
        told = self.told(channel)
        if number >= 0 and told is not None and told[0] == number:
            raise other_form(self.rank, into, channel, told[1])


@lru_cache(maxsize=4096)
def _form(dtype: np.dtype, shape: tuple[int, ...]) -> str:
    return f"{dtype}{[*shape]}"


def _size(form: str) -> int:
    """The number of bytes of a message of this form."""
    dtype, _, lengths = form.rstrip("]").partition("[")
    counts = [int(length) for length in lengths.split(",") if length]
    return math.prod(counts) * np.dtype(dtype).itemsize


def form_tag(step: Send | Recv | RecvAny, array: np.ndarray) -> int:
    """The engine's tag for messages of this form; announced ones have one for all, since their receivers know it."""
    announced = not isinstance(step, RecvAny) and step.announced
    return _tag(step.tag, "announced" if announced else form_of(array))


@lru_cache(maxsize=4096)
def _tag(tag: int, form: str) -> int:
    return crc32(f"{tag} {form}".encode()) & 0x7FFFFFFF


def form_of(array: np.ndarray) -> str:
    return _form(array.dtype, array.shape)


def other_form(
    rank: int, into: np.ndarray, channel: Channel, sent: str
) -> Deep500Error:
    """The error for a message that is not what a rank expects."""
    return Deep500Error(other_form_text(rank, form_of(into), channel, sent))


def other_form_text(rank: int, expected: str, channel: Channel, sent: str) -> str:
    source, tag = channel
    return f"rank {rank} expects {expected} from rank {source} (tag {tag}), which sent {sent}"


def _key(source: int, to: int, tag: int, number: int) -> str:
    return f"{FORM}/{source}/{to}/{tag}/{number}"
