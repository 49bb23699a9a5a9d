"""Deep500: is it right, is it fast, would anyone else get the same answer?

Importing this imports nothing else: every name below (listed in __init__.pyi) loads its module when first used.
"""

import lazy_loader

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
