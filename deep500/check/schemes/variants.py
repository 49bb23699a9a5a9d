"""A scheme with other codecs than its own: one that loses nothing, and one that loses most of a gradient."""

import typing
from dataclasses import replace

from ... import registry
from ...contracts.codec import Codec
from ...contracts.scheme import Scheme
from ...errors import Deep500Error

LOSSY_SHARE = 0.25  # of the elements, which a lossy codec keeps


def without_losses(scheme: Scheme) -> Scheme:
    """The scheme with the identity in place of its codecs: what is left is its own arithmetic."""
    identity = registry.find("codecs", "Identity")()
    changes = {}
    for name, value in scheme.settings.items():
        if isinstance(value, Codec):
            changes[name] = identity
    return replace(scheme, **changes)


def with_losses(scheme: Scheme, ranks: int) -> Scheme | None:
    """The scheme with a codec that keeps the largest elements; None if it takes no codec, or not this one."""
    lossy = registry.find("codecs", "TopK")(LOSSY_SHARE)
    changes = dict.fromkeys(_codec_settings(scheme), lossy)
    if not changes:
        return None
    try:
        variant = replace(scheme, **changes)
        variant.check(ranks)
    except Deep500Error:
        return None
    return variant


def _codec_settings(scheme: Scheme) -> list[str]:
    """The settings that may be a codec, by their annotation or their value."""
    try:
        hints = typing.get_type_hints(type(scheme))
    except NameError:  # an annotation that only its author can resolve
        hints = {}
    names = []
    for name, value in scheme.settings.items():
        annotation = hints.get(name)
        members = typing.get_args(annotation) or (annotation,)
        if isinstance(value, Codec) or Codec in members:
            names.append(name)
    return names
