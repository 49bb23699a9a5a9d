"""A buffer cut into buckets of equal size; the last may be smaller."""

import numpy as np


def bucket_size(bucket: int, size: int) -> int:
    """The size of a bucket that is meant by a setting; 0 stands for the whole buffer."""
    return min(bucket, size) if bucket else size


def bucket_sizes(bucket: int, size: int) -> tuple[int, int, int]:
    """The size of a bucket, how many are full, and the size of the last one (or 0)."""
    each = bucket_size(bucket, size)
    if not each:
        return 0, 0, 0
    return each, size // each, size % each


def bucket_count(bucket: int, size: int) -> int:
    _, full, rest = bucket_sizes(bucket, size)
    return full + bool(rest)


def in_rows(x: np.ndarray, bucket: int) -> np.ndarray:
    """The buckets as the rows of a new matrix, with zeros behind the last element."""
    each = max(1, bucket_size(bucket, x.size))
    rows = np.zeros((bucket_count(bucket, x.size), each), x.dtype)
    rows.reshape(-1)[: x.size] = x
    return rows
