"""The TLPs that say when something happens to a command of a drive.

This is plain Python. With the C types of ``events.pxd`` it is compiled at install; without a compiler it runs as it is, and finds the
same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

ROLES = READ, WRITE, COMPLETION = range(1, 4)
"""What a kind of TLP does: a read, a write, a completion with data. Others are 0."""

EVENTS = (
    BREAK, FETCH, RECORD, SMALL_READ, SMALL_WRITE, DATA_READ, DATA_WRITE, DATA_READ_END, DATA_WRITE_END, ANSWER, SMALL_ANSWER,
) = range(1, 12)  # fmt: skip
"""What happened:

- time or records are missing in front of a row;
- a read of entries of 64 bytes, and a write of entries of 16 bytes;
- a read and a write of 4 bytes;
- the first of the reads, or writes, of anything else between two other events of a requester, with the bytes of all; and the last one,
  if they are several, which stands where the second one was;
- completions of 64 and of 4 bytes, for reads as long as that; the address is their Lower Address.
"""

BLOCK_BITS = 19
"""So many bits of a row's number do not say which block it is in."""
WHAT_BITS, REQUESTER_BITS = 4, 16
WHAT, ADDRESS, AT, INDEX = range(4)
"""Columns of an event. The first one holds what it is, the requester, and above them slots or bytes."""
SIZE_BIT = WHAT_BITS + REQUESTER_BITS

_READ, _WRITE = READ, WRITE
_BREAK, _FETCH, _RECORD, _SMALL_READ, _SMALL_WRITE, _DATA_READ, _DATA_WRITE, _READ_END, _WRITE_END, _ANSWER, _SMALL_ANSWER = EVENTS
_WHAT, _ADDRESS, _AT, _INDEX = WHAT, ADDRESS, AT, INDEX
_BLOCK_BITS, _REQUESTER_BIT, _SIZE_BIT = BLOCK_BITS, WHAT_BITS, SIZE_BIT
_ENTRY, _SLOT, _WORD, _SECTOR = 64, 16, 4, 512
# Of the data of a requester: the stretch that they belong to, and one more than the rows of the first and of the last one.
_STRETCH, _FIRST, _LAST = range(3)


def collect(
    roles: Any, kinds: Any, valid: Any, requesters: Any, addresses: Any, lengths: Any, counts: Any, lower: Any, index: Any, at: Any,
    segments: Any, found: Any, ends: Any,
) -> int:  # fmt: skip
    """Collect the events of rows; return how many there are.

    Data between two other events of a requester are one event, or two, but not those of two segments or blocks.

    Parameters
    ----------
    roles : uint8, shape (256,)
        By kind of TLP: :data:`ROLES`.
    kinds, requesters, addresses, lengths, counts, lower, index : shape (n,)
        Kind, Requester ID, address, length in DWs, Byte Count, Lower Address and number of each row.
    valid : uint8, shape (n,) or (0,)
        Which rows have a requester; empty for all.
    at : int64, shape (n,) or (0,)
        Ticks of each row; empty where time is not known.
    segments : int64, shape (n,) or (1,)
        The segment of each row, or of all.
    found : int64, shape (2 * n, 4)
        Room for the events.
    ends : int64, shape (2,)
        Room for the segments of the first and of the last event.
    """
    used, stretch, last_segment, last_block = 0, 0, -1, -1
    room: Any = np.zeros((2 << 16, 3), dtype=np.int64)
    data = memoryview(room)
    for row in range(len(kinds)):
        role = roles[kinds[row]]
        if not role or (len(valid) and not valid[row]):
            continue
        address, size = addresses[row], 4 * lengths[row]
        low = size | address
        if role == _READ:
            if size == _WORD:
                what = _SMALL_READ
            elif size < _SECTOR and low % _ENTRY == 0:
                what, size = _FETCH, size // _ENTRY
            else:
                what = _DATA_READ
        elif role == _WRITE:
            if size == _WORD:
                what = _SMALL_WRITE
            elif size <= _ENTRY and low % _SLOT == 0:
                what, size = _RECORD, size // _SLOT
            else:
                what = _DATA_WRITE
        elif counts[row] == size and size in (_ENTRY, _WORD):
            what, address = _ANSWER if size == _ENTRY else _SMALL_ANSWER, lower[row]
        else:
            continue
        number, segment = index[row], segments[row if len(segments) > 1 else 0]
        if not used:
            ends[0] = segment
        elif segment != last_segment:
            found[used, _WHAT], found[used, _ADDRESS], found[used, _AT], found[used, _INDEX] = _BREAK, 0, 0, number
            used += 1
        if segment != last_segment or number >> _BLOCK_BITS != last_block:
            stretch += 1
            last_segment, last_block = segment, number >> _BLOCK_BITS
        requester = requesters[row]
        of = 2 * requester
        if what in (_DATA_READ, _DATA_WRITE):
            of += what == _DATA_WRITE
            if data[of, _STRETCH] == stretch:
                found[data[of, _FIRST], _WHAT] += size << _SIZE_BIT
                if data[of, _LAST] == data[of, _FIRST]:
                    data[of, _LAST] = used
                    found[used, _WHAT] = (_READ_END if what == _DATA_READ else _WRITE_END) | requester << _REQUESTER_BIT
                    used += 1
                end = data[of, _LAST]
                found[end, _ADDRESS], found[end, _AT], found[end, _INDEX] = address, at[row] if len(at) else 0, number
                continue
            data[of, _STRETCH], data[of, _FIRST], data[of, _LAST] = stretch, used, used
        else:
            data[of, _STRETCH] = data[of + 1, _STRETCH] = 0
        found[used, _WHAT] = what | requester << _REQUESTER_BIT | size << _SIZE_BIT
        found[used, _ADDRESS], found[used, _AT], found[used, _INDEX] = address, at[row] if len(at) else 0, number
        used += 1
    ends[1] = last_segment
    return used
