"""The commands of drives as results: by queue, by phase, and together."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ptttool.analyses.io.commands.document import WHOSE, CommandLatency, DriveCommands, Phases, Queue, Sizes, StepTimes
from ptttool.analyses.io.commands.follow import STEP_BITS, Followed, are_apart
from ptttool.analyses.io.commands.rings import UNKNOWN
from ptttool.analyses.latency.bins import BIN_BITS, bin_of, edges_of, percentile
from ptttool.analyses.sums import NO_ROW
from ptttool.analyses.time.facts import TimeFacts
from ptttool.kernel.commands import GROUP, STEPS
from ptttool.pci import format_id

Array = npt.NDArray[Any]

_SHARES = (0.5, 0.9, 0.99)
_PEAK, _UNMATCHED, _INTERRUPTS = (GROUP.index(name) for name in ("peak", "unmatched", "interrupts"))
_ADMIN = 0


class _Times:
    """Times of steps of some queues: their bins, and what else is known of each step."""

    def __init__(self, rows: tuple[Array, ...], groups: Iterable[int]) -> None:
        keys, counts, sums, most, first = rows
        mine = np.isin(keys >> BIN_BITS + STEP_BITS, list(groups))
        self._steps = keys[mine] >> BIN_BITS & (1 << STEP_BITS) - 1
        self._bins = keys[mine] & (1 << BIN_BITS) - 1
        self._rows = counts[mine], sums[mine], most[mine], first[mine]

    def of(self, step: str) -> tuple[int, list[float], float, float, int] | None:
        """Return how often a step was seen, its percentiles, the largest, the mean and the number of the TLP; None if never."""
        rows = np.flatnonzero(self._steps == STEPS.index(step))
        if not len(rows):
            return None
        counts, sums, most, first = (each[rows] for each in self._rows)
        bins, inverse = np.unique(self._bins[rows], return_inverse=True)
        by_bin = np.bincount(inverse, counts).astype(np.int64)
        number, largest = int(counts.sum()), int(most.max())
        values = [float(min(percentile(bins, by_bin, share) or 0, largest)) for share in _SHARES]
        if step == "bytes":  # whole sectors, which are the smallest numbers of their bins
            values = [float(value) for value in edges_of(bin_of(np.array(values, dtype=np.int64)))[0].tolist()]
        return number, values, float(largest), float(sums.sum()) / number, int(np.where(most == largest, first, NO_ROW).min())


class CommandSummary:
    """The commands of a whole recording.

    Parameters
    ----------
    followed : Followed
        The commands; no more rows come.
    time : TimeFacts
        What is known of time.
    sees_doorbells : bool
        Whether writes of the processor were traced.
    """

    def __init__(self, followed: Followed, time: TimeFacts, *, sees_doorbells: bool) -> None:
        self._followed, self._time, self._sees_doorbells = followed, time, sees_doorbells
        self._rows = followed.times.rows()
        self._groups = np.asarray(followed.groups)
        self._is_timed = followed.events.is_timed and not followed.left_out

    @cached_property
    def _pages(self) -> tuple[Any, Any]:
        return self._followed.rings.pages()

    def drive(self, requester: int, *, reads: bool, writes: bool, answers: bool) -> DriveCommands:
        """Return the commands of a drive; `reads`, `writes`, `answers`: whether its reads, its writes and the completions were traced."""
        rings = self._followed.rings
        fetched, ended = (_by_queue(pages, requester) if seen else None for pages, seen in zip(self._pages, (reads, writes), strict=True))
        answered = self._answered(requester) if answers and not reads else None
        written = {queue: counts for (owner, queue), counts in rings.doorbells.counts().items() if owner == requester}
        is_known = self._sees_doorbells and (bool(written) or bool(len(rings.shadowed) and requester in rings.shadowed))
        seen = set[int]().union(*(each for each in (fetched, ended, answered) if each is not None))
        queues = []
        for queue in sorted(seen | {queue for queue, counts in written.items() if counts[0]}, key=lambda one: (one < 0, one)):
            doorbells = written.get(queue, [0, 0]) if is_known and queue >= 0 else [None, None]
            queues.append(self._queue(requester, queue, fetched, ended, answered, doorbells))
        phases, latency, sizes = self.together([requester])
        completed = sum(count for count, _ in ended.values()) if ended is not None else None
        elapsed = None if self._time.breaks else self._time.elapsed_ticks
        per_tick = completed / elapsed if completed is not None and elapsed else None
        interrupts = rings.interrupts()
        return DriveCommands(
            queues=queues,
            phases=phases,
            latency=latency,
            sizes=sizes,
            per_tick=per_tick,
            per_second=None if per_tick is None or self._time.tick_ns is None else per_tick / self._time.tick_ns * 1e9,
            is_shadowed=bool(np.isin(requester, rings.shadowed)) if reads or answers else None,
            interrupt_addresses=int((interrupts >> 47 == requester).sum()) if writes else None,
            told=self._followed.told(requester) if writes else None,
        )

    def together(self, requesters: Iterable[int]) -> tuple[Phases, CommandLatency | None, Sizes | None]:
        """Return how long the commands of drives took, and their sizes."""
        ids = set(requesters)
        return self._times(group for (owner, _), group in self._followed.numbers.items() if owner in ids)

    def _answered(self, requester: int) -> dict[int, tuple[int, int]]:
        """Return by queue the answers to fetches, where these were not traced."""
        rings = self._followed.rings
        is_memory = int(np.isin(requester, rings.shadowed))
        keys, counts, unsure = rings.answers.rows()
        mine = keys >> 12 == (requester << 1 | is_memory)
        rows = zip(*(each[mine].tolist() for each in (keys, counts, unsure)), strict=True)
        found = {(key & 0xFFF) - 1: (count, doubtful) for key, count, doubtful in rows}
        total, doubtful = (sum(each) for each in zip((0, 0), *found.values(), strict=True))
        if not doubtful:
            return found
        # Where each fetch had a doorbell of its own, these tell how many are of a queue, if not which ones.
        rung = {queue: tails for (owner, queue), (tails, _) in rings.doorbells.counts().items() if owner == requester and tails}
        return {queue: (tails, 0) for queue, tails in rung.items()} if sum(rung.values()) == total else {UNKNOWN: (total, 0)}

    def _queue(self, requester: int, queue: int, fetched: Any, ended: Any, answered: Any, doorbells: Any) -> Queue:
        counts = [None if each is None else each.get(queue, (0, 0)) for each in (fetched, ended, answered)]
        submitted, completed, told = (None if each is None else each[0] for each in counts)
        group = self._followed.numbers.get((requester, queue))
        phases, latency, sizes = self._times([] if group is None else [group])
        row = None if group is None else self._groups[group]
        if submitted is None:
            submitted = told
        commands = max((each for each in (submitted, completed) if each is not None), default=None)
        return Queue(
            requester=format_id(requester),
            queue=None if queue == UNKNOWN else queue,
            commands=commands,
            fetched=submitted,
            completed=completed,
            doorbells=doorbells[0],
            head_doorbells=doorbells[1],
            interrupts=None if row is None or completed is None or queue == UNKNOWN else int(row[_INTERRUPTS]),
            in_flight=None if row is None or fetched is None or ended is None else int(row[_PEAK]),
            sizes=sizes,
            latency=latency,
            phases=phases,
            conflicts=sum(each[1] for each in counts if each is not None),
        )

    def _times(self, groups: Iterable[int]) -> tuple[Phases, CommandLatency | None, Sizes | None]:
        groups = list(groups)
        if not self._is_timed:
            return Phases(*(None,) * len(Phases.__struct_fields__)), None, None
        times = _Times(self._rows, groups)
        names = {number: queue for (_, queue), number in self._followed.numbers.items()}
        before = sum(int(self._groups[group, _UNMATCHED]) for group in groups if names[group] != _ADMIN and group < len(self._groups))
        shadowed = self._followed.rings.shadowed
        is_shadowed = any(owner in shadowed for (owner, _), number in self._followed.numbers.items() if number in groups)
        latency = _latency(times, is_whole=not (before or self._followed.breaks))
        owners = {owner for (owner, _), number in self._followed.numbers.items() if number in groups}
        is_mixed = not all(are_apart(owner, *self._pages) for owner in owners)
        # One command at a time leaves no choice; percentiles of both orders may be equal by chance.
        is_exact = not before and all(self._groups[group, _PEAK] <= 1 for group in groups if group < len(self._groups))
        steps: dict[str, Any] = {name: times.of(name) for name in Phases.__struct_fields__ if name != "fetch_to_completion"}
        if before:
            # Commands that were fetched before the recording may be in the drive, too.
            steps |= dict.fromkeys(("fetch_to_data", "data", "data_to_completion"))
        if latency is not None:
            low = [float(one[0] or 0) for one in (latency.p50, latency.p90, latency.p99)]
            steps["fetch_to_completion"] = latency.n, low, float(latency.max[0] or 0), latency.mean, latency.max_index
        life = sum(steps[name][3] for name in WHOSE if steps.get(name) is not None)
        several = sum(steps.get(name) is not None for name in WHOSE) > 1
        phases = {}
        for name in Phases.__struct_fields__:
            found = steps.get(name)
            if found is not None:
                is_each = latency is not None and found[0] == latency.n
                least = {
                    "fetch_to_completion": not is_exact,
                    "doorbell_to_fetch": is_shadowed or is_mixed or not is_each,
                    "interrupt_to_doorbell": is_shadowed or is_mixed,
                    "doorbell_to_next": is_mixed,
                }
                share = found[3] / life if name in WHOSE and life and several else None
                p50, p90, p99 = found[1]
                found = StepTimes(found[0], p50, p90, p99, found[2], found[3], found[4], share, least.get(name, False))
            phases[name] = found
        return Phases(**phases), latency, None if before else _sizes(times)


def _by_queue(pages: Any, requester: int) -> dict[int, tuple[int, int]]:
    mine = pages.requesters == requester
    found: dict[int, tuple[int, int]] = {}
    for queue, slots, conflicts in zip(*(each[mine].tolist() for each in (pages.queues, pages.slots, pages.conflicts)), strict=True):
        before = found.get(queue, (0, 0))
        found[queue] = before[0] + slots, before[1] + conflicts
    return found


def _sizes(times: _Times) -> Sizes | None:
    sizes = times.of("bytes")
    if sizes is None:
        return None
    p50, p90, p99 = sizes[1]
    return Sizes(sizes[0], p50, p90, p99, sizes[2], sizes[3])


def _latency(times: _Times, *, is_whole: bool) -> CommandLatency | None:
    oldest, newest = times.of("oldest"), times.of("newest")
    if oldest is None or newest is None:
        return None

    def bounds(one: float, other: float) -> list[float | None]:
        return [min(one, other), max(one, other) if is_whole else None]

    p50, p90, p99 = (bounds(one, other) for one, other in zip(oldest[1], newest[1], strict=True))
    return CommandLatency(oldest[0], p50, p90, p99, [oldest[2], newest[2] if is_whole else None], oldest[3], oldest[4])
