"""Access probabilities of blocks, from the popularity of single keys."""

from __future__ import annotations

from typing import Final

import numpy as np
from lsmlab.models.workloads.choosers import Popularity
from lsmlab.models.workloads.hashes import splitmix_64
from lsmlab.models.workloads.ranks import RankLaw
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_CLASSES: Final = 256  # classes of a condensed popularity: more than 100 change hit rates by less than 0.1 %
_BINS: Final = 1 << 17  # maximum of single blocks; more blocks are sampled
_HEADS: Final = 1 << 13  # ranks with a block each among sampled blocks: so few of 2^17 blocks that few would share one
_PER_BIN: Final = 4  # rank groups per bin; the mass of deeper ranks is even to within 1 / sqrt(4 · 2^17)


def scattered_blocks(law: RankLaw, n: int, keys_per_block: float, values: int | None = None) -> Popularity:
    """Popularity of blocks of n keys with random ranks; `values`: number of values of the law, if different from n.

    Each rank is in a random block. More than 2^17 blocks are sampled as keys are: the first ranks have a block each; of
    the others, adjacent ranks form groups of as many ranks as a sampled block represents blocks.
    """
    blocks = max(1.0, n / keys_per_block)
    bins = max(1, min(_BINS, round(blocks)))
    per_bin = blocks / bins
    items = law.items(values or n)
    heads = 0 if per_bin <= 1.0 else min(_HEADS, items, int(blocks))
    step = max(1.0, per_bin)
    groups = min(_PER_BIN * bins, int((items - heads) / step) + 1)
    edges: FloatArray = heads + np.arange(groups + 1, dtype=np.float64) * step
    mass = np.diff(law.cdf(edges, values or n))
    placed = np.bincount((splitmix_64(np.arange(groups)) % np.uint64(bins)).astype(np.int64), mass, bins)
    head_mass = np.diff(law.cdf(np.arange(heads + 1, dtype=np.float64), values or n))
    rest = max(0.0, 1.0 - float(mass.sum()) - float(head_mass.sum()))
    return condense(
        np.concatenate((head_mass + (rest + mass.sum()) / blocks, placed / per_bin + rest / blocks)),
        np.concatenate((np.ones(heads), np.full(bins, (blocks - heads) / bins))),
    )


def adjacent_blocks(law: RankLaw, n: int, keys_per_block: float) -> Popularity:
    """Popularity of blocks of adjacent ranks: the first blocks singly, then in classes whose size grows by 1 %."""
    blocks = max(1.0, n / keys_per_block)
    singles = np.arange(min(4096.0, blocks), dtype=np.float64)
    edges = np.concatenate((singles, [blocks]))
    if blocks > 4096:
        steps = int(np.log(blocks / 4096) / np.log(1.01)) + 2
        edges = np.unique(np.concatenate((singles, np.geomspace(4096, blocks, steps))))
    counts: FloatArray = np.diff(edges).astype(np.float64)
    chance = law.cdf(np.minimum(edges * keys_per_block, n), n)
    last = np.diff(chance)
    last[-1] += 1.0 - chance[-1] + chance[0]
    return condense(last / counts, counts)


def condense(probability: FloatArray, blocks: FloatArray) -> Popularity:
    """Merge classes of similar probability; accesses and blocks are conserved."""
    if len(probability) <= _CLASSES:
        return Popularity(probability, blocks)
    log = np.log(np.maximum(probability, 1e-300))
    low, high = float(log.min()), float(log.max())
    place = np.minimum(((log - low) / max(high - low, 1e-12) * _CLASSES).astype(np.int64), _CLASSES - 1)
    merged, mass = np.zeros(_CLASSES), np.zeros(_CLASSES)
    np.add.at(merged, place, blocks)
    np.add.at(mass, place, probability * blocks)
    keep = merged > 0
    return Popularity(mass[keep] / merged[keep], merged[keep])
