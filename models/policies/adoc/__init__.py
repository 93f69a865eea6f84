"""ADOC's tuners of threads and batch size. tuner: by the paper; released: by the released code."""
