"""Prefetching in threads: for data that are read outside of the interpreter lock, such as compressed pictures."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late

import numpy as np

from ...contracts.dataset import Split
from ...errors import Deep500Error

AHEAD = 2  # batches per thread that are requested in advance


def read_in_threads(
    split: Split,
    indices: Iterable[np.ndarray],
    epoch: int,
    threads: int,
    timeout_s: float,
) -> Iterator[dict[str, np.ndarray]]:
    """The batches of these index arrays, in order."""
    remaining = iter(indices)
    waiting: deque[Future[dict[str, np.ndarray]]] = deque()
    pool = ThreadPoolExecutor(threads, "deep500-loader")
    try:
        while True:
            while len(waiting) < AHEAD * threads:
                rows = next(remaining, None)
                if rows is None:
                    break
                future = pool.submit(split.batch, rows, epoch)
                waiting.append(future)
            if not waiting:
                return
            future = waiting.popleft()
            yield future.result(timeout_s)
    except Late:
        raise Deep500Error(
            f"a thread of the loader has not answered for {timeout_s:g} s: the data are too slow or "
            "stuck; Loader(…, timeout_s=…) waits longer"
        ) from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
