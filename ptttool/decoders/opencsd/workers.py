"""Processes that run libopencsd, each with one decode tree at a time.

:mod:`~.worker` is what runs there, and says why it is a process.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import weakref
from typing import Any

from ptttool.budget import CODE
from ptttool.decoders.budget import MAX_WORKERS
from ptttool.decoders.opencsd import worker
from ptttool.errors import WorkersError

# Processes that are kept for the next trees.
_KEPT = 16
# glibc fills memory that it gives out with the complement, zeros, except what its caches of threads hold.
_ZEROED = {"GLIBC_TUNABLES": "glibc.malloc.perturb=255:glibc.malloc.tcache_count=0"}
# Ends of a process that the library causes. Any other end comes from outside, and does not say that the trace is bad.
_CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)


class CrashError(Exception):
    """The library crashed, and with it its process."""


class WorkerProcess:
    """One process."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        # Python's own paths are not needed; in its own session it does not get interrupts from the keyboard.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", worker.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, **_ZEROED},
        )

    def ask(self, name: str, *arguments: Any) -> tuple[bool, Any]:
        """Call a method of the decode tree there.

        Returns
        -------
        good : bool
            Whether the library accepted it.
        answer : object
            What the method returned, or the library's message.

        Raises
        ------
        CrashError
            The library crashed.
        WorkersError
            The process was ended from outside (code ``worker-lost``).
        """
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        try:
            pickle.dump((name, arguments), requests)
            requests.flush()
            done: tuple[bool, Any] = pickle.load(answers)
        except (BrokenPipeError, EOFError, pickle.UnpicklingError) as error:
            self._wait()
            raise self._end_error() from error
        except BaseException:  # after an interrupt, the answer to this request would be taken for that to the next
            self.stop()
            raise
        return done

    def _end_error(self) -> Exception:
        code = self._process.returncode
        if -code in _CRASHES:
            return CrashError()
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
        return WorkersError(f"a process that runs libopencsd was ended {how}", hint="was there too little memory?", code="worker-lost")

    @property
    def is_running(self) -> bool:
        """Whether the process has not been ended."""
        return self._process.returncode is None

    def stop(self) -> None:
        """End the process; after a fork that is left to the parent."""
        if self._owner == os.getpid():
            self._process.kill()
            self._wait()
        else:
            self._close()

    def _wait(self) -> None:
        self._close()
        self._process.wait()

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                if pipe is not None:
                    pipe.close()
            except BrokenPipeError:  # it had not read everything
                pass


class WorkerPool:
    """Processes that wait for the next decode tree; they end with the pool or the interpreter."""

    def __init__(self) -> None:
        self._idle: list[WorkerProcess] = []
        self._running: weakref.WeakSet[WorkerProcess] = weakref.WeakSet()  # and those that have ended meanwhile
        self._owner = os.getpid()
        weakref.finalize(self, _stop_all, self._idle)

    def __len__(self) -> int:
        return len(self._idle)

    def take(self) -> WorkerProcess:
        """Return a process without a decode tree."""
        if self._owner != os.getpid():  # after a fork, those processes are the parent's
            _stop_all(self._idle)
            self._owner = os.getpid()
        if self._idle:
            return self._idle.pop()
        if sum(process.is_running for process in self._running) >= MAX_WORKERS:
            raise WorkersError(
                f"sources of CoreSight trace: more than {MAX_WORKERS:,} at a time, which is the most that are decoded",
                hint="decode some of them: --channel, or a part of the recording",
                code=CODE,
                limit=MAX_WORKERS,
            )
        process = WorkerProcess()
        self._running.add(process)
        return process

    def give_back(self, process: WorkerProcess) -> None:
        """Keep a process for later; its decode tree is closed."""
        if len(self._idle) < _KEPT:
            self._idle.append(process)
        else:
            process.stop()


def _stop_all(processes: list[WorkerProcess]) -> None:
    while processes:
        processes.pop().stop()
