"""Course of eight lessons: `lsmlab course`, and the functions that lessons call.

- source: reads a lesson's file; building: runs it; site, notebooks: what `make course` writes; markup: Markdown to HTML.
- classroom: predict, reveal, explain; pictures: figures of lessons; guesses: predictions and their drawings.
- exercises: tasks with a student's own parameters; answers: files of students; grading: the key; verb: the command.
- expressions: values in texts and keys; textbook: formulas of RocksDB's documentation; real: the same store in RocksDB.
"""
