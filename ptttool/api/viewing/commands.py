"""The commands of NVMe drives, where a drive fetched them: headers do not tell which completion entry belongs to which command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from ptttool.analyses.io.commands.entries import CommandEntries
from ptttool.pci import format_id
from ptttool.pipeline.analyzing.ask import Ask, run

if TYPE_CHECKING:
    from ptttool.pipeline.recording import OpenRecording
    from ptttool.table.values import Array


class Command(Struct, frozen=True):
    """The commands that one TLP fetched.

    Parameters
    ----------
    queue : int
        The queue, 0 for admin commands; -1 where it is not known.
    number, count : int
        Number of the first one among the commands of its queue, from 0, and how many there are.
    at_least : int or None
        Ticks to the first completion entry of the queue behind the fetch: no command took less. None where none came.
    entry : int or None
        TLP of the entry with the number of the first one, where as many entries as commands were seen. Drives may complete in another
        order.
    to_entry : int or None
        Ticks to that entry.
    """

    queue: int
    number: int
    count: int
    at_least: int | None
    entry: int | None
    to_entry: int | None


class Commands(Struct, frozen=True):
    """The commands of all drives.

    Parameters
    ----------
    fetches : ndarray of int64, shape (n,)
        Numbers of the TLPs that fetched some, ascending.
    has_time : bool
        Whether ticks are known.
    """

    fetches: Array
    has_time: bool
    _queues: list[tuple[int, Array, Array]]

    def of(self, index: int) -> Command | None:
        """Return the commands that a TLP fetched; None where it fetched none."""
        for queue, fetched, ended in self._queues:
            first, last = (int(np.searchsorted(fetched[:, 1], index, side=side)) for side in ("left", "right"))
            if first == last:
                continue
            behind = int(np.searchsorted(ended[:, 1], index, side="right"))
            begin = int(fetched[first, 0])
            least = int(ended[behind, 0]) - begin if behind < len(ended) else None
            is_whole = len(fetched) == len(ended) and int(ended[first, 1]) > index
            entry, to_entry = (int(ended[first, 1]), int(ended[first, 0]) - begin) if is_whole else (None, None)
            timed = (least, to_entry) if self.has_time else (None, None)
            return Command(queue, first, last - first, timed[0], entry, timed[1])
        return None


def commands_of(recording: OpenRecording, ask: Ask) -> Commands:
    """Return the commands of the drives of a recording; memory is in proportion to them."""
    results = run(recording, ask, ("io", CommandEntries)).results
    drives = {drive.requester for drive in results["io"].nvme.drives}
    entries = [each for each in results[CommandEntries.name] if format_id(each.requester) in drives]
    fetches = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(each.fetched[:, 1] for each in entries)]))
    has_time = results["io"].time.model.value != "unknown"
    return Commands(fetches, has_time, [(each.queue, each.fetched, each.ended) for each in entries])
