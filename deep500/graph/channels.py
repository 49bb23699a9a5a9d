"""Pictures with the channels last, for engines whose kernels need them there.

A network has the channels second. A kernel that computes with the channels last returns its result in both orders; the
next kernel takes the one that it needs, and a graph drops the one that is not used.
"""

from typing import Any

LAST = "_deep500_channels_last"  # on a tensor: the same values with the channels last


def channels_last(tf: Any, x: Any) -> Any:
    """x with its channels moved from the second axis to the last."""
    x_last = getattr(x, LAST, None)
    if x_last is None:
        return tf.transpose(x, (0, 2, 3, 1))
    return x_last


def channels_second(tf: Any, x_last: Any) -> Any:
    """The inverse of `channels_last`; while a graph is traced, the result keeps a reference to its source."""
    x = tf.transpose(x_last, (0, 3, 1, 2))
    if not tf.executing_eagerly():
        setattr(x, LAST, x_last)
    return x
