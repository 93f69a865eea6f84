"""RocksDB's options: names, defaults by version, sanitising, and the text formats that contain them.

- options: the options in force in a store, from version, preset and overrides; fields: the options as dataclasses.
- defaults: defaults by version; values: typed values from text; sanitise: RocksDB's changes when it opens a store.
- compact_range: options of a manual compaction.
- not_simulated: options without effect here, with their defaults and the reason; ignored: those of a store that matter.
- options_file: options of real stores; options_text: OPTIONS files and LOG headers; host_text: option strings and files of host
  programs; sections: their parts about one database; code_text: program code; presets: options that these set together;
  options_writer: OPTIONS files with changed options.
"""
