"""Creates a codec from a user's text: `TopK(0.01) | QSGD`, `my_codec.py:Mine`."""

from ...contracts.codec import Codec
from ...definition_text import Names, definition_of


def load_codec(text: str, names: Names | None = None) -> Codec:
    """A built-in codec, one in a file, or a chain of them, with settings."""
    return definition_of(text, "codecs", names)
