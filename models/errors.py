"""Error of bad input: InputError; the reason for which a text file cannot be read."""

from __future__ import annotations


class InputError(ValueError):
    """Bad input: the message is one line that names the file, line or key, and the remedy.

    The command line prints the message and ends with exit code 2, without a traceback.
    """


def reading_error(error: Exception) -> str:
    r"""Return in words why a text file cannot be read, without error numbers and names of codecs.

    >>> reading_error(FileNotFoundError(2, "No such file or directory"))
    'No such file or directory'
    >>> reading_error(UnicodeDecodeError("utf-8", b"\xff\xfea\x00", 0, 1, "invalid start byte"))
    'it is UTF-16; save it as UTF-8'
    >>> reading_error(UnicodeDecodeError("utf-8", b"caf\xe9", 3, 4, "unexpected end of data"))
    'byte 3 is not UTF-8; save it as UTF-8'
    """
    if isinstance(error, UnicodeDecodeError):
        utf_16 = error.object[:2] in (b"\xff\xfe", b"\xfe\xff")
        return f"{'it is UTF-16' if utf_16 else f'byte {error.start} is not UTF-8'}; save it as UTF-8"
    return str(getattr(error, "strerror", None) or error)
