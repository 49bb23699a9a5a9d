"""Deep500: is it right, is it fast, would anyone else get the same answer?

Importing this imports nothing else: every name below (listed in __init__.pyi) loads its module when first used.
"""

import lazy_loader

__version__ = "0.1.0"
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name in __all__:
        return _load(name)
    from .errors import NoAttribute

    raise NoAttribute(__name__, name, __all__)
