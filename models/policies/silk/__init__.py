"""SILK's schedulers. scheduler: by the paper; released: by the released code."""
