"""Sums of the commands of both sides: by process, queue and size; and the slowest ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ptttool.analyses.joined.document import CommandSum, GroupBy, SlowCommand, Spread
from ptttool.pci import format_id
from ptttool.perfdata.tracepoints.samples import text_of

Array = npt.NDArray[Any]
READ, WRITE = 2, 1
"""Opcodes of the NVM command set."""
# Commands that are listed.
_SLOWEST: Final = 5

COLUMNS: Final = np.dtype(
    [
        ("requester", "<i4"), ("queue", "<i4"), ("opcode", "<i4"), ("pid", "<i4"), ("name", "S16"),
        *((name, "<i8") for name in ("block", "bytes", "setup", "complete", "fetched", "fetched_at", "ended", "ended_at")),
    ]
)  # fmt: skip
"""A command of both sides; -1 is what is not known. ``fetched`` and ``ended`` are the numbers of TLPs."""


def _process(rows: Array) -> list[str]:
    return [
        f"{text_of(name) or '?'} ({pid})" if pid >= 0 else "not known"
        for name, pid in zip(rows["name"].tolist(), rows["pid"].tolist(), strict=True)
    ]


def _of_queue(rows: Array) -> list[str]:
    return [f"{format_id(requester)}, {queue}" for requester, queue in zip(rows["requester"].tolist(), rows["queue"].tolist(), strict=True)]


def _of_size(rows: Array) -> list[str]:
    return [f"{size:,}" if size >= 0 else "not known" for size in rows["bytes"].tolist()]


KEYS: Final[dict[GroupBy, tuple[tuple[str, ...], Callable[[Array], list[str]]]]] = {
    GroupBy.PROCESS: (("pid", "name"), _process),
    GroupBy.QUEUE: (("requester", "queue"), _of_queue),
    GroupBy.SIZE: (("bytes",), _of_size),
}


def sums_of(rows: Array, key: tuple[tuple[str, ...], Callable[[Array], list[str]]], tick: float | None) -> list[CommandSum]:
    """Return the sums of commands by a key of :data:`KEYS`; `tick`: its nanoseconds, where they are known."""
    columns, named = key
    keys, numbers = np.unique(rows[list(columns)], return_inverse=True)
    order = numbers.argsort(kind="stable")
    edges = np.searchsorted(numbers[order], np.arange(len(keys) + 1))
    names = named(keys)
    return [sum_of(name, rows[order[edges[number] : edges[number + 1]]], tick) for number, name in enumerate(names)]


def bytes_of(rows: Array) -> int | None:
    """Return the bytes of commands that move data; None where one of them is not known."""
    sizes = rows["bytes"][np.isin(rows["opcode"], (READ, WRITE))]
    return None if (sizes < 0).any() else int(sizes.sum())


def sum_of(name: str, rows: Array, tick: float | None) -> CommandSum:
    """Return the sum of commands."""
    in_kernel = (rows["complete"] - rows["setup"])[(rows["setup"] >= 0) & (rows["complete"] >= 0)]
    both = (rows["fetched_at"] >= 0) & (rows["ended_at"] >= 0)
    wire = (rows["ended_at"] - rows["fetched_at"])[both]
    spread = _spread(wire)
    scaled = None if spread is None or tick is None else Spread(*(tick * each for each in (spread.p50, spread.p90, spread.p99, spread.max)))
    share = None
    timed = both & (rows["setup"] >= 0) & (rows["complete"] >= 0)
    if tick is not None and timed.any():
        total = int((rows["complete"] - rows["setup"])[timed].sum())
        on_wire = tick * int((rows["ended_at"] - rows["fetched_at"])[timed].sum())
        share = on_wire / total if total > 0 and on_wire <= total else None
    return CommandSum(name, len(rows), bytes_of(rows), _spread(in_kernel), spread, scaled, share)


def slowest_of(rows: Array) -> list[SlowCommand]:
    """Return the commands that took longest in the kernel, the longest first."""
    rows = rows[(rows["setup"] >= 0) & (rows["complete"] >= 0)]
    took = rows["complete"] - rows["setup"]
    rows = rows[(-took).argsort(kind="stable")[:_SLOWEST]]
    found = []
    for row in rows:
        index = int(row["fetched"]) if row["fetched"] >= 0 else int(row["ended"])
        is_timed = row["fetched_at"] >= 0 and row["ended_at"] >= 0
        found.append(
            SlowCommand(
                process=_process(row.reshape(1))[0],
                requester=format_id(int(row["requester"])),
                queue=int(row["queue"]),
                opcode=int(row["opcode"]),
                block=_known(row["block"]),
                bytes=_known(row["bytes"]),
                in_kernel_ns=int(row["complete"] - row["setup"]),
                on_wire=int(row["ended_at"] - row["fetched_at"]) if is_timed else None,
                index=_known(index),
            )
        )
    return found


def _known(value: int) -> int | None:
    return int(value) if value >= 0 else None


def _spread(values: Array) -> Spread | None:
    """Return percentiles by nearest rank; None of nothing."""
    if not len(values):
        return None
    values = np.sort(values)
    ranks = [values[-(-len(values) * percent // 100) - 1] for percent in (50, 90, 99)]
    return Spread(*(float(each) for each in (*ranks, values[-1])))
