"""PedanticRounds of an exact number of calls, each after its own setup, as `benchmark.pedantic` asks for them."""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from ..measure.bench_blocks import TimedBlock
from ..measure.clock import now
from ..measure.load import Load
from ..measure.sensing.others import Others


@dataclass(frozen=True)
class PedanticRounds:
    """What is timed, and how every round begins."""

    target: Callable
    args: tuple
    kwargs: dict[str, Any]
    setup: Callable | None
    warmup_rounds: int
    iterations: int

    def check(self, rounds: int) -> None:
        """The errors that pytest-benchmark raises, too."""
        for name, value, least in (
            ("iterations", self.iterations, 1),
            ("rounds", rounds, 1),
            ("warmup_rounds", self.warmup_rounds, 0),
        ):
            if not isinstance(value, int) or value < least:
                raise ValueError(
                    f"{name}={value!r}: give a whole number from {least} on"
                )
        if self.setup and self.iterations > 1:
            raise ValueError(
                f"iterations={self.iterations} with a setup, which could only run before the first of them"
            )

    def once(self) -> Any:
        """A call that nobody times."""
        args, kwargs = self._arguments()
        return self.target(*args, **kwargs)

    def timed(
        self, rounds: int, process: int, began_s: float
    ) -> tuple[TimedBlock, Any]:
        """The times of all rounds, and what the last call returned."""
        for _ in range(self.warmup_rounds):
            self._round()
        others = Others()
        begin = time.monotonic() - began_s
        times = []
        value: Any = None
        was_on = gc.isenabled()
        gc.disable()
        try:
            for _ in range(rounds):
                elapsed, value = self._round()
                times.append([max(1, elapsed)])
        finally:
            if was_on:
                gc.enable()
        end = time.monotonic() - began_s
        share = others.share()
        block = TimedBlock(
            process=process,
            calls=[self.iterations],
            untimed=[0],
            orders=[[0]] * rounds,
            ns=times,
            span_s=(round(begin, 4), round(end, 4)),
            load=None if share is None else Load(round(share, 4), others.cpus),
        )
        return block, value

    def _round(self) -> tuple[int, Any]:
        """Nanoseconds of one round, and what its last call returned."""
        args, kwargs = self._arguments()
        target = self.target
        value = None
        calls = repeat(None, self.iterations)
        start = now()
        for _ in calls:
            value = target(*args, **kwargs)
        return now() - start, value

    def _arguments(self) -> tuple[tuple, dict[str, Any]]:
        """The arguments of a round, which its setup may return."""
        made = self.setup() if self.setup else None
        if not made:
            return self.args, self.kwargs
        if self.args or self.kwargs:
            raise TypeError(
                "args and kwargs are given, and the setup returns them, too"
            )
        args, kwargs = made
        return tuple(args), dict(kwargs)
