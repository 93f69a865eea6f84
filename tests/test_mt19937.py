"""std::mt19937_64 and db_bench's key sequences."""

from __future__ import annotations

import numpy as np
from lsmlab.models.workloads.mt19937 import FillRandomKeys, Mt19937x64


def test_standard_check_value() -> None:
    """The 10000th output of a default-seeded generator is the value that the C++ standard requires."""
    assert Mt19937x64().take(10_000)[-1] == 9981545732273789042


def test_first_outputs_of_the_default_seed() -> None:
    """The first outputs are those of the reference implementation (init_genrand64(5489))."""
    expected = [14514284786278117030, 4620546740167642908, 13109570281517897720]
    assert Mt19937x64(5489).take(3).tolist() == expected


def test_pieces_join_to_one_sequence() -> None:
    """Taking in pieces of any size gives the same numbers as taking all at once, also across block borders."""
    whole = Mt19937x64(7).take(25_000)
    generator = Mt19937x64(7)
    pieces = [generator.take(n) for n in (0, 1, 311, 312, 313, 19_968, 4_095)]
    assert np.concatenate(pieces).tolist() == whole.tolist()


def test_seed_is_taken_modulo_64_bits() -> None:
    """A negative seed is converted as a cast to uint64_t does."""
    assert Mt19937x64(-1).take(5).tolist() == Mt19937x64(2**64 - 1).take(5).tolist()


def test_fillrandom_takes_every_second_number() -> None:
    """Keys are every second output of the generator seeded with seed + thread, modulo the key space."""
    raw = Mt19937x64(42 + 3).take(20)
    assert FillRandomKeys(42, 3, 1000).take(10).tolist() == [int(x) % 1000 for x in raw[1::2]]


def test_fillrandom_continues() -> None:
    """A writer's keys do not depend on the number of keys per call."""
    keys = FillRandomKeys(1, 1, 10**6)
    assert [*keys.take(3).tolist(), *keys.take(7).tolist()] == FillRandomKeys(1, 1, 10**6).take(10).tolist()
