"""Decodes pictures: JPEG through libjpeg-turbo (simplejpeg) or Pillow, other formats through Pillow."""

import io
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from ..errors import Deep500Error, Unsupported, one_line

Decoder = Callable[[bytes, np.ndarray], None]
# a small file can announce a picture that fills the memory
MOST_PIXELS = 1 << 26
JPEG = b"\xff\xd8\xff"
DECODERS = ("auto", "simplejpeg", "pillow")


def decoder_named(name: str) -> Decoder:
    """The function that decodes the bytes of a picture into an array of its size (row, column, channel)."""
    if name not in DECODERS:
        raise Deep500Error(
            f"no decoder is named {name!r}: there are {', '.join(DECODERS)}"
        )
    fast = find_spec("simplejpeg") is not None
    if name == "simplejpeg" and not fast:
        raise Unsupported(
            "the decoder simplejpeg is not installed: pip install simplejpeg"
        )
    if name != "pillow" and fast:
        return decode_fast
    return decode_with_pillow


def decode_fast(data: bytes, out: np.ndarray) -> None:
    """Decode JPEG of the right size with simplejpeg, everything else with Pillow."""
    import simplejpeg

    if not data.startswith(JPEG) or picture_size(data) != out.shape[:2]:
        decode_with_pillow(data, out)
        return
    try:
        simplejpeg.decode_jpeg(data, "RGB", buffer=out)
    except ValueError as error:
        raise _undecodable(error) from None


def decode_with_pillow(data: bytes, out: np.ndarray) -> None:
    """Decode any format that Pillow supports; a picture of another size is resized (bilinear)."""
    import PIL.Image

    # raises an error if it is too large, before anything is decoded
    picture_size(data)
    height, width = out.shape[:2]
    try:
        with PIL.Image.open(io.BytesIO(data)) as picture:
            converted = picture.convert("RGB")
            if converted.size != (width, height):
                bilinear = PIL.Image.Resampling.BILINEAR
                converted = converted.resize((width, height), bilinear)
            out[:] = np.asarray(converted)
    except (OSError, ValueError, SyntaxError) as error:
        raise _undecodable(error) from None


def picture_size(data: bytes) -> tuple[int, int]:
    """The height and width in a picture's header; raises a Deep500Error if it is too large to decode."""
    height, width = _announced_size(data)
    if height * width > MOST_PIXELS:
        raise Deep500Error(
            f"announces {height} × {width} pixels, and at most {MOST_PIXELS} are decoded"
        )
    return height, width


def _announced_size(data: bytes) -> tuple[int, int]:
    if data.startswith(JPEG) and find_spec("simplejpeg"):
        import simplejpeg

        try:
            height, width, _, _ = simplejpeg.decode_jpeg_header(data)
        except ValueError as error:
            raise _undecodable(error) from None
        return height, width
    import PIL.Image

    try:
        with PIL.Image.open(io.BytesIO(data)) as picture:
            return picture.height, picture.width
    except PIL.Image.DecompressionBombError as error:
        raise Deep500Error(f"is too large to decode: {one_line(error)}") from None
    except (OSError, ValueError, SyntaxError) as error:
        raise _undecodable(error) from None


def _undecodable(error: Exception) -> Deep500Error:
    return Deep500Error(f"cannot be decoded: {one_line(error)}")
