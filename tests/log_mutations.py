"""Kinds of damage to LOG files, for tests of their readers. Seeded: the same seed gives the same damage."""

from __future__ import annotations

import random
from collections.abc import Callable


def truncate(raw: bytes, rng: random.Random) -> bytes:
    """Cut off the end."""
    return raw[: rng.randrange(len(raw))]


def behead(raw: bytes, rng: random.Random) -> bytes:
    """Cut off the beginning."""
    return raw[rng.randrange(len(raw)) :]


def flip_bits(raw: bytes, rng: random.Random) -> bytes:
    """Flip single bits."""
    result = bytearray(raw)
    for _ in range(rng.choice((1, 1, 1, 3, 20))):
        result[rng.randrange(len(result))] ^= 1 << rng.randrange(8)
    return bytes(result)


def wrong_digits(raw: bytes, rng: random.Random) -> bytes:
    """Replace some digits by others: the LOG still parses, with wrong values."""
    result = bytearray(raw)
    digits = [i for i, byte in enumerate(raw) if 48 <= byte <= 57]
    for _ in range(rng.choice((1, 1, 1, 5))):
        result[rng.choice(digits)] = rng.choice(b"0123456789")
    return bytes(result)


def drop_lines(raw: bytes, rng: random.Random) -> bytes:
    """Delete some lines."""
    lines = raw.split(b"\n")
    for _ in range(rng.choice((1, 1, 1, 3, 20))):
        del lines[rng.randrange(len(lines))]
    return b"\n".join(lines)


def drop_chunk(raw: bytes, rng: random.Random) -> bytes:
    """Delete a chunk of bytes, regardless of line boundaries."""
    start, length = rng.randrange(len(raw)), rng.choice((200, 2_000, 20_000))
    return raw[:start] + raw[start + length :]


def repeat_chunk(raw: bytes, rng: random.Random) -> bytes:
    """Repeat some lines."""
    lines = raw.split(b"\n")
    start = rng.randrange(len(lines))
    chunk = lines[start : start + rng.choice((1, 5, 50, 500))]
    return b"\n".join([*lines[: start + len(chunk)], *chunk, *lines[start + len(chunk) :]])


def repeat_all(raw: bytes, rng: random.Random) -> bytes:
    """Repeat the whole LOG."""
    return raw + raw


def swap_chunks(raw: bytes, rng: random.Random) -> bytes:
    """Swap two chunks of lines."""
    lines = raw.split(b"\n")
    a, b, c = sorted(rng.sample(range(len(lines)), 3))
    return b"\n".join([*lines[:a], *lines[b:c], *lines[a:b], *lines[c:]])


def lose_breaks(raw: bytes, rng: random.Random) -> bytes:
    """Delete some line breaks."""
    places = [i for i, byte in enumerate(raw) if byte == 10]
    gone = set(rng.sample(places, min(len(places), rng.choice((1, 5, 50)))))
    return bytes(byte for i, byte in enumerate(raw) if i not in gone)


def more_breaks(raw: bytes, rng: random.Random) -> bytes:
    """Insert line breaks inside lines."""
    result = bytearray(raw)
    for _ in range(rng.choice((1, 5, 50))):
        result.insert(rng.randrange(len(result)), rng.choice(b"\n\r"))
    return bytes(result)


def zeros(raw: bytes, rng: random.Random) -> bytes:
    """Overwrite a block with zeros, as after a crash."""
    start, length = rng.randrange(len(raw)), rng.choice((1, 64, 4096))
    return raw[:start] + bytes(length) + raw[start + length :]


def garbage(raw: bytes, rng: random.Random) -> bytes:
    """Insert random bytes."""
    start = rng.randrange(len(raw))
    return raw[:start] + rng.randbytes(rng.choice((1, 50, 3000))) + raw[start:]


def encode_utf16(raw: bytes, rng: random.Random) -> bytes:
    """Encode as a Windows editor or shell does."""
    return raw.decode("latin-1").encode(rng.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-8-sig")))


def carriage_returns(raw: bytes, rng: random.Random) -> bytes:
    """Use Windows line ends."""
    return raw.replace(b"\n", b"\r\n")


def cut_long_lines(raw: bytes, rng: random.Random) -> bytes:
    """Truncate long lines, as a logger with a short buffer does; below 240 bytes no event is left, and the file is refused."""
    limit = rng.choice((240, 300, 512))
    return b"\n".join(line[:limit] for line in raw.split(b"\n"))


MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    truncate, behead, flip_bits, wrong_digits, drop_lines, drop_chunk, repeat_chunk, repeat_all, swap_chunks, lose_breaks,
    more_breaks, zeros, garbage, encode_utf16, carriage_returns, cut_long_lines,
)  # fmt: skip


def mutated(raw: bytes, seed: int) -> bytes:
    """Damage a LOG in one or two ways."""
    rng = random.Random(seed)
    for _ in range(rng.choice((1, 1, 1, 2))):
        raw = MUTATIONS[seed % len(MUTATIONS)](raw, rng) if raw else raw
        seed = rng.randrange(1 << 30)
    return raw
