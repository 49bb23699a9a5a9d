"""Training: the loop, what may happen along its way, and checkpoints from which it goes on."""

import lazy_loader  # type: ignore[import-untyped]

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, ["events"])
