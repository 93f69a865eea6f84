"""The examples in docstrings are correct."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import lsmlab
import lsmlab.models
import lsmlab.reports
import lsmlab.sim
import lsmlab.validation
import pytest

PACKAGES = (lsmlab.models, lsmlab.sim, lsmlab.validation, lsmlab.reports)
FOUND = (m.name for package in PACKAGES for m in pkgutil.walk_packages(package.__path__, f"{package.__name__}."))
INSIDE = (name for name in FOUND if not name.startswith("lsmlab.reports.api"))  # installed as lsmlab itself
ITSELF = (f"lsmlab.{module.name}" for module in pkgutil.iter_modules(lsmlab.__path__) if not module.ispkg)
MODULES = sorted(("lsmlab", *INSIDE, *ITSELF))


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    """Every example in the module's docstrings gives the output that it shows."""
    if name.startswith("lsmlab.reports.lab"):
        pytest.importorskip("dash", exc_type=ModuleNotFoundError)  # an optional package
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)

    assert 0 == result.failed
