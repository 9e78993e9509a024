"""Join the commands of the kernel with those of the link, sum them up, and bound the clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ptttool.analyses.budget import MAX_CONTROLLERS, MAX_LISTED
from ptttool.analyses.joined.clock import Bounds, Clock, clock_of
from ptttool.analyses.joined.commands import COMPLETE, ISSUE, SETUP, TAKEN, WANTED, KernelCommands, interrupts_of, kernel_commands
from ptttool.analyses.joined.document import ClockBand, KernelSide, QueueJoin
from ptttool.analyses.joined.network import WANTED as PACKETS
from ptttool.analyses.joined.network import interfaces_of
from ptttool.analyses.joined.order import TOLERATED, QueueEntries, Shift, shifts_of
from ptttool.analyses.joined.sums import COLUMNS, KEYS, READ, WRITE, bytes_of, slowest_of, sum_of, sums_of
from ptttool.budget import CODE
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.pci import format_id
from ptttool.perfdata.tracepoints.samples import Samples, read_samples

Array = npt.NDArray[Any]
# Entries of a queue, at least, by which its place in a longer one can be found: fewer fit somewhere by chance.
_LEAST: Final = 32
NEAR: Final = 1.001
"""What a tick that is said may differ from the true one."""
# By how much the longest tick of a clock may be longer than the shortest one, for its middle to be taken for the tick.
_NARROW: Final = 1.02
# Ways to give controllers to drives that are looked at.
_MOST_CHOICES: Final = 256
# Bits of a Time field that does not wrap around unnoticed.
_WIDE: Final = 32


class Link(NamedTuple):
    """What is known of the link's side.

    Attributes
    ----------
    queues : sequence of QueueEntries
        The queues of all drives.
    time_bits : int or None
        Bits of the Time field; None where no ticks are known.
    breaks : int
        How often it is not known how much time passed.
    tick_ns : float or None
        Nanoseconds of a tick, where they are known.
    end : int or None
        When the trace ended, in nanoseconds on perf's clock, if it is complete up to there.
    interrupts : Mapping of int to ndarray of int64
        By drive, ticks of its interrupts.
    goes_back : bool
        Whether Time went back, which a counter does not.
    ticks : tuple of float or None
        The shortest and the longest tick that anchors leave, in nanoseconds of another clock of the kernel.
    anchors : int
        How many anchors there are.
    """

    queues: Sequence[QueueEntries]
    time_bits: int | None = _WIDE
    breaks: int = 0
    tick_ns: float | None = None
    end: int | None = None
    interrupts: Mapping[int, Array] = {}
    goes_back: bool = False
    ticks: tuple[float, float] | None = None
    anchors: int = 0

    @property
    def may_miss(self) -> bool:
        """Whether ticks may be missing."""
        return self.breaks > 0 or (self.time_bits is not None and self.time_bits < _WIDE)


class Joined(NamedTuple):
    """Commands of both sides.

    Attributes
    ----------
    side : KernelSide
        The result.
    clock : Clock or None
        Places TLPs in the kernel's time; None where nothing bounds it, or no clock is possible.
    rows : structured ndarray
        The joined commands by time of submission: :data:`COLUMNS`.
    """

    side: KernelSide
    clock: Clock | None
    rows: Array


class _Queue(NamedTuple):
    """A queue of both sides, and which commands are which."""

    entries: QueueEntries
    controller: int | None
    commands: Array
    shift: Shift | None

    @property
    def is_part(self) -> bool:
        """Whether the trace holds another number of commands than the kernel's side, so that its place had to be looked for."""
        sides = ((self.entries.fetched, "nth_setup"), (self.entries.ended, "nth_turned"))
        return any(len(tlps) and len(tlps) != np.count_nonzero(self.commands[nth] >= 0) for tlps, nth in sides)

    def agrees(self, other: _Queue) -> bool:
        """Return whether the other order of ends leaves no other place."""
        if self.shift is None or not self.is_part:
            return True
        if other.shift is None:
            return False
        return not other.shift.is_possible or other.shift[:2] == self.shift[:2]


def join(path: str, link: Link) -> Joined:
    """Join a recording of tracepoints with what was seen on the link.

    Raises
    ------
    InputError
        The file is no recording of tracepoints.
    """
    samples = read_samples(path, {**WANTED, **PACKETS})
    kernel = kernel_commands(samples)
    for name in (SETUP, COMPLETE, TAKEN, ISSUE):
        samples.events.pop(name, None)  # which is much memory
    notes = [*_damage(samples), *_refusals(samples, kernel, link)]
    queues: list[_Queue] = []
    if not any(note.severity is Severity.WARNING for note in notes):
        queues, further = _assigned(link, kernel)
        notes += further
    found = [(queue, _rows(queue)) for queue in queues if queue.shift is not None and queue.shift.is_possible]
    shifts = [queue.shift for queue in queues if queue.shift is not None]
    conflicts, checks = sum(shift.conflicts for shift in shifts), sum(shift.checks for shift in shifts)
    joins = {id(queue): len(rows) for queue, rows in found}
    if conflicts * TOLERATED > checks:
        message = f"order contradicts {conflicts:,} of {checks:,} times that the commands of both sides are the same: none is joined"
        notes.append(Diagnostic(Severity.WARNING, "order-differs", message, where=path, details={"conflicts": conflicts, "checks": checks}))
        found, joins = [], {}
    clock, bounds = _clock(found, link, samples)
    if clock is not None and clock.longest_ns <= 0:
        # Also with any number of ticks missing, something came before its cause.
        message = (
            "whatever a tick is, something on the link came before its cause in the kernel: the commands are others, and none is joined"
        )
        notes.append(Diagnostic(Severity.ERROR, "causes-differ", message, where=path, details={"bounds": bounds}))
        found, joins, clock = [], {}, None
    together = _together(found)
    del found
    band = None if clock is None else _band(clock, bounds, together, link)
    notes += _clock_notes(band, link, path)
    tick = link.tick_ns
    if tick is None and band is not None and band.is_possible and band.tick_ns_low and band.tick_ns_high is not None:
        tick = (band.tick_ns_low + band.tick_ns_high) / 2 if band.tick_ns_high <= _NARROW * band.tick_ns_low else None
    by, more = {}, {}
    for group, key in KEYS.items():
        sums = sums_of(together, key, tick) if len(together) else []
        sums.sort(key=lambda one: (-one.commands, one.name))
        by[str(group)], more[str(group)] = sums[:MAX_LISTED], max(len(sums) - MAX_LISTED, 0)
    sizes = [bytes_of(together[together["opcode"] == opcode]) for opcode in (READ, WRITE)]
    side = KernelSide(
        file=path,
        joined=len(together) > 0,
        commands=len(together),
        conflicts=conflicts,
        seen=len(kernel.rows),
        lost=kernel.lost,
        bytes_read=sizes[0],
        bytes_written=sizes[1],
        all=sum_of("all", together, tick) if len(together) else None,
        by=by,
        more=more,
        slowest=slowest_of(together),
        queues=[_queue(queue, joins.get(id(queue), 0)) for queue in queues],
        network=interfaces_of(samples),
        clock=band,
        at_least=link.may_miss,
        notes=notes,
    )
    return Joined(side, clock if band is not None and band.is_possible else None, together)


def _damage(samples: Samples) -> Iterator[Diagnostic]:
    for problem in samples.problems:
        # Without the other events, less is known; without the commands, nothing.
        is_needed = problem.code != CODE or problem.details.get("event") in (SETUP, COMPLETE)
        severity = Severity.WARNING if is_needed else Severity.INFO
        message = f"the kernel's side: {problem.message}"
        yield Diagnostic(severity, problem.code, message, where=problem.where, details=problem.details)


def _refusals(samples: Samples, kernel: KernelCommands, link: Link) -> Iterator[Diagnostic]:
    """Yield why nothing can be joined."""

    def refusal(code: str, message: str, **details: object) -> Diagnostic:
        return Diagnostic(Severity.WARNING, code, f"{message}: no command is joined", where=samples.path, details=details)

    if not {SETUP, COMPLETE} & samples.formats.keys():
        if not link.queues and PACKETS.keys() & samples.formats.keys():
            return
        yield refusal("no-nvme-tracepoints", f"holds neither {SETUP} nor {COMPLETE}")
    elif kernel.lost:
        yield refusal(
            "kernel-samples-lost", f"the kernel had no room for {kernel.lost:,} samples, and which ones is not known", lost=kernel.lost
        )
    elif samples.unread:
        yield refusal("kernel-samples-unread", f"{samples.unread:,} samples could not be read", unread=samples.unread)
    elif kernel.repeated:
        message = f"{kernel.repeated:,} identifiers of commands come again before the command ended, so samples are missing"
        yield refusal("kernel-samples-missing", message, repeated=kernel.repeated)
    elif (controllers := len(np.unique(kernel.rows["controller"]))) > MAX_CONTROLLERS:
        yield refusal(CODE, f"there are more than {MAX_CONTROLLERS} controllers", controllers=controllers, limit=MAX_CONTROLLERS)
    elif not link.queues:
        yield refusal("no-queues", "no queue of a drive was told from others on the link")


def _assigned(link: Link, kernel: KernelCommands) -> tuple[list[_Queue], list[Diagnostic]]:
    """Return the queues with their commands, in the order of ends that contradicts less; where both do as little, it is not known."""
    queues, notes = _fitted(link, kernel)
    if not any(len(entries.ended) for entries in link.queues):
        return queues, notes
    if kernel.is_turned.any():
        tried = (queues, notes), _fitted(link, kernel.turned())
        costs = [(len(notes), sum(0 if queue.shift is None else queue.shift.conflicts for queue in queues)) for queues, notes in tried]
        chosen, others = tried if costs[0] <= costs[1] else tried[::-1]
        queues, notes = [], list(chosen[1])
        for queue, other in zip(chosen[0], others[0], strict=True):
            if not queue.agrees(other):
                queue = queue._replace(shift=None)
                notes += _why_not(format_id(queue.entries.requester), [queue])
            elif costs[0] == costs[1]:
                queue.commands["is_sure"][queue.commands["nth_complete"] != queue.commands["nth_turned"]] = False
            queues.append(queue)
    unsure = sum(int(np.count_nonzero(~one.commands["is_sure"] & (one.commands["nth_complete"] >= 0))) for one in queues)
    if unsure:
        message = f"{unsure:,} commands ended several at once, in an order that is not known: they have no time on the wire"
        notes.append(Diagnostic(Severity.INFO, "ends-at-once", message, details={"commands": unsure}))
    return queues, notes


def _fitted(link: Link, kernel: KernelCommands) -> tuple[list[_Queue], list[Diagnostic]]:
    """Return the queues with their commands: each drive belongs to the controller that it fits, if that is the only one."""
    notes: list[Diagnostic] = []
    controllers = np.unique(kernel.rows["controller"]).tolist()
    drives: dict[int, list[QueueEntries]] = {}
    for entries in link.queues:
        drives.setdefault(entries.requester, []).append(entries)
    tried = {requester: {each: _tried(queues, each, kernel, link) for each in controllers} for requester, queues in sorted(drives.items())}
    fitting = _fitting(tried, link)
    found: list[_Queue] = []
    for requester, queues in sorted(drives.items()):
        name, fits = format_id(requester), fitting[requester]
        if len(fits) == 1:
            found += tried[requester][fits[0]]
        elif fits:
            message = f"{name} fits several controllers of the kernel's side, or one that another drive fits: its commands are not joined"
            notes.append(
                Diagnostic(
                    Severity.WARNING,
                    "ambiguous-controller",
                    message,
                    where=name,
                    details={"controllers": [each for each in fits if each >= 0]},
                )
            )
            found += [_Queue(entries, None, kernel.rows[:0], None) for entries in queues]
        else:
            # Queue by queue, where only one controller is there at all.
            is_only = len(controllers) == len(drives) == 1
            alone = tried[requester][controllers[0]] if is_only else [_Queue(one, None, kernel.rows[:0], None) for one in queues]
            found += alone
            notes += _why_not(name, alone)
    return found, notes


def _fitting(tried: Mapping[int, Mapping[int, Sequence[_Queue]]], link: Link) -> dict[int, list[int]]:
    """Return by drive the controllers that it fits: order does not contradict it, and each drive has another one, of one clock."""
    fitting = {
        requester: [
            controller for controller, queues in by_controller.items()
            if all(queue.shift is not None and queue.shift.is_possible for queue in queues)
        ]
        for requester, by_controller in tried.items()
    }  # fmt: skip
    several = [requester for requester, fits in fitting.items() if fits]
    if all(len(fitting[requester]) == 1 for requester in several) and len({fitting[one][0] for one in several}) == len(several):
        return fitting
    bounds = {
        (requester, controller): _bounds([_of_commands(_rows(queue)) for queue in tried[requester][controller]])
        for requester in several
        for controller in fitting[requester]
    }
    choices = islice(product(*(fitting[requester] for requester in several)), _MOST_CHOICES + 1)
    apart = [choice for choice in choices if len(set(choice)) == len(choice)]
    left = [
        choice for choice in apart
        if link.time_bits is None or _are_of_a_clock([bounds[pair] for pair in zip(several, choice, strict=True)], link)
    ]  # fmt: skip
    if not left or len(apart) > _MOST_CHOICES:
        left = [(-1,) * len(several), *apart]
    return fitting | {requester: sorted({choice[number] for choice in left}) for number, requester in enumerate(several)}


def _why_not(name: str, tried: Sequence[_Queue]) -> Iterator[Diagnostic]:
    for queue in tried:
        number, shift = queue.entries.queue, queue.shift
        where = f"{name}, queue {number}"
        counts = [len(each) for each in (queue.entries.fetched, queue.entries.ended, queue.commands)]
        sides = "{:,} fetches, {:,} completion entries, {:,} commands of the kernel".format(*counts)
        if queue.controller is None:
            message, code = f"no controller of the kernel's side fits it ({sides}): its commands are not joined", "no-controller"
        elif shift is None:
            message, code = f"where it stands in the kernel's side is not certain ({sides}): its commands are not joined", "ambiguous-order"
        elif not shift.is_possible:
            message = f"order contradicts {shift.conflicts:,} of {shift.checks:,} times that its commands are those of the kernel ({sides})"
            code = "order-differs"
        else:
            continue
        yield Diagnostic(Severity.WARNING, code, message, where=where, details={"queue": number})


def _tried(queues: Sequence[QueueEntries], controller: int, kernel: KernelCommands, link: Link) -> list[_Queue]:
    """Return the queues of a drive with their commands; where order leaves several possibilities, the one that a clock allows."""
    own = [kernel.of(controller, entries.queue) for entries in queues]
    shifts = [shifts_of(entries, commands, link.end) if len(commands) else [] for entries, commands in zip(queues, own, strict=True)]
    found = [
        _Queue(entries, controller, commands, each[0] if len(each) == 1 else None)
        for entries, commands, each in zip(queues, own, shifts, strict=True)
    ]
    for number, queue in enumerate(found):
        if queue.is_part and len(queue.entries.fetched) + len(queue.entries.ended) < _LEAST:
            found[number], shifts[number] = queue._replace(shift=None), []
        elif queue.is_part and queue.shift is not None and link.time_bits is not None and not _fits(queue, (), link):
            # The only place that order leaves is none, as where samples or trace are missing.
            found[number], shifts[number] = queue._replace(shift=None), []
    certain = [_of_commands(_rows(queue)) for queue in found if queue.shift is not None and queue.shift.is_possible]
    for number, queue in enumerate(found):
        if len(shifts[number]) < 2 or link.time_bits is None:
            continue
        left = [each for each in shifts[number] if _fits(queue._replace(shift=each), certain, link)]
        if len(left) == 1:
            found[number] = queue._replace(shift=left[0])
            certain.append(_of_commands(_rows(found[number])))
    return found


def _fits(queue: _Queue, certain: Sequence[Bounds], link: Link) -> bool:
    """Return whether a clock fits a queue beside others."""
    return _are_of_a_clock([*certain, _of_commands(_rows(queue))], link)


def _are_of_a_clock(bounds: Sequence[Bounds], link: Link) -> bool:
    """Return whether a clock fits; where ticks may be missing, whether a tick may be as long as it is known to be."""
    clock = clock_of(_bounds(bounds))
    if clock is None:
        return True
    if link.may_miss:
        return clock.longest_ns > 0 and clock.longest_ns >= (link.tick_ns or 0)
    low, high = clock.tick_ns if clock.is_possible else (np.inf, 0)
    return low <= (link.tick_ns or low) * NEAR and (link.tick_ns or high) <= high * NEAR and high > 0


def _rows(queue: _Queue) -> Array:
    """Return the joined commands of a queue."""
    assert queue.shift is not None
    commands, entries, shift = queue.commands, queue.entries, queue.shift
    rows: Array = np.zeros(len(commands), dtype=COLUMNS)
    for name in ("queue", "opcode", "block", "bytes", "setup", "complete", "pid", "name"):
        rows[name] = commands[name]
    rows["requester"] = entries.requester
    sides = (
        ("fetched", "nth_setup", shift.submissions, entries.fetched, entries.fetched_at),
        ("ended", "nth_complete", shift.ends, entries.ended, entries.ended_at),
    )
    for name, nth, first, tlps, ticks in sides:
        rows[name] = rows[f"{name}_at"] = -1
        at = commands[nth] - first
        inside = (commands[nth] >= 0) & (at >= 0) & (at < len(tlps)) & (commands["is_sure"] | (name == "fetched"))
        rows[name][inside], rows[f"{name}_at"][inside] = tlps[at[inside]], ticks[at[inside]]
    return rows[(rows["fetched"] >= 0) | (rows["ended"] >= 0)]


def _together(found: Sequence[tuple[_Queue, Array]]) -> Array:
    if not found:
        return np.empty(0, dtype=COLUMNS)
    rows = np.concatenate([rows for _, rows in found])
    return rows[np.where(rows["setup"] >= 0, rows["setup"], rows["complete"]).argsort(kind="stable")]


def _clock(found: Sequence[tuple[_Queue, Array]], link: Link, samples: Samples) -> tuple[Clock | None, int]:
    """Return the clocks that contradict nothing, and how many moments bound them."""
    if link.time_bits is None or not found:
        return None, 0
    own = [_of_commands(rows) for _, rows in found]
    further = list(_of_others(found, link, samples))
    if further:
        # A doorbell may be written twice, or an interrupt come from elsewhere: what they say only makes the band narrower.
        narrow = _bounds([*own, *further])
        clock = clock_of(narrow, _near(link))
        if clock is not None and clock.is_possible:
            return clock, narrow.count
    bounds = _bounds(own)
    return clock_of(bounds, _near(link)), bounds.count


def _near(link: Link) -> tuple[float, float] | None:
    """Return the ticks that anchors leave; their clock may be slewed against that of perf."""
    return None if link.ticks is None else (link.ticks[0] / NEAR, link.ticks[1] * NEAR)


def _bounds(parts: Sequence[Bounds]) -> Bounds:
    names = ("after_ticks", "after_ns", "before_ticks", "before_ns")
    return Bounds(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _of_commands(rows: Array) -> Bounds:
    """Return what bounds a clock: a command is fetched after its submission, and its completion entry is written before its end."""
    fetched, ended = rows["fetched_at"] >= 0, rows["ended_at"] >= 0
    begun, done = rows["setup"] >= 0, rows["complete"] >= 0
    late, early = fetched & begun, ended & done
    # Where one of the two was not traced, the other one is bounded on both sides.
    only_ended, only_fetched = ended & begun & ~fetched, fetched & done & ~ended
    return Bounds(
        np.concatenate((rows["fetched_at"][late], rows["ended_at"][only_ended])),
        np.concatenate((rows["setup"][late], rows["setup"][only_ended])),
        np.concatenate((rows["ended_at"][early], rows["fetched_at"][only_fetched])),
        np.concatenate((rows["complete"][early], rows["complete"][only_fetched])),
    )


def _of_others(found: Sequence[tuple[_Queue, Array]], link: Link, samples: Samples) -> Iterator[Bounds]:
    """Yield what doorbells and interrupts say, where the trace holds all that the kernel saw of a drive."""
    none: Array = np.empty(0, dtype=np.int64)
    drives: dict[tuple[int, int], list[_Queue]] = {}
    for queue, _ in found:
        if queue.controller is not None:
            drives.setdefault((queue.entries.requester, queue.controller), []).append(queue)
    for (requester, controller), queues in drives.items():
        for queue in queues:
            setups = np.sort(queue.commands["setup"][queue.commands["setup"] >= 0])
            # Each submission has its own doorbell.
            if len(queue.entries.rung_at) == len(setups) == len(queue.entries.fetched):
                yield Bounds(queue.entries.rung_at, setups, none, none)
        written, handled = link.interrupts.get(requester, none), interrupts_of(samples, controller)
        counts = [(len(queue.entries.ended), int(np.count_nonzero(queue.commands["complete"] >= 0))) for queue in queues]
        # The k-th interrupt that is handled was written before; of several that wait, one is handled.
        if len(handled) <= len(written) and all(traced == seen for traced, seen in counts):
            yield Bounds(none, none, written[: len(handled)], handled)


def _band(clock: Clock, bounds: int, rows: Array, link: Link) -> ClockBand:
    may_miss = link.may_miss
    if may_miss or not clock.is_possible:
        # A line that fits may be none of the true clock where ticks are missing: all that holds is the longest tick.
        longest = clock.longest_ns if may_miss and np.isfinite(clock.longest_ns) else None
        return ClockBand(False, bounds, None, longest, None, None, clock.missed_ns, may_miss)
    ticks = np.concatenate((rows["fetched_at"], rows["ended_at"]))
    ticks = ticks[ticks >= 0]
    first, last = clock.at(np.array([ticks.min(), ticks.max()]))
    low, high = clock.tick_ns
    near = _near(link)
    anchors = link.anchors if near is not None and near[0] <= low <= high <= near[1] else 0
    middle = int((int(first[0]) + int(last[0])) // 2)
    return ClockBand(True, bounds, low, high, float((last - first).max()) / 2, middle, 0.0, may_miss, anchors)


def _clock_notes(band: ClockBand | None, link: Link, path: str) -> Iterator[Diagnostic]:
    if band is None or band.is_possible:
        return
    details: dict[str, object] = {"missed_ns": band.missed_ns, "bounds": band.bounds}
    missed = f"{band.missed_ns / 1000:,.1f} µs at least, of {band.bounds:,} bounds"
    if band.may_miss_ticks and not (link.goes_back and band.missed_ns):
        details["tick_ns_high"] = band.tick_ns_high
        longest = "" if band.tick_ns_high is None else f"A tick is {band.tick_ns_high:,.6g} ns at most. "
        seen = f"no clock fits both sides (they differ by {missed}): ticks of gaps are" if band.missed_ns else "ticks of gaps may be"
        message = (
            f"{seen} missing, as a Time field of 11 bits does not show them, nor does a hole. {longest}Order joins the commands without "
            "a clock; TLPs are not placed in the kernel's time"
        )
        yield Diagnostic(Severity.INFO, "ticks-missing", message, where=path, details=details)
        return
    message = (
        f"no clock fits both sides (they differ by {missed}): the Time field is not a counter of ticks of one length, or trace is missing, "
        "or the commands are others. Times in ticks are not to be trusted"
    )
    yield Diagnostic(Severity.ERROR, "clock-refuted", message, where=path, details=details)


def _queue(queue: _Queue, joined: int) -> QueueJoin:
    commands, entries, shift = queue.commands, queue.entries, queue.shift
    return QueueJoin(
        requester=format_id(entries.requester),
        controller=queue.controller,
        queue=entries.queue,
        fetches=len(entries.fetched),
        completions=len(entries.ended),
        submitted=int(np.count_nonzero(commands["nth_setup"] >= 0)),
        ended=int(np.count_nonzero(commands["complete"] >= 0)),
        first_submitted=None if shift is None or not len(entries.fetched) else shift.submissions,
        first_ended=None if shift is None or not len(entries.ended) else shift.ends,
        conflicts=0 if shift is None else shift.conflicts,
        commands=joined,
    )
