"""Deletion of obsolete files by the job that ends last."""

from __future__ import annotations

from lsmlab.sim.store.purge import Obsolete, Purge


def test_the_last_job_deletes_obsolete_files() -> None:
    """A flush that began before a compaction's commit keeps the compaction's inputs and deletes them at its end."""
    purge = Purge()
    purge.begin(1)  # a compaction
    purge.begin(2)  # a flush beside it
    purge.retire(Obsolete(7, 100.0))
    assert purge.end(1) == Obsolete(0, 0.0)
    purge.begin(3)  # began after the commit and never used the files
    assert purge.end(2) == Obsolete(7, 100.0)
    assert purge.end(3) == Obsolete(0, 0.0)


def test_a_lone_compaction_deletes_its_own_inputs() -> None:
    """A job without concurrent jobs deletes its own obsolete files."""
    purge = Purge()
    purge.begin(1)
    purge.retire(Obsolete(3, 0.0))
    assert purge.end(1) == Obsolete(3, 0.0)
