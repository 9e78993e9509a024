"""Processes that work for this one. Nothing here imports numpy: they can be started before anything else is, and begin while it is.

Each has a pipe of its own, whose end tells its death: a pool with one queue for all waits for ever where one is killed in the midst of
an answer.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from ptttool.errors import WorkersError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

# Bytes of trace for which it pays to have another process, which takes as long to begin as it takes to work on so much: to write them
# somewhere, and just to add them up.
WORTH_A_WRITER, WORTH_AN_ADDER = 128 << 20, 1 << 30
# Of mallopt(3), and bytes that a worker does not give back.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _KEPT_MEMORY = -1, -3, 64 << 20
# What a process imports before it is asked for anything.
_READY = "ptttool.pipeline.selection"
# Seconds that a process may take to end.
_PATIENCE = 2.0


def available_cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))


def jobs_worth_it(size: int, worth: int) -> int:
    """As many jobs as there are cores, but no more than one for each ``worth`` bytes of a recording of ``size`` bytes; 0: just one."""
    return max(1, min(available_cores(), size // worth if worth else 1))


class Promise(Protocol[R_co]):
    """What somebody works on."""

    def result(self) -> R_co:
        """Wait for it. Raises what went wrong."""

    def cancel(self) -> object:
        """It is not needed any more."""


class Workers:
    """``jobs`` processes at most; none where it is 1: then there is nobody to submit to. A context manager."""

    # Bytes of trace that are worked on in one go; 0: one unit.
    batch_bytes = 0
    # Whether results are put together by the workers, too.
    reduces = False

    def __init__(self, jobs: int = 1) -> None:
        self.jobs = jobs
        self._crew: list[_Worker] = []
        self._pending: deque[_Task[Any]] = deque()
        self._lock = threading.RLock()
        # So many begin at once; more are started when there is more to do.
        for _ in range(min(jobs, available_cores()) if jobs > 1 else 0):
            self._crew.append(_Worker())

    def submit(self, function: Callable[..., R], *arguments: Any) -> Promise[R]:
        """Have a function called by one of them, or, while they are still beginning, right here."""
        task: _Task[R] = _Task(self, function, arguments)
        with self._lock:
            self._collect(0)
            if not self._pending and self._idle() is None and not self._are_ready():
                task.answer = _answer(function, arguments)
                return task
            self._pending.append(task)
            self._hand_out()
        return task

    def _idle(self) -> _Worker | None:
        return next((worker for worker in self._crew if worker.ready and worker.task is None), None)

    def _are_ready(self) -> bool:
        return all(worker.ready for worker in self._crew)

    def reduce(self, promises: Sequence[Promise[R]], merge: Callable[[R, R], R], done: Callable[[int], None]) -> R | None:
        """What was promised, neighbours merged until one is left. ``done``: told the numbers of those that have ended."""
        raise NotImplementedError

    def _progress(self, task: _Task[Any]) -> None:
        """Wait until a task has an answer."""
        while True:
            with self._lock:
                if task.answer is not None:
                    return
                self._hand_out()
                self._collect(None)
                self._hand_out()

    def _hand_out(self) -> None:
        while self._pending:
            idle = self._idle()
            if idle is None and not self._are_ready():
                return
            if idle is None:
                if len(self._crew) >= self.jobs:
                    return
                idle = _Worker()
                self._crew.append(idle)
            task = self._pending.popleft()
            if not task.cancelled:
                idle.task = task
                try:
                    idle.connection.send((task.function, task.arguments))
                except OSError:
                    self._lost()

    def _collect(self, timeout: float | None) -> None:
        """Take the answers that have come; wait for one."""
        from multiprocessing.connection import wait

        awaited = {worker.connection: worker for worker in self._crew if worker.task is not None or not worker.ready}
        for connection in wait([*awaited], timeout) if awaited else ():
            worker = awaited[connection]  # type: ignore[index]
            try:
                answer = worker.connection.recv()
            except (EOFError, OSError):
                self._lost()
            if worker.task is None:
                worker.ready = True
            else:
                worker.task.answer = answer
                worker.task = None

    def _lost(self) -> None:
        """A process is gone: nobody shall wait for it, or for what it was at."""
        raise WorkersError(
            "a process that worked on the recording was killed, perhaps for want of memory",
            hint="--jobs 1 does the work in one process",
            code="worker-killed",
        )

    def close(self) -> None:
        """Let them go; what they are at is not needed any more."""
        for worker in self._crew:
            worker.dismiss()
        for worker in self._crew:
            worker.process.join(_PATIENCE)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
        self._crew.clear()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class _Worker:
    """One process, and what it is at."""

    def __init__(self) -> None:
        import multiprocessing

        # Not by fork: polars' threads may be running here.
        context = multiprocessing.get_context("spawn")
        self.connection: Connection[Any, Any]
        self.connection, theirs = context.Pipe()
        self.process: SpawnProcess = context.Process(target=_serve, args=(theirs,), daemon=True)
        self.task: _Task[Any] | None = None
        self.ready = False
        # Ctrl-C comes to all processes of a terminal: a young one does not know yet that it is not meant.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    def dismiss(self) -> None:
        """An idle one ends with its pipe, any other at once."""
        if self.task is not None or not self.ready:
            self.process.kill()
        self.connection.close()


class _Task(Generic[R]):
    """What a worker shall do. ``answer``: whether it went well, and the result or the error."""

    def __init__(self, workers: Workers, function: Callable[..., R], arguments: tuple[Any, ...]) -> None:
        self.function = function
        self.arguments = arguments
        self.cancelled = False
        self.answer: tuple[bool, Any] | None = None
        self._workers = workers

    def result(self) -> R:
        self._workers._progress(self)
        assert self.answer is not None
        good, value = self.answer
        if not good:
            raise value
        result: R = value
        return result

    def cancel(self) -> None:
        self.cancelled = True


ALONE = Workers()
"""Nobody: the work is done where it is asked for."""


def workers_for(path: str, jobs: int | None, worth: int) -> Workers:
    """Workers for a recording: ``jobs`` of them, or, where nobody said how many, as many as it is large enough for.

    ``worth``: bytes for which each is worth it, 0 where more than one never is.
    """
    return Workers(jobs_worth_it(size_of(path), worth) if jobs is None else jobs)


def size_of(path: str) -> int:
    """Bytes of a recording, a file or a folder; 0 where that cannot be seen: what is wrong is told when it is opened."""
    try:
        if os.path.isdir(path):  # noqa: PTH112
            return sum(entry.stat().st_size for entry in os.scandir(path) if entry.is_file())
        return os.stat(path).st_size if path != "-" else 0  # noqa: PTH116
    except OSError:
        return 0


def _answer(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    try:
        return True, function(*arguments)
    except Exception as error:
        return False, error


def _keep_memory() -> None:
    """Memory of arrays is kept for the next ones: given back and asked for again, a page at a time, it takes longer than many a sum."""
    import ctypes

    with suppress(OSError, AttributeError):  # another C library than glibc: then it does as it likes
        libc = ctypes.CDLL(None)
        for parameter in (_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD):
            libc.mallopt(parameter, _KEPT_MEMORY)


def _serve(connection: Connection[Any, Any]) -> None:
    """A worker's life: it does what it is told until nobody is there to tell it."""
    import importlib

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    _keep_memory()
    importlib.import_module(_READY)
    with suppress(OSError):
        connection.send(None)
    while True:
        try:
            function, arguments = connection.recv()
        except (EOFError, OSError):
            return
        try:
            connection.send(_answer(function, arguments))
        except OSError:  # whoever asked is gone
            return
