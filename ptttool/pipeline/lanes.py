"""Streams of one packet trace decoded in several processes at once, with their elements in the order of the recording.

A stream is decoded in order, so a process takes whole streams: each has every ``jobs``-th one. A process decodes ahead until it
holds many bytes; this process takes from each what is next in the recording. Memory stays bounded.
"""

from __future__ import annotations

import heapq
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any, Protocol, Self

from ptttool.pipeline.streams import Decoded, StreamDecoder
from ptttool.pipeline.workers.failure import sendable
from ptttool.pipeline.workers.pool import lost_worker
from ptttool.pipeline.workers.start import Child

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from types import TracebackType

    from ptttool.decoders.stack import Stack
    from ptttool.recording.opening import Source

# Bytes of elements that a process holds until they are read.
_AHEAD = 32 << 20


class Opened(Protocol):
    """An open recording; its source lives as long as it does."""

    @property
    def stack(self) -> Stack:
        """What decodes it."""

    def source(self) -> Source:
        """Return its source, not yet read."""

    def __enter__(self) -> Self: ...
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


class Lanes:
    """Processes that decode the streams of one recording; iterating gives what a StreamDecoder would, in the same order.

    They begin at once and decode ahead, each up to :data:`_AHEAD` bytes of elements.

    Parameters
    ----------
    opened : callable
        Opens the recording; it can be pickled.
    jobs : int
        Number of processes.
    """

    def __init__(self, opened: Callable[[], Opened], jobs: int) -> None:
        self._processes = [Child(_decode, opened, number, jobs, duplex=False) for number in range(jobs)]

    def __iter__(self) -> Iterator[Decoded]:
        """Yield the elements; the processes end with the iteration.

        Raises
        ------
        WorkersError
            A process was killed.
        Exception
            Whatever decoding raises in a process.
        """
        try:
            yield from heapq.merge(*map(_decoded_by, self._processes), key=lambda each: (each.chunk, each.stream))
        finally:
            self.close()

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        for process in self._processes:
            process.connection.close()
            process.end()


def _decoded_by(process: Child) -> Iterator[Decoded]:
    """Yield what a process decodes, every ``jobs``-th stream. Its pipe ends with it."""
    while True:
        try:
            answer = process.connection.recv()
        except (EOFError, OSError):
            raise lost_worker(process) from None
        if answer is None:
            return
        if isinstance(answer, BaseException):
            raise answer
        yield answer


def _decode(connection: Connection[Any, Any], opened: Callable[[], Opened], number: int, jobs: int) -> None:
    """Decode every `jobs`-th stream, from `number` on; the pipe takes the elements, then None or the error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    answers = _Answers(connection)
    try:
        # The recording is kept: its source is closed when the recording is collected.
        with opened() as recording:
            decoder = StreamDecoder(recording.source(), recording.stack)
            for each in decoder.decoded(lambda stream: stream % jobs == number):
                if len(each.elements):
                    answers.put(each)
        answers.put(None)
    except Exception as error:  # raised again where the elements are read
        answers.put(sendable(error))
    answers.finish()


class _Answers:
    """Sends answers into a pipe in its own thread, so that decoding continues while the reader is busy."""

    def __init__(self, connection: Connection[Any, Any]) -> None:
        self._connection = connection
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._is_finished = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def put(self, answer: object) -> None:
        """Queue an answer; wait while too many bytes are queued."""
        data = bytes(ForkingPickler.dumps(answer))
        with self._changed:
            self._changed.wait_for(lambda: self._size < _AHEAD)
            self._waiting.append(data)
            self._size += len(data)
            self._changed.notify_all()

    def finish(self) -> None:
        """Wait until all answers are sent."""
        with self._changed:
            self._is_finished = True
            self._changed.notify_all()
        self._thread.join()

    def _send(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._is_finished)
                if not self._waiting:
                    return
                data = self._waiting.popleft()
            try:
                self._connection.send_bytes(data)
            except OSError:  # the reader has ended
                os._exit(0)
            with self._changed:
                self._size -= len(data)
                self._changed.notify_all()
