"""How many TLPs there are by requester and kind.

This is plain Python. With the C types of ``kinds.pxd`` it is compiled at install; without a compiler it runs as it is, and finds the same.
"""

from __future__ import annotations

from typing import Any


def count_kinds(bits: int, kinds: Any, valid: Any, requesters: Any, lengths: Any, sums: Any, keys: Any) -> int:
    """Count TLPs by requester and kind; return how many different ones there are.

    Parameters
    ----------
    bits : int
        Bits of a kind.
    kinds : uint8
        Kinds, shape (n,).
    valid : uint8
        Which TLPs have a requester; empty if all have one.
    requesters, lengths : uint16
        Requester IDs and Length fields; empty if there are none.
    sums : int64, shape (m, 2)
        By key: TLPs, and the sum of their lengths; zeros. A key is the kind, and above it from bit `bits` on 1 and the requester.
    keys : int64, shape (n,)
        The keys that occur, as they turn up.

    Raises
    ------
    IndexError
        There is no row for a key, or the shapes differ.
    """
    used = 0
    for row in range(len(kinds)):
        key = kinds[row]
        if len(requesters) and (not len(valid) or valid[row]):
            key |= requesters[row] + 1 << bits
        if not sums[key, 0]:
            keys[used] = key
            used += 1
        sums[key, 0] += 1
        if len(lengths):
            sums[key, 1] += lengths[row]
    return used
