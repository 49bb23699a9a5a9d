"""Reading ahead in threads: for data whose reading is outside of Python, such as decoding pictures."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late

import numpy as np

from ...contracts.dataset import Split
from ...errors import Deep500Error

AHEAD = 2  # batches for every thread


def read_in_threads(
    split: Split,
    indices: Iterable[np.ndarray],
    epoch: int,
    threads: int,
    timeout_s: float,
) -> Iterator[dict[str, np.ndarray]]:
    """The batches of these index arrays, in their order."""
    rows = iter(indices)
    waiting: deque[Future[dict[str, np.ndarray]]] = deque()
    pool = ThreadPoolExecutor(threads, "deep500-loader")
    try:
        while True:
            while (
                len(waiting) < AHEAD * threads
                and (batch := next(rows, None)) is not None
            ):
                waiting.append(pool.submit(split.batch, batch, epoch))
            if not waiting:
                return
            yield waiting.popleft().result(timeout_s)
    except Late:
        raise Deep500Error(
            f"a thread of the loader has not answered for {timeout_s:g} s: the data are too slow or "
            "stuck; Loader(…, timeout_s=…) waits longer"
        ) from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
