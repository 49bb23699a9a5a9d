"""Pictures with the channels last, for engines whose kernels want them there.

A network has the channels second. A kernel that computes with the channels last hands its result over in both orders;
the next kernel takes the one that it wants, and a graph leaves out what nobody takes.
"""

from typing import Any

LAST = "_deep500_channels_last"  # on a tensor: the same values with the channels last


def channels_last(tf: Any, x: Any) -> Any:
    """x with its channels moved from the second place to the last."""
    known = getattr(x, LAST, None)
    return tf.transpose(x, (0, 2, 3, 1)) if known is None else known


def channels_second(tf: Any, x_last: Any) -> Any:
    """The other way round; while a graph is traced, the result remembers where it came from."""
    x = tf.transpose(x_last, (0, 3, 1, 2))
    if not tf.executing_eagerly():
        setattr(x, LAST, x_last)
    return x
