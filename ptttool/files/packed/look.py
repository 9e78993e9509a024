"""Look at the beginning of a file, packed or not."""

from __future__ import annotations

from typing import BinaryIO

from ptttool.files.packed.kinds import LONGEST_MAGIC, kind_of


def first_bytes(file: BinaryIO, count: int) -> bytes:
    """Return the first bytes of a file, of a packed one those of what is in it; fewer where there are no more."""
    head = file.read(max(count, LONGEST_MAGIC))
    kind = kind_of(head)
    if kind is None:
        return head[:count]
    from ptttool.files.packed import unpack

    return unpack.first_bytes(file, kind, count)
