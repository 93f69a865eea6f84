"""Text of others for a terminal: characters that would move the cursor, change colours or hide text are shown as escapes."""

from __future__ import annotations

import re
from typing import Final

_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
"""Control characters except tab and line feed, and those that change the direction of text."""


def printable(text: str) -> str:
    r"""Return a text with its control characters as escapes; tabs and line feeds stay.

    >>> printable("a\x1b[2J\u202eb")
    'a\\x1b[2J\\u202eb'
    """
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
