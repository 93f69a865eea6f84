"""The one error that bad input raises."""

from __future__ import annotations


class InputError(ValueError):
    """Input that cannot be used: the message is one line that names the file, line or key, and the remedy.

    The command line prints it and ends with exit code 2, without a traceback.
    """
