"""Decode trees of libopencsd, each in a process of its own."""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from ptttool.decoders.budget import WORKER_BYTES
from ptttool.decoders.elements.arrays import U8
from ptttool.decoders.opencsd.library import Library, LibraryElements
from ptttool.decoders.opencsd.worker import Raw
from ptttool.decoders.opencsd.workers import CrashError, WorkerProcess
from ptttool.errors import MissingPackageError, UsageError, WorkersError
from ptttool.files.local import shortened

_INDEX_MASK = 0xFFFF_FFFF


class Tree:
    """A decode tree for one source without frames; :meth:`close` it, or use it as a context manager.

    Parameters
    ----------
    library : Library
        The library that is installed.
    decoder : str
        Name of the decoder in the library.
    words : sequence of int
        Its configuration, 32 bits each.
    memory : sequence of tuple
        Address, memory space, path, offset and size of each image.
    title : str
        Name of the source, for messages.

    Raises
    ------
    UsageError
        The library does not accept the configuration (code ``opencsd``).
    MissingPackageError
        The library does not have such a decoder.
    WorkersError
        The process was ended from outside.
    InputError
        A memory image became shorter while it was read (code ``truncated``); also from the methods.
    """

    def __init__(
        self, library: Library, decoder: str, words: Sequence[int], memory: Sequence[tuple[int, int, str, int, int]], title: str
    ) -> None:
        self._library = library
        process = library.workers.take()
        self._memory = memory
        try:
            good, answer = process.ask("open", library.size, library.number("swtrace"), decoder, words, memory, WORKER_BYTES)
        except CrashError:
            self._check_memory()
            good, answer = False, "the library crashed"
        if not good:
            process.stop()
            what = f"{title}: libopencsd {library.version_text} does not make a decoder for {decoder}: {answer}"
            if decoder in ("ETE", "ITM"):
                raise MissingPackageError(what, hint="a newer libopencsd may have it", package="libopencsd")
            raise UsageError(what, hint="the registers may be wrong", code="opencsd", decoder=decoder)
        self._process: WorkerProcess | None = process
        # For decoders that are dropped without close.
        self._stop = weakref.finalize(self, process.stop)

    @property
    def crashed(self) -> bool:
        """Whether the library has crashed; the tree is of no use then."""
        return self._process is None

    def feed(self, offset: int, data: U8) -> tuple[LibraryElements, int, bool]:
        """Decode bytes.

        Parameters
        ----------
        offset : int
            Offset of the first byte.
        data : ndarray of uint8
            The bytes.

        Returns
        -------
        found : LibraryElements
            Elements.
        used : int
            How many bytes were taken.
        gave_up : bool
            Whether the decoder gave up behind these.
        """
        answer = self._ask("feed", offset & _INDEX_MASK, data.tobytes())
        if answer is None:
            return self._library.none(), 0, True
        raw, used, gave_up = answer
        return self._found(raw, offset + len(data)), used, gave_up

    def end(self, offset: int) -> LibraryElements:
        """Return elements that were held back for what might follow; `offset` is that of the end."""
        raw = self._ask("end")
        return self._library.none() if raw is None else self._found(raw, offset)

    def reset(self) -> bool:
        """Forget everything but the configuration; return False where the library cannot."""
        return bool(self._ask("reset"))

    def close(self) -> None:
        """Give the tree back to the library, and its process to the next tree."""
        process = self._process
        try:
            self._ask("close")
        except WorkersError:
            self._process = None
        if process is not None and self._process is process:
            self._process = None
            self._stop.detach()
            self._library.workers.give_back(process)

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, name: str, *arguments: Any) -> Any:
        process, self._process = self._process, None
        if process is None:
            return None
        try:
            _, answer = process.ask(name, *arguments)
        except CrashError:
            self._check_memory()
            return None
        self._process = process
        return answer

    def _check_memory(self) -> None:
        """Raise an InputError where the library crashed because a memory image, which is mapped, became shorter."""
        for _, _, path, offset, size in self._memory:
            try:
                held = os.stat(path).st_size  # noqa: PTH116
            except OSError:  # removed: the map still has it
                continue
            if held < offset + size:
                raise shortened(path, held) from None

    def _found(self, raw: Raw, near: int) -> LibraryElements:
        """Return elements with whole offsets: the library's have 32 bits, and are those next to `near`."""
        indexes, elements, payloads = raw
        distance = (np.frombuffer(indexes, dtype=np.uint32).astype(np.int64) - near) & _INDEX_MASK
        offsets = near + np.where(distance > _INDEX_MASK >> 1, distance - (1 << 32), distance)
        return LibraryElements(offsets, np.frombuffer(elements, dtype=self._library.dtype), payloads)
