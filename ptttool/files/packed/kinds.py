"""Which program has packed a file, by its first bytes. Imports nothing: every recording is looked at."""

from __future__ import annotations

from typing import BinaryIO

_KINDS = {b"\xfd7zXZ\0": "xz", b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2"}
LONGEST_MAGIC = max(map(len, _KINDS))
SUFFIXES = (".xz", ".gz", ".zst", ".bz2")
"""What these programs add to the names of files."""


def kind_of(head: bytes) -> str | None:
    """Return what has packed a file: ``xz``, ``gzip``, ``zstd`` or ``bzip2``; None for a file that is not packed."""
    return next((kind for magic, kind in _KINDS.items() if head.startswith(magic)), None)


def first_bytes(file: BinaryIO, count: int) -> bytes:
    """Return the first bytes of a file, of a packed one those of what is in it; fewer where there are no more."""
    head = file.read(max(count, LONGEST_MAGIC))
    kind = kind_of(head)
    if kind is None:
        return head[:count]
    from ptttool.files.packed import unpack

    return unpack.first_bytes(file, kind, count)
