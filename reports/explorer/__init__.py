"""Explorer of a run: one time line shared by the tree, the jobs, the stalls and the curves.

- Binary form of columns in a page: packing.
- Data of the explorer: data. Its parts: tree (files over time), jobs (with their rows of the chart), stalls.
- Words: words (reasons of compactions, marks of an engine's tree). HTML, and the script from the modules of `web`: section.
"""
