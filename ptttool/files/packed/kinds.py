"""Which program has packed a file, by its first bytes. Imports nothing: every recording is looked at."""

from __future__ import annotations

_KINDS = {b"\xfd7zXZ\0": "xz", b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2"}
LONGEST_MAGIC = max(map(len, _KINDS))
SUFFIXES = (".xz", ".gz", ".zst", ".bz2")
"""What these programs add to the names of files."""


def kind_of(head: bytes) -> str | None:
    """Return what has packed a file: ``xz``, ``gzip``, ``zstd`` or ``bzip2``; None for a file that is not packed."""
    return next((kind for magic, kind in _KINDS.items() if head.startswith(magic)), None)
