"""What losses of labels have in common: scores have their classes along axis 1, and every label is one of them."""

import math
from typing import Literal

import numpy as np

from ..errors import Deep500Error

LossReduction = Literal["none", "sum", "mean"]


def hot(xp, labels, scores):
    """Where in the scores the labels point."""
    classes = xp.reshape(
        xp.arange(scores.shape[1], labels.dtype), (1, -1, *[1] * (scores.ndim - 2))
    )
    return xp.expand_dims(labels, 1) == classes


def picked(xp, labels, scores):
    """The score that every label points to."""
    return xp.sum(xp.where(hot(xp, labels, scores), scores, xp.zeros_like(scores)), axis=1)


def weight_of(xp, labels, scores, weights, ignore_index):
    """The weight of every label: that of its class, 0 if it is ignored, NaN if it is no class."""
    of_class = xp.full(labels.shape, 1, scores.dtype)
    if weights is not None:
        wide = xp.reshape(weights, (1, -1, *[1] * (scores.ndim - 2)))
        of_class = picked(xp, labels, xp.broadcast_to(wide, scores.shape))
    weight = xp.where((labels >= 0) & (labels < scores.shape[1]), of_class, math.nan)
    return (
        weight
        if ignore_index is None
        else xp.where(labels == ignore_index, xp.zeros_like(weight), weight)
    )


def reduced(xp, loss, weight, reduction):
    """The losses, their sum, or their mean by weight."""
    if reduction == "none":
        return loss
    return xp.sum(loss) / xp.sum(weight) if reduction == "mean" else xp.sum(loss)


def by_loss(xp, dloss, weight, reduction):
    """The gradient by the loss of every label, times its weight."""
    return dloss * (weight / xp.sum(weight) if reduction == "mean" else weight)


def check_labels(labels, classes, ignore_index):
    """Refuse NumPy labels that are no class."""
    strange = (labels < 0) | (labels >= classes)
    if ignore_index is not None:
        strange &= labels != ignore_index
    if np.any(strange):
        raise Deep500Error(
            f"the label {labels[strange][0]} is none of the {classes} classes 0 to {classes - 1}, "
            f"nor the ignore_index ({ignore_index})"
        )
