"""The YAML template of option names that Hydra composes.

To write the file again after a change of RocksDbOptions:

python -c "from lsmlab.models.options.options import options_template as t; print(t(), end='')" >
configs/engine/options/rocksdb.yaml
"""

from __future__ import annotations

from pathlib import Path

from lsmlab.models.options.options import options_template, resolve_options
from lsmlab.models.version import Version
from omegaconf import OmegaConf

FILE = Path(__file__).parents[1] / "configs" / "engine" / "options" / "rocksdb.yaml"


def test_file_equals_the_class() -> None:
    """The file is the template of the class, so no option is missing or obsolete."""
    assert options_template() == FILE.read_text(encoding="utf-8")


def test_unchanged_file_overrides_nothing() -> None:
    """Every value in the file is null: resolving it equals resolving no override."""
    version = Version(7, 8)
    loaded = OmegaConf.to_container(OmegaConf.load(FILE))
    assert isinstance(loaded, dict)
    overrides = {str(name): value for name, value in loaded.items()}
    assert resolve_options(version, "library", {}) == resolve_options(version, "library", overrides)
