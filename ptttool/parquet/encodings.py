"""Values of a column as Parquet encodes them: the bytes of a page behind its definition levels.

Source: the Apache Parquet format, "Encodings". Numbers are packed by numpy alone, so widths are those that it has: 1, 4, 8, 16, 32 bits.
"""

from __future__ import annotations

import numpy as np

from ptttool.parquet import thrift
from ptttool.table.block import Array

PLAIN, RLE, DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY, RLE_DICTIONARY = 0, 3, 5, 6, 8
_DELTAS_IN_BLOCK, _DELTAS_IN_MINIBLOCK = 128, 32
_MINIBLOCKS = _DELTAS_IN_BLOCK // _DELTAS_IN_MINIBLOCK
_DELTA_WIDTHS = (0, 4, 8, 16, 32)
# Strings that follow one another in memory, so many of them on average, are copied as one.
_LONG_RUN = 32


def indexes(numbers: Array, largest: int) -> bytes:
    """Indexes of a dictionary (RLE_DICTIONARY), unsigned numbers of 8 or 16 bits: the bit width, then runs (here always one)."""
    count = len(numbers)
    if largest == 0:
        return b"\x01" + thrift.varint(count << 1) + b"\0"
    groups = -(-count // 8)
    head = thrift.varint(groups << 1 | 1)
    if largest == 1:
        return b"\x01" + head + bits(numbers)
    if largest < 16:
        return b"\x04" + head + _halves(numbers, 8 * groups).tobytes()
    width = 8 * numbers.itemsize
    return bytes([width]) + head + numbers.tobytes() + bytes((8 * groups - count) * numbers.itemsize)


def bits(flags: Array) -> bytes:
    """Truth values, a bit each, the first lowest: PLAIN of booleans, definition levels, indexes of one bit."""
    return np.packbits(flags, bitorder="little").tobytes()


def _halves(numbers: Array, count: int) -> Array:
    """Numbers below 16, two a byte, the first lowest; zeros up to ``count``, which is even."""
    padded = np.zeros(count, dtype=np.uint8)
    padded[: len(numbers)] = numbers
    packed: Array = padded[::2] | padded[1::2] << 4
    return packed


def even_deltas(numbers: range) -> bytes:
    """Evenly spaced numbers (DELTA_BINARY_PACKED): every delta is the smallest one, so no block has bits beyond it."""
    blocks = -(-(len(numbers) - 1) // _DELTAS_IN_BLOCK)
    # As 64-bit numbers with a sign, which is how the format counts.
    first = numbers[0] - (1 << 64) if numbers[0] >> 63 else numbers[0]
    return _delta_head(len(numbers), first) + (thrift.zigzag(numbers.step) + bytes(_MINIBLOCKS)) * blocks


def deltas(numbers: Array, widest: int) -> bytes | None:
    """Numbers (DELTA_BINARY_PACKED), at least one, of 32 or 64 bits, as differences of one width.

    None where these span more than ``widest`` bits, which is 32 at most.
    """
    signed = numbers.view(f"<i{numbers.itemsize}")
    differences = np.diff(signed)  # modulo the width of numbers, as readers add them up
    count = len(differences)
    least, most = (int(differences.min()), int(differences.max())) if count else (0, 0)
    spread = most - least
    if spread >> widest:
        return None
    width = next(width for width in _DELTA_WIDTHS if not spread >> width)
    blocks = -(-count // _DELTAS_IN_BLOCK)
    head = thrift.zigzag(least) + bytes([width]) * _MINIBLOCKS
    packed = np.empty((blocks, len(head) + _DELTAS_IN_BLOCK * width // 8), dtype=np.uint8)
    packed[:, : len(head)] = np.frombuffer(head, dtype=np.uint8)
    if width:
        differences -= differences.dtype.type(least)
        if width == 4:
            body = _halves(differences, blocks * _DELTAS_IN_BLOCK)
        else:
            body = np.zeros(blocks * _DELTAS_IN_BLOCK, dtype=f"<u{width // 8}")
            body[:count] = differences
        packed[:, len(head) :] = body.view(np.uint8).reshape(blocks, _DELTAS_IN_BLOCK * width // 8)
    # Of the last block, miniblocks without a delta have no bytes.
    unneeded = (blocks * _DELTAS_IN_BLOCK - count) // _DELTAS_IN_MINIBLOCK
    if unneeded:
        packed[-1, len(head) - unneeded : len(head)] = 0
    whole = packed.tobytes()
    return _delta_head(len(numbers), int(signed[0])) + whole[: len(whole) - unneeded * _DELTAS_IN_MINIBLOCK * width // 8]


def _delta_head(count: int, first: int) -> bytes:
    return thrift.varint(_DELTAS_IN_BLOCK) + thrift.varint(_MINIBLOCKS) + thrift.varint(count) + thrift.zigzag(first)


def strings(data: Array, start: Array, length: Array) -> bytes:
    """Byte strings (DELTA_LENGTH_BYTE_ARRAY), at least one: string i is ``data[start[i] : start[i] + length[i]]``, each below 2 GiB."""
    lengths = deltas(length.astype("<i4"), 32)
    assert lengths is not None
    # Where one does not begin where the one before ends.
    edges = np.flatnonzero(start[1:] != start[:-1] + length[:-1]) + 1
    if len(edges) * _LONG_RUN < len(start):
        first, last = np.append(0, edges), np.append(edges, len(start)) - 1
        pieces = zip(start[first].tolist(), (start[last] + length[last]).tolist(), strict=True)
        return lengths + b"".join(data[begin:end].tobytes() for begin, end in pieces)
    ends = np.cumsum(length)
    places = np.arange(int(ends[-1]))
    places += np.repeat(start - (ends - length), length)
    return lengths + data[places].tobytes()
