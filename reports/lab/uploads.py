"""Uploaded files: decoded within limits and written to the shelf; only the existing importers read their content."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path

from lsmlab.models.errors import InputError
from lsmlab.models.options.options_file import read_options
from lsmlab.reports.lab.safety import MOST_UPLOAD_BYTES
from lsmlab.reports.lab.shelf import Shelf


def decoded(contents: object, name: str) -> bytes:
    """Return the content of an upload in the form `data:TYPE;base64,TEXT`. Raises InputError if it is too large or none.

    >>> decoded("data:text/plain;base64,T1BUSU9OUw==", "OPTIONS")
    b'OPTIONS'
    """
    if not isinstance(contents, str) or ";base64," not in contents[:300]:
        raise InputError(f"{name}: no file; choose one")
    text = contents.partition(";base64,")[2]
    if len(text) * 3 // 4 > MOST_UPLOAD_BYTES:
        raise InputError(f"{name}: larger than {MOST_UPLOAD_BYTES >> 20} MiB; read it with 'lsmlab import' or '--options FILE'")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InputError(f"{name}: the upload is damaged; try again") from None


def save_options(shelf: Shelf, contents: object, name: str) -> Path:
    """Write an uploaded OPTIONS file (or a LOG, for its options) and return its path. Raises InputError if it has none."""
    path = shelf.upload(name, decoded(contents, name))
    try:
        read_options(path)
    except InputError as error:
        path.unlink()
        raise InputError(str(error).replace(str(path), name)) from None
    return path


def save_log(shelf: Shelf, contents: object, name: str) -> Path:
    """Write an uploaded LOG and return its path; the import follows in a worker process."""
    return shelf.upload(name, decoded(contents, name))
