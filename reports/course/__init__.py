"""Course of nine lessons: `lsmlab course`, and the functions that lessons call.

- notebooks: a lesson's file, its notebook for students, and the one that is run for its page; site: what `make course`
  writes, with the templates of the folder template.
- references: footnotes of lessons, and links to the terms of glossary.yaml.
- classroom: predict, reveal, explain, and drawings of predictions; pictures, spans: figures of lessons.
- exercises: tasks with a student's own parameters; grading: files of students, and the key.
- expressions: values in texts and keys; textbook: formulas of RocksDB's documentation.
- real: the same store in RocksDB; these stores are in stores.yaml.
"""
