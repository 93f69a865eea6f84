"""Memory of the databases, without the page cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lsmlab.models.tree.sst import bloom_filter_bytes
from lsmlab.sim.store.column_family import ColumnFamily

if TYPE_CHECKING:
    from lsmlab.sim.setup import Setup


def memory_summary(setup: Setup, families: Sequence[ColumnFamily]) -> dict[str, Any]:
    """Return bytes by use at the end of the run.

    RocksDB keeps the filters and index blocks of open files in memory; by default all files stay open.
    """
    filters = tails = metadata = 0.0
    for family in families:
        setup_of = next(one for one in setup.families if one.name == family.name)
        opened = {table_format: table_format.opened(family.latest_options.reads_filters) for table_format in family.table_formats}
        tail_bytes = {table_format: setup_of.entry_in(one).tail for table_format, one in opened.items()}
        files = list(family.tree.files())
        open_share = min(1.0, setup.engine.table_reads.open_tables / max(1, len(files)))
        for file in files:
            table_format = opened[file.table_format]
            filter_bytes = bloom_filter_bytes(file.entries, table_format.bloom_bits, format_version=table_format.format_version)
            filters += open_share * filter_bytes
            tails += open_share * file.entries * tail_bytes[file.table_format]
        metadata += family.latest_options.picker.metadata_bytes(family.tree)
    parts = {
        "memtable_bytes": sum(s.options.max_write_buffer_number * s.options.write_buffer_size for s in families),
        "block_cache_bytes": setup.engine.options.cache_size,
        "filter_bytes": round(filters),
        "index_bytes": max(0, round(tails - filters)),
        "metadata_bytes": round(metadata),
    }
    return {**parts, "total_bytes": sum(parts.values())}
