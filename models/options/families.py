"""Options in which the column families of a store differ from its first one."""

from __future__ import annotations

from typing import Any

from lsmlab.models.options.options_file import OptionsFile
from lsmlab.models.options.scope import DATABASE_OPTIONS
from lsmlab.models.options.values import plain


def differing_options(first: OptionsFile, family: OptionsFile) -> dict[str, Any]:
    """Return the options of a column family that differ from those of the first one, by flat name, as YAML has values.

    These are the options of `engine.families.<name>.options`. Options of the whole database are left out.
    """
    return {
        option: plain(value)
        for option, value in family.overrides.items()
        if option not in DATABASE_OPTIONS and value != first.overrides.get(option)
    }
