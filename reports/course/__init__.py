"""Course of eight lessons: `lsmlab course`, and the functions that lessons call.

- source: reads a lesson's file; notebooks: its notebook, for students and run for its page; site: what `make course` writes,
  with the templates of the folder template.
- classroom: predict, reveal, explain; pictures, spans: figures of lessons; guesses: predictions and their drawings.
- exercises: tasks with a student's own parameters; answers: files of students; grading: the key.
- expressions: values in texts and keys; textbook: formulas of RocksDB's documentation.
- real: the same store in RocksDB; stores: these stores.
"""
