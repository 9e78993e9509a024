"""A slow and literal reading of the Time field, a record at a time. Shares no code with ptttool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Mark(NamedTuple):
    """A record: its Time field (None: not a valid record), and where it stands."""

    time: int | None
    cpu: int
    offset: int
    size: int


class Moment(NamedTuple):
    """When a record came: ticks since the first one, how many breaks and holes lie before it."""

    ticks: int
    breaks: int
    holes: int


def moments(records: Sequence[Mark], model: str) -> list[Moment]:
    """Return the moment of each record; without a model of time, all ticks are 0."""
    found: list[Moment] = []
    ticks = breaks = holes = 0
    for number, record in enumerate(records):
        if number:
            before = records[number - 1]
            if (record.cpu, record.offset, record.size) != (before.cpu, before.offset + before.size, before.size):
                breaks += 1
                holes += 1
            elif model == "delta":
                if record.time is None:
                    breaks += 1
                else:
                    ticks += record.time
            elif model == "counter":
                if record.time is None or before.time is None:
                    breaks += 1
                elif record.size == 16:
                    ticks += (record.time - before.time) % 2048
                elif (record.time - before.time) % 2**32 >= 2**31:
                    breaks += 1
                else:
                    ticks += (record.time - before.time) % 2**32
        found.append(Moment(ticks, breaks, holes))
    return found
