"""Who deletes obsolete files."""

from __future__ import annotations

from lsmlab.sim.store.purge import Obsolete, Purge


def test_the_last_holder_deletes() -> None:
    """A merge's inputs stay while a flush runs that began before its commit; the flush deletes them."""
    purge = Purge()
    purge.begin(1)  # a merge
    purge.begin(2)  # a flush beside it
    purge.retire(Obsolete(7, 100.0))
    assert purge.end(1) == Obsolete(0, 0.0)
    purge.begin(3)  # began after the commit: never saw the files
    assert purge.end(2) == Obsolete(7, 100.0)
    assert purge.end(3) == Obsolete(0, 0.0)


def test_alone_a_merge_deletes_its_own_inputs() -> None:
    """With nothing beside it a job cleans up after itself."""
    purge = Purge()
    purge.begin(1)
    purge.retire(Obsolete(3, 0.0))
    assert purge.end(1) == Obsolete(3, 0.0)
