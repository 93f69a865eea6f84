"""Reader of the explorer's data in a page, as the browser reads it."""

from __future__ import annotations

import base64
import gzip
import json
import re
import struct
from typing import Any

import numpy as np


def unpacked(text: str) -> Any:
    """Return the nested data behind the text that `lsmlab.reports.explorer.packing.pack` wrote."""
    content = gzip.decompress(base64.b64decode(text))
    (length,) = struct.unpack_from("<I", content)
    start = -(-(4 + length) // 8) * 8

    def revived(value: Any) -> Any:
        if isinstance(value, list):
            return [revived(inner) for inner in value]
        if not isinstance(value, dict):
            return value
        if "$" in value:
            dtype, offset, count = value["$"]
            return np.frombuffer(content, f"<{dtype}", count, start + offset)
        return {key: revived(inner) for key, inner in value.items()}

    return revived(json.loads(content[4 : 4 + length]))


def explorer_of(page: str) -> Any:
    """Return the explorer's data in a page."""
    found = re.search(r'id="run-data">([^<]*)<', page)
    assert found is not None
    return unpacked(found[1])
