"""Decode trees of libopencsd, each in a process of its own, which serves one after the other.

:mod:`ptttool.decoders.opencsd.worker` is what runs there, and says why.
"""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ptttool.decoders.element_batch import U8
from ptttool.decoders.opencsd import worker as opencsd_worker
from ptttool.decoders.opencsd.library import Found, Library
from ptttool.errors import MissingPackageError, UsageError, WorkersError

_INDEX_MASK = 0xFFFF_FFFF
# Processes that are kept for the next trees.
_KEPT = 16
# glibc fills memory that it gives out with the complement, zeros; but not what its caches of threads hold.
_ZEROED = {"GLIBC_TUNABLES": "glibc.malloc.perturb=255:glibc.malloc.tcache_count=0"}


# Ends of a process that the library is to blame for; any other came from outside, and the trace is not to blame.
_CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)


class _DiedError(Exception):
    """The library took its process down."""


class _Worker:
    def __init__(self) -> None:
        # Python's own paths are not needed; in a session of its own no interrupt from the keyboard reaches it.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", opencsd_worker.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, **_ZEROED},
        )

    def ask(self, name: str, *arguments: Any) -> tuple[bool, Any]:
        """Whether it went well, and the answer or the library's words. Raises _DiedError."""
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        try:
            pickle.dump((name, arguments), requests)
            requests.flush()
            done: tuple[bool, Any] = pickle.load(answers)
        except (BrokenPipeError, EOFError, pickle.UnpicklingError) as error:
            self.end()
            code = self._process.returncode
            if -code not in _CRASHES:
                how = f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
                raise WorkersError(
                    f"a process that runs libopencsd was ended {how}", hint="was there too little memory?", code="worker-lost"
                ) from None
            raise _DiedError from error
        except BaseException:  # an interrupt from the keyboard: an answer that nobody reads may be on its way
            self._process.kill()
            self.end()
            raise
        return done

    def end(self) -> None:
        """The process ends when nothing more can be asked."""
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                if pipe is not None:
                    pipe.close()
            except BrokenPipeError:  # what it had not read any more
                pass
        self._process.wait()


_idle: list[_Worker] = []


def _end_all() -> None:
    while _idle:
        _idle.pop().end()


atexit.register(_end_all)


class Tree:
    """A decode tree for one source without frames.

    ``decoder``: its name in the library. ``words``: its configuration, 32 bits each. ``memory``: address, memory space, path, offset and
    size of each image. ``title``: whose it is, for messages. Raises UsageError where the library does not take it, MissingPackageError
    where it has no such decoder, WorkersError where a process was ended from outside.
    """

    def __init__(
        self, library: Library, decoder: str, words: Sequence[int], memory: Sequence[tuple[int, int, str, int, int]], title: str
    ) -> None:
        self._library = library
        self._worker: _Worker | None = _idle.pop() if _idle else _Worker()
        try:
            good, answer = self._worker.ask("open", library.size, library.number("swtrace"), decoder, words, memory)
        except _DiedError:
            self._worker = None
            good, answer = False, "the library crashed"
        if not good:
            what = f"{title}: libopencsd {library.version_text} makes no {decoder} decoder: {answer}"
            if decoder in ("ETE", "ITM"):
                raise MissingPackageError(what, hint="a newer libopencsd may have it", package="libopencsd")
            raise UsageError(what, hint="the registers may be wrong", code="opencsd")

    @property
    def crashed(self) -> bool:
        """Whether the library has crashed: this tree is of no more use."""
        return self._worker is None

    def feed(self, offset: int, data: U8) -> tuple[Found, int, bool]:
        """Elements of bytes, how many of them were taken, and whether the decoder gave up behind those. ``offset``: of the first byte."""
        answer = self._ask("feed", offset & _INDEX_MASK, data.tobytes())
        if answer is None:
            return self._library.none(), 0, True
        raw, used, gave_up = answer
        return self._found(raw, offset + len(data)), used, gave_up

    def end(self, offset: int) -> Found:
        """Elements that were held back for what might follow. ``offset``: of the end."""
        raw = self._ask("end")
        return self._library.none() if raw is None else self._found(raw, offset)

    def reset(self) -> bool:
        """Forget everything but the configuration; False where the library cannot."""
        return bool(self._ask("reset"))

    def __del__(self) -> None:
        worker = getattr(self, "_worker", None)
        if worker is None or sys.is_finalizing():
            return
        try:
            worker.ask("close")
        except (_DiedError, WorkersError):
            return
        if len(_idle) < _KEPT:
            _idle.append(worker)
        else:
            worker.end()

    def _ask(self, name: str, *arguments: Any) -> Any:
        worker, self._worker = self._worker, None
        if worker is None:
            return None
        try:
            _, answer = worker.ask(name, *arguments)
        except _DiedError:
            return None
        self._worker = worker
        return answer

    def _found(self, raw: opencsd_worker.Raw, near: int) -> Found:
        """The library's offsets have 32 bits: they are those next to ``near``."""
        indexes, elements, payloads = raw
        distance = (np.frombuffer(indexes, dtype=np.uint32).astype(np.int64) - near) & _INDEX_MASK
        offsets = near + np.where(distance > _INDEX_MASK >> 1, distance - (1 << 32), distance)
        return Found(offsets, np.frombuffer(elements, dtype=self._library.dtype), payloads)
