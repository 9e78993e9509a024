"""What happens to a run: which event, at which system call."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum


class Mode(IntEnum):
    """What the preloaded library does; the numbers are those of ``shim.c``."""

    COUNT = 0
    KILL = 1
    ERROR = 2
    FULL = 3
    SHORT = 4


class Kind(IntEnum):
    """Kinds of system calls; the numbers are those of ``shim.c``."""

    OPEN = 0
    CREATE = 1
    READ = 2
    WRITE = 3
    SYNC = 4
    CLOSE = 5
    NAME = 6
    REMOVE = 7
    META = 8


@dataclass(frozen=True)
class Call:
    """A system call that a run made.

    Parameters
    ----------
    number : int
        Its place among the calls of the run, from 1.
    name : str
        The function of libc.
    kind : Kind
        What it does.
    size : int
        Bytes that it was asked to transfer.
    path : str
        The file.
    """

    number: int
    name: str
    kind: Kind
    size: int
    path: str

    def __str__(self) -> str:
        """Name the call and its file."""
        return f"{self.name} {self.path}"


class Event(Enum):
    """What happens at a call: the mode, and the error number where there is one."""

    KILL = Mode.KILL, 0
    EIO = Mode.ERROR, errno.EIO
    EINTR = Mode.ERROR, errno.EINTR
    ENOSPC = Mode.FULL, errno.ENOSPC
    SHORT = Mode.SHORT, 0

    @property
    def mode(self) -> Mode:
        """What the preloaded library does."""
        return self.value[0]

    @property
    def error(self) -> int:
        """The error number, or 0."""
        return self.value[1]

    def concerns(self, call: Call) -> bool:
        """Tell whether the event can happen at a call."""
        match self:
            case Event.EINTR:
                kinds = (Kind.OPEN, Kind.CREATE, Kind.READ, Kind.WRITE, Kind.SYNC)
                return (call.kind in kinds and call.name not in ("close", "mkdir")) or call.name in ("flock", "ftruncate")
            case Event.EIO:
                # Closing what was only read does not fail.
                return call.kind is not Kind.READ or call.name != "close"
            case Event.ENOSPC:
                return call.kind in (Kind.CREATE, Kind.WRITE, Kind.NAME, Kind.SYNC) and "/tune/" not in call.path
            case Event.SHORT:
                return call.kind in (Kind.READ, Kind.WRITE) and call.size > 1
            case _:
                return True


@dataclass(frozen=True)
class Point:
    """One event at one call of a command."""

    event: Event
    call: Call

    def __str__(self) -> str:
        """Name the event and the call."""
        return f"{self.event.name} at call {self.call.number} ({self.call})"


def points(calls: Sequence[Call], events: Sequence[Event] = tuple(Event)) -> Iterator[Point]:
    """Yield each event at each call that it concerns."""
    for call in calls:
        for event in events:
            if event.concerns(call):
                yield Point(event, call)


def calls_of(log: str) -> list[Call]:
    """Read the log of a counted run."""
    calls = []
    for line in log.splitlines():
        number, name, kind, size, path = line.split("\t", 4)
        calls.append(Call(int(number), name, Kind(int(kind)), int(size), path))
    return calls
