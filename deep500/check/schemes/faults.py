"""An exception of a scheme in words."""

from ...errors import Deep500Error, one_line, with_place

LONGEST = 2000  # characters


def reason(error: Exception) -> str:
    """The whole message of an error of ours; of any other exception its kind, and the user's file and line."""
    if isinstance(error, Deep500Error):
        return one_line(error, LONGEST)
    return with_place(error)
