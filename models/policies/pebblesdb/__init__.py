"""PebblesDB.

- picker: appends to the guards of the next level.
- guards: keys that divide levels.
- fixed_size: cutter by target size.
- clients: write path of the released code.
"""
