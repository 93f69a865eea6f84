"""Error of bad input: InputError."""

from __future__ import annotations


class InputError(ValueError):
    """Bad input: the message is one line that names the file, line or key, and the remedy.

    The command line prints the message and ends with exit code 2, without a traceback.
    """
