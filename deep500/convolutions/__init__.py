"""Ways to compute a convolution and its gradients; `convolutions.Winograd4` is in winograd4.py."""

from .. import registry

__getattr__, __dir__ = registry.attach(__name__)
