"""Level 2: one augmentation of data per file; `augmentations.RandomFlip` is found in random_flip.py."""

from .. import registry

__getattr__, __dir__ = registry.attach(__name__)
