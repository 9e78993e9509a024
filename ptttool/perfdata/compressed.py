"""Decompresses what ``perf record -z`` wraps: one zstd stream runs through all COMPRESSED records, with records of the kernel inside.

A record inside may begin in one COMPRESSED record and end in the next. Sources: ``tools/perf/util/session.c`` (decompression),
``tools/perf/builtin-record.c`` (zstd_compress) of the Linux sources.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from ptttool.errors import MissingPackageError
from ptttool.perfdata.budget import MAX_WINDOW, Expansion

# A zstd block holds at most 128 KiB and needs at least 4 bytes, so that 256 bytes of input can never become more than 8 MiB.
INPUT_PIECE = 256


class Inflater:
    """The decompressing side of one zstd stream.

    Parameters
    ----------
    expansion : Expansion
        Counts the bytes of all streams of the recording.

    Raises
    ------
    MissingPackageError
        If the package zstandard is not installed.
    """

    def __init__(self, expansion: Expansion) -> None:
        self._expansion = expansion
        try:
            zstandard = importlib.import_module("zstandard")
        except ImportError:
            raise MissingPackageError(
                "the recording was made with perf record -z, and reading it needs the Python package zstandard",
                hint="install it: pip install zstandard",
                package="zstandard",
            ) from None
        self._error: type[Exception] = zstandard.ZstdError
        self._stream = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).decompressobj(read_across_frames=True)

    def pieces(self, data: memoryview) -> Iterator[bytes]:
        """Yield what the data become, piece by piece.

        Raises
        ------
        ValueError
            If they are not a zstd stream.
        OverBudgetError
            If they become more than perf can have put in.
        """
        for start in range(0, len(data), INPUT_PIECE):
            part = data[start : start + INPUT_PIECE]
            self._expansion.take(len(part))
            try:
                piece = self._stream.decompress(part)
            except self._error as error:
                raise ValueError(f"not a zstd stream ({error})") from None
            self._expansion.give(len(piece))
            if piece:
                yield bytes(piece)
