"""Markdown of lessons as HTML."""

from __future__ import annotations

from functools import cache
from typing import Any

from lsmlab.models.errors import InputError


def to_html(text: str) -> str:
    """Return Markdown (CommonMark and tables) as HTML; HTML in the text is shown as text.

    Raises InputError if the package markdown-it-py is missing.
    """
    return str(_parser().render(text))


@cache
def _parser() -> Any:
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        raise InputError(
            "course: the package markdown-it-py is missing; install it with: pip install 'lsmlab[course]'"
        ) from None
    return MarkdownIt("commonmark", {"html": False}).enable("table")
