"""Values of a column in Parquet's encodings: the bytes that follow the definition levels of a page.

Source: the Apache Parquet format, "Encodings". numpy alone packs the numbers, so bit widths are 1, 4, 8, 16 and 32.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ptttool.parquet import thrift

Array: TypeAlias = NDArray[Any]
Mask: TypeAlias = NDArray[np.bool_]

PLAIN, RLE, DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY, RLE_DICTIONARY = 0, 3, 5, 6, 8
_DELTAS_IN_BLOCK, _DELTAS_IN_MINIBLOCK = 128, 32
_MINIBLOCKS = _DELTAS_IN_BLOCK // _DELTAS_IN_MINIBLOCK
_DELTA_WIDTHS = (0, 4, 8, 16, 32)
# Runs of adjacent strings are copied as one if they hold this many strings on average.
_LONG_RUN = 32


def indexes(numbers: Array, largest: int) -> bytes:
    """Encode indexes of a dictionary (RLE_DICTIONARY): the bit width, then one run.

    Parameters
    ----------
    numbers : ndarray of uint8 or uint16
        The indexes.
    largest : int
        Upper bound of the indexes; the bit width follows from it.
    """
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
    """Pack booleans, one bit each, the first lowest: PLAIN booleans, definition levels, indexes of one bit."""
    return np.packbits(flags, bitorder="little").tobytes()


def _halves(numbers: Array, count: int) -> Array:
    """Pack numbers below 16, two a byte, the first lowest, padded with zeros to `count`, which is even."""
    padded = np.zeros(count, dtype=np.uint8)
    padded[: len(numbers)] = numbers
    packed: Array = padded[::2] | padded[1::2] << 4
    return packed


def even_deltas(numbers: range) -> bytes:
    """Encode evenly spaced numbers (DELTA_BINARY_PACKED): every delta is the smallest one, so blocks hold no bits beyond it."""
    blocks = -(-(len(numbers) - 1) // _DELTAS_IN_BLOCK)
    # The format counts in signed 64-bit numbers.
    first = numbers[0] - (1 << 64) if numbers[0] >> 63 else numbers[0]
    return _delta_head(len(numbers), first) + (thrift.zigzag(numbers.step) + bytes(_MINIBLOCKS)) * blocks


def deltas(numbers: Array, widest: int) -> bytes | None:
    """Encode numbers as differences of one width (DELTA_BINARY_PACKED).

    Parameters
    ----------
    numbers : ndarray of 32-bit or 64-bit integers
        At least one number.
    widest : int
        Greatest width of a difference in bits, at most 32.

    Returns
    -------
    bytes or None
        None if the differences need more bits than `widest`.
    """
    signed = numbers.view(f"<i{numbers.itemsize}")
    differences = np.diff(signed)  # modulo the width of the numbers, like the sums that readers compute
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
    # Miniblocks of the last block that hold no delta have no bytes.
    unneeded = (blocks * _DELTAS_IN_BLOCK - count) // _DELTAS_IN_MINIBLOCK
    if unneeded:
        packed[-1, len(head) - unneeded : len(head)] = 0
    whole = packed.tobytes()
    return _delta_head(len(numbers), int(signed[0])) + whole[: len(whole) - unneeded * _DELTAS_IN_MINIBLOCK * width // 8]


def _delta_head(count: int, first: int) -> bytes:
    return thrift.varint(_DELTAS_IN_BLOCK) + thrift.varint(_MINIBLOCKS) + thrift.varint(count) + thrift.zigzag(first)


def strings(data: Array, start: Array, length: Array) -> bytes:
    """Encode byte strings (DELTA_LENGTH_BYTE_ARRAY), at least one.

    Parameters
    ----------
    data : ndarray of uint8
        The bytes of all strings.
    start, length : ndarray of int64, shape (n,)
        String i is ``data[start[i] : start[i] + length[i]]``; each is shorter than 2 GiB.
    """
    lengths = deltas(length.astype("<i4"), 32)
    assert lengths is not None
    # Strings that do not start where the previous one ends.
    edges = np.flatnonzero(start[1:] != start[:-1] + length[:-1]) + 1
    if len(edges) * _LONG_RUN < len(start):
        first, last = np.append(0, edges), np.append(edges, len(start)) - 1
        pieces = zip(start[first].tolist(), (start[last] + length[last]).tolist(), strict=True)
        return lengths + b"".join(data[begin:end].tobytes() for begin, end in pieces)
    ends = np.cumsum(length)
    positions = np.arange(int(ends[-1]))
    positions += np.repeat(start - (ends - length), length)
    return lengths + data[positions].tobytes()
