"""LSM-tree of a shard: levels, SST files, keys, the k-way merge of a job, and the bytes of blocks and memtables.

- tree: L0, the levels and version edits; level: a sorted run of disjoint files; files: SST files, and slices of them.
- keys: key codes, of all keys or of a sample; key_order: places of key numbers in the key order.
- merge: the k-way merge; content: files of the right size from the keys that a job writes.
- versions: versions of a key that snapshots see; ranges: range tombstones; ages and expiry: age of data, and entries dropped by
  it; deletion_density: files marked for their tombstones.
- blobs: blob files and their garbage; values_apart: which values are in blob files, and what stays in the SST files.
- blocks: packing of entries into data blocks; sst: index, filter and whole files; table_format: what a file keeps of the
  options with which it was written; memtable: capacity of a memtable; memtable_history: flushed memtables that stay in memory.
"""
