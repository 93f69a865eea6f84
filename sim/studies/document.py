"""Typed content of a JSON document: requests and answers of studies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Self

from lsmlab.models.errors import InputError
from lsmlab.sim.results.jsontext import to_json, write_json


class Document:
    """Base of dataclasses that are JSON documents."""

    def to_json(self) -> str:
        """Return the document as JSON text. NaN and infinities become null."""
        return to_json(self)

    def as_dict(self) -> dict[str, Any]:
        """Return the document as plain dictionaries and lists, as its JSON text has them."""
        content: dict[str, Any] = json.loads(self.to_json())
        return content

    def write(self, path: Path) -> None:
        """Write the document to a file, in one atomic step."""
        write_json(path, self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the document with this JSON text. Raises InputError if the text is another document."""
        import msgspec

        try:
            return msgspec.json.decode(text, type=cls)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InputError(f"not a document of this kind ({error})") from None

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the document of a file. Raises InputError if the file is missing or damaged."""
        try:
            return cls.from_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, InputError) as error:
            raise InputError(f"{path}: cannot be read ({error}); repeat the command") from None
