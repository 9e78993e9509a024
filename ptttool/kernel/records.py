"""Where the records of a perf.data file begin.

This is plain Python. With the C types of ``records.pxd`` it is compiled at install; without a compiler it runs as it is, and finds the
same.
"""

from __future__ import annotations

from typing import Any


def find_records(data: Any, start: int, last: int, found: Any) -> int:
    """Find records, one behind the other; return how many were found.

    It ends where no whole record is at hand, behind a record of the kind `last`, and where the table is full.

    Parameters
    ----------
    data : uint8
        Records: 4 bytes of kind, 2 of flags, 2 of size, little-endian, and the body.
    start : int
        Where the first one begins.
    last : int
        Kind of records behind which something else than a record comes.
    found : int64, shape (n, 3)
        By record: where it begins, its kind, its size.
    """
    size, used, at = len(data), 0, start
    while used < len(found) and at + 8 <= size:
        kind = data[at + 3]
        kind = 256 * kind + data[at + 2]
        kind = 256 * kind + data[at + 1]
        kind = 256 * kind + data[at]
        length = data[at + 6] + 256 * data[at + 7]
        if length < 8 or at + length > size:
            break
        found[used, 0] = at
        found[used, 1] = kind
        found[used, 2] = length
        used += 1
        at += length
        if kind == last:
            break
    return used
