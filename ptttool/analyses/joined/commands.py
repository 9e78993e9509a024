"""The commands that the kernel saw, from the samples of its tracepoints."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ptttool.perfdata.tracepoints.samples import Samples

Array = npt.NDArray[Any]

SETUP: Final = "nvme:nvme_setup_cmd"
COMPLETE: Final = "nvme:nvme_complete_rq"
TAKEN: Final = "nvme:nvme_sq"
"""The driver has taken a completion entry from its queue; which command's is not said."""
ISSUE: Final = "block:block_rq_issue"
INTERRUPT: Final = "irq:irq_handler_entry"
WANTED: Final = {
    SETUP: ("ctrl_id", "qid", "cid", "opcode", "nsid", "cdw10"),
    COMPLETE: ("ctrl_id", "qid", "cid"),
    TAKEN: ("ctrl_id", "qid"),
    ISSUE: ("sector", "nr_sector"),
    INTERRUPT: ("name",),
}
"""The events that are read, and their fields."""
_SECTOR: Final = 512
# Opcodes of the NVM command set: base specification, figure of I/O commands.
_WRITE, _READ = 1, 2
# Sizes of a logical block, as exponents of two.
_LEAST_BLOCK, _MOST_BLOCK = 9, 16

COMMAND: Final = np.dtype(
    [
        ("controller", "<i4"), ("queue", "<i4"), ("identifier", "<i4"), ("opcode", "<i4"), ("setup", "<i8"), ("complete", "<i8"),
        ("nth_setup", "<i8"), ("nth_complete", "<i8"), ("nth_turned", "<i8"), ("block", "<i8"), ("blocks", "<i8"), ("bytes", "<i8"),
        ("pid", "<i4"), ("name", "S16"), ("is_sure", "?"),
    ]
)  # fmt: skip
"""A command of the kernel's side; -1 is what is not known.

- ``controller``, ``queue``, ``identifier``, ``opcode``: as the tracepoints say.
- ``setup``, ``complete``: nanoseconds on perf's clock.
- ``nth_setup``, ``nth_complete``: which one it is of those that were submitted to its queue, and of those that ended in it, from 0.
- ``nth_turned``: the same, if the kernel ends commands that it takes at once in the opposite order.
- ``block``, ``blocks``, ``bytes``: the first logical block, their number, and the size; of reads and writes.
- ``pid``, ``name``: the process that submitted it.
- ``is_sure``: whether its end tells which completion entry is its own; not of those that end on several CPUs at once.
"""


class KernelCommands(NamedTuple):
    """The commands of the kernel's side.

    Attributes
    ----------
    rows : structured ndarray
        :data:`COMMAND`, by queue and the order of submission. Those of which only the end was seen have no ``setup``.
    lost : int
        Samples that the kernel had no room for.
    repeated : int
        Commands whose identifier was used again before they ended: something is missing.
    """

    rows: Array
    lost: int
    repeated: int

    @property
    def is_turned(self) -> Array:
        """Which commands are another one of their queue if commands that are taken at once end in the opposite order."""
        turned: Array = self.rows["nth_complete"] != self.rows["nth_turned"]
        return turned

    def turned(self) -> KernelCommands:
        """Return the same in the opposite order."""
        rows = self.rows.copy()
        rows["nth_complete"] = rows["nth_turned"]
        return self._replace(rows=rows)

    def of(self, controller: int, queue: int) -> Array:
        """Return the commands of a queue."""
        rows: Array = self.rows[(self.rows["controller"] == controller) & (self.rows["queue"] == queue)]
        return rows


def kernel_commands(samples: Samples) -> KernelCommands:
    """Return the commands of a recording of tracepoints."""
    none: Array = np.empty(0, dtype=[("at", "<i8")])
    setups, completes = samples.events.get(SETUP, none), samples.events.get(COMPLETE, none)
    fits = [has_numbers(rows, "ctrl_id", "qid", "cid") for rows in (setups, completes)]
    setups, completes = (rows if fit else none for rows, fit in zip((setups, completes), fits, strict=True))
    begins, ends = (_ordered(rows) for rows in (setups, completes))
    _turn(ends, completes, samples.events.get(TAKEN))
    # Submissions and ends of each identifier alternate; both by time, a submission before an end at the same time.
    both = np.concatenate((begins, ends))
    is_end = np.arange(len(both)) >= len(begins)
    order = np.lexsort((is_end, both["at"], both["identifier"], both["queue"], both["controller"]))
    both, is_end = both[order], is_end[order]
    same = np.zeros(len(both), dtype=np.bool_)
    same[1:] = (
        (both["controller"][1:] == both["controller"][:-1])
        & (both["queue"][1:] == both["queue"][:-1])
        & (both["identifier"][1:] == both["identifier"][:-1])
    )
    answers = np.flatnonzero(is_end[1:] & ~is_end[:-1] & same[1:]) + 1
    repeated = int(np.count_nonzero(~is_end[1:] & ~is_end[:-1] & same[1:])) + int(np.count_nonzero(is_end[1:] & is_end[:-1] & same[1:]))
    alone = np.setdiff1d(np.flatnonzero(is_end), answers)
    first = np.flatnonzero(~is_end)
    found: Array = np.zeros(len(first) + len(alone), dtype=COMMAND)
    for name in ("setup", "complete", "nth_setup", "nth_complete", "nth_turned", "block", "blocks", "bytes", "opcode", "pid"):
        found[name] = -1
    place = np.full(len(both), -1, dtype=np.int64)
    place[first], place[alone] = np.arange(len(first)), len(first) + np.arange(len(alone))
    for name in ("controller", "queue", "identifier"):
        found[name][: len(first)] = both[name][first]
        found[name][len(first) :] = both[name][alone]
    submitted = found[: len(first)]
    submitted["setup"], submitted["nth_setup"] = both["at"][first], both["nth"][first]
    _describe(submitted, setups[both["row"][first]] if len(first) else setups[:0], samples)
    for ended, at in ((answers, place[answers - 1]), (alone, place[alone])):
        found["complete"][at], found["nth_complete"][at] = both["at"][ended], both["nth"][ended]
        found["nth_turned"][at], found["is_sure"][at] = both["turned"][ended], both["is_sure"][ended]
    return KernelCommands(found[np.lexsort((found["nth_setup"], found["queue"], found["controller"]))], samples.lost, repeated)


def interrupts_of(samples: Samples, controller: int) -> Array:
    """Return when interrupts of a controller were handled, ascending: Linux names them ``nvme0q1``."""
    rows = samples.events.get(INTERRUPT)
    if rows is None or "name" not in (rows.dtype.names or ()) or rows["name"].dtype.kind != "S":
        return np.empty(0, dtype=np.int64)
    return rows["at"][np.char.startswith(rows["name"], b"nvme%dq" % controller)]


_EVENT: Final = np.dtype(
    [
        ("controller", "<i4"), ("queue", "<i4"), ("identifier", "<i4"), ("at", "<i8"), ("nth", "<i8"), ("turned", "<i8"), ("row", "<i8"),
        ("is_sure", "?"),
    ]
)  # fmt: skip


def has_numbers(rows: Array, *names: str) -> bool:
    """Return whether samples have fields that are numbers."""
    fields: Any = rows.dtype.fields or {}
    return all(name in fields and fields[name][0].kind in "iu" for name in names)


def _ordered(rows: Array) -> Array:
    """Return events with which one of its queue each is; the rows are by time."""
    events: Array = np.zeros(len(rows), dtype=_EVENT)
    if not len(rows):
        return events
    events["controller"], events["queue"], events["identifier"] = rows["ctrl_id"], rows["qid"], rows["cid"]
    events["at"], events["row"] = rows["at"], np.arange(len(rows))
    order = np.lexsort((events["row"], events["queue"], events["controller"]))
    queue, controller = events["queue"][order], events["controller"][order]
    begins = np.flatnonzero(np.concatenate(([True], (queue[1:] != queue[:-1]) | (controller[1:] != controller[:-1]))))
    events["nth"][order] = np.arange(len(rows)) - np.repeat(begins, np.diff(np.append(begins, len(rows))))
    return events


def _turn(ends: Array, completes: Array, taken: Array | None) -> None:
    """Fill in which one of its queue each end is, if those that the driver takes at once end in the opposite order; and which is certain.

    The driver takes completion entries in their order (``nvme_sq``). Linux from 5.16 on may put the commands of several on a list, some
    versions at its front, and end them behind all: then one of two orders is the true one. Commands that end on the CPU that submitted
    them, or some at once and some later, end in any order.
    """
    ends["turned"], ends["is_sure"] = ends["nth"], True
    if taken is None or not len(taken) or not len(ends) or not has_numbers(taken, "ctrl_id", "qid"):
        return
    at, cpu, queue, controller = (np.concatenate((completes[name], taken[name])) for name in ("at", "on_cpu", "qid", "ctrl_id"))
    is_end = np.arange(len(at)) < len(ends)
    order = np.lexsort((is_end, at, queue, controller))
    is_end, cpu, queue, controller = (each[order] for each in (is_end, cpu, queue, controller))
    begins = np.append(True, (queue[1:] != queue[:-1]) | (controller[1:] != controller[:-1]))
    # Groups: from the first entry that is taken until as many commands have ended.
    steps = np.where(is_end, -1, 1)
    levels = np.cumsum(steps)
    starts = np.flatnonzero(begins)
    levels -= np.repeat(levels[starts] - steps[starts], np.diff(np.append(starts, len(order))))
    # What was taken before the first sample ends below 0.
    floor = np.minimum.accumulate(np.minimum(levels, 0) - np.cumsum(begins) * (len(order) + 1)) + np.cumsum(begins) * (len(order) + 1)
    first = np.flatnonzero(begins | np.append(True, (levels == floor)[:-1]))
    sizes = np.diff(np.append(first, len(order)))
    ended = np.add.reduceat(is_end.astype(np.int64), first)
    changes = np.zeros(len(order), dtype=np.int64)
    changes[1:] = (is_end[1:] != is_end[:-1]) | (cpu[1:] != cpu[:-1])
    changes[first] = 0
    # All entries, and then all ends, on one CPU.
    one_cpu = np.maximum.reduceat(cpu, first) == np.minimum.reduceat(cpu, first)
    is_clean = one_cpu & (np.add.reduceat(changes, first) <= 1) & (2 * ended == sizes)
    is_sure = np.repeat(is_clean | ((ended == 1) & (sizes == 2)), sizes)
    ends["is_sure"][order[is_end]] = is_sure[is_end]
    clean = np.flatnonzero(is_clean)
    lengths = ended[clean]
    if not len(clean):
        return
    inside = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    forward = order[np.repeat(first[clean] + lengths, lengths) + inside]
    backward = order[np.repeat(first[clean] + 2 * lengths - 1, lengths) - inside]
    ends["turned"][forward] = ends["nth"][backward]


def _describe(commands: Array, setups: Array, samples: Samples) -> None:
    """Fill in what submissions say: block, size, process."""
    if not len(setups):
        return
    commands["pid"] = setups["by_pid"]
    commands["name"] = samples.threads.at(setups["by_tid"], setups["at"])
    if not has_numbers(setups, "opcode"):
        return
    commands["opcode"] = setups["opcode"]
    if "cdw10" not in (setups.dtype.names or ()) or setups["cdw10"].ndim != 2 or setups["cdw10"].shape[1] < 10:
        return
    is_io = (setups["qid"] > 0) & np.isin(setups["opcode"], (_WRITE, _READ))
    words = np.ascontiguousarray(setups["cdw10"])
    block = np.ascontiguousarray(words[:, :8]).view("<i8").reshape(-1)
    count = np.ascontiguousarray(words[:, 8:10]).view("<u2").reshape(-1).astype(np.int64) + 1
    commands["block"][is_io], commands["blocks"][is_io] = block[is_io], count[is_io]
    issues = samples.events.get(ISSUE)
    if issues is None or not len(issues) or not has_numbers(issues, "sector", "nr_sector"):
        return
    # The driver starts the request of the block layer behind the submission, on the same CPU.
    order = np.lexsort((issues["at"], issues["on_cpu"]))
    issues = issues[order]
    cpus, starts = np.unique(issues["on_cpu"], return_index=True)
    ends = np.append(starts[1:], len(issues))
    after = np.full(len(setups), -1, dtype=np.int64)
    own = np.flatnonzero(is_io)
    own = own[np.argsort(setups["on_cpu"][own], kind="stable")]
    firsts, lasts = (np.searchsorted(setups["on_cpu"][own], cpus, side=side) for side in ("left", "right"))
    for first, last, start, end in zip(firsts.tolist(), lasts.tolist(), starts.tolist(), ends.tolist(), strict=True):
        mine = own[first:last]
        at = np.searchsorted(issues["at"][start:end], setups["at"][mine]) + start
        after[mine] = np.where(at < end, at, -1)
    # The size of a block is that with which first block and number agree with the sectors of most such requests of a namespace.
    spaces = setups["nsid"].astype(np.int64) if has_numbers(setups, "nsid") else np.zeros(len(setups), dtype=np.int64)
    group = np.unique(commands["controller"].astype(np.int64) << 32 | spaces, return_inverse=True)[1]
    mine = np.flatnonzero(after >= 0)
    near, total = issues[after[mine]], np.bincount(group[mine], minlength=len(group))
    best, size = np.zeros_like(total), np.zeros_like(total)
    for exponent in range(_LEAST_BLOCK, _MOST_BLOCK + 1):
        factor = 1 << (exponent - _LEAST_BLOCK)
        agree = (near["nr_sector"].astype(np.int64) == count[mine] * factor) & (near["sector"].astype(np.int64) == block[mine] * factor)
        agreeing = np.bincount(group[mine[agree]], minlength=len(group))
        size, best = np.where(agreeing > best, 1 << exponent, size), np.maximum(agreeing, best)
    sizes = np.where(2 * best > total, size, 0)[group]
    sized = is_io & (sizes > 0)
    commands["bytes"][sized] = count[sized] * sizes[sized]
