"""Commands by queue and by phase, as they are in results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

WHOSE: Final = {
    "doorbell_to_fetch": "the drive has yet to fetch",
    "fetch_to_completion": "the drive and its medium work",
    "completion_to_interrupt": "the drive has yet to interrupt",
    "interrupt_to_doorbell": "the host handles the interrupt",
    "doorbell_to_next": "the host has nothing to submit",
}
"""The phases that follow each other in the life of a command, and what happens in them."""


class StepTimes(Struct, frozen=True):
    """How long a phase of commands takes. Percentiles are those of the nearest rank, and off by at most 1/256 of their value.

    Parameters
    ----------
    n : int
        How often it was seen from start to end.
    p50, p90, p99, max, mean : float
        Percentiles, the largest one, and the mean.
    max_index : int
        Number of the TLP with which the longest one begins.
    share : float or None
        Its share of the mean time of a command, from one doorbell to the next: of the phases that were seen. None for a phase inside
        another one.
    is_least : bool
        Whether it takes so long at least: headers do not tell which of several begins it.
    """

    n: int
    p50: float
    p90: float
    p99: float
    max: float
    mean: float
    max_index: int
    share: float | None
    is_least: bool


class Phases(Struct, frozen=True):
    """The phases of commands; None for one that was not seen.

    Parameters
    ----------
    doorbell_to_fetch : StepTimes or None
        From a tail doorbell to the fetch behind it: the drive reacts.
    fetch_to_completion : StepTimes or None
        From the fetch to the completion entry: the drive and its medium. The numbers are lower limits: see :class:`CommandLatency`.
    completion_to_interrupt : StepTimes or None
        From a completion entry to the interrupt that tells of it: the drive may join several.
    interrupt_to_doorbell : StepTimes or None
        From the interrupt to the head doorbell behind it: the host.
    doorbell_to_next : StepTimes or None
        From a head doorbell to the next tail doorbell of the queue: the application.
    fetch_to_data, data, data_to_completion : StepTimes or None
        Of commands that were alone in their drive: from the fetch to the first data, from the first to the last, and to the completion.
    """

    doorbell_to_fetch: StepTimes | None
    fetch_to_completion: StepTimes | None
    completion_to_interrupt: StepTimes | None
    interrupt_to_doorbell: StepTimes | None
    doorbell_to_next: StepTimes | None
    fetch_to_data: StepTimes | None
    data: StepTimes | None
    data_to_completion: StepTimes | None

    def scaled(self, tick_ns: float) -> Phases:
        """Return the same in nanoseconds."""
        return Phases(*(None if each is None else _scaled(each, tick_ns) for each in _fields(self)))

    @property
    def longest(self) -> tuple[str, StepTimes] | None:
        """The phase with the largest share, and its times."""
        steps = [(name, times) for name in WHOSE if (times := getattr(self, name)) is not None]
        return max(steps, key=lambda step: step[1].share or 0, default=None)


class CommandLatency(Struct, frozen=True):
    """Time from the fetch of commands to their completion.

    Headers do not tell which completion belongs to which command. Each number has two values, the lower one first: from matching each
    completion with the oldest and with the newest open command of its queue. They are equal where one command is open at a time. The
    second one is None where commands were fetched before the recording, or before a hole in it: these may take any time.

    Parameters
    ----------
    n : int
        Commands.
    p50, p90, p99, max : list of float or None
        Percentiles, and the longest one. No order makes the longest one shorter than the first value.
    mean : float
        The mean, the oldest command taken first: exact if all commands were fetched in the recording, and ended in it.
    max_index : int
        Number of the fetch with which the longest one begins, the oldest command taken first.
    """

    n: int
    p50: list[float | None]
    p90: list[float | None]
    p99: list[float | None]
    max: list[float | None]
    mean: float
    max_index: int

    def scaled(self, tick_ns: float) -> CommandLatency:
        """Return the same in nanoseconds."""
        bounds = {name: [None if one is None else one * tick_ns for one in getattr(self, name)] for name in ("p50", "p90", "p99", "max")}
        return replace(self, mean=self.mean * tick_ns, **bounds)


class Sizes(Struct, frozen=True):
    """Bytes of data of commands that were alone in their drive, so that data between fetch and completion are theirs.

    Parameters
    ----------
    n : int
        Commands.
    p50, p90, p99, max, mean : float
        Percentiles (1/256), the largest one, and the mean.
    """

    n: int
    p50: float
    p90: float
    p99: float
    max: float
    mean: float


class Queue(Struct, frozen=True):
    """A queue of a drive: a submission queue and the completion queue of the same number.

    Parameters
    ----------
    requester : str
        Requester ID of the drive.
    queue : int or None
        Its number; 0 is that of admin commands. None for all whose queue is not known.
    commands : int or None
        Commands that were seen.
    fetched, completed : int or None
        Submission entries that were fetched, and completion entries that were written; None where not traced.
    doorbells, head_doorbells : int or None
        Writes of the tail doorbell, by which commands are submitted, and of the head doorbell. None where they were not traced, or where
        the drive's registers are not known.
    interrupts : int or None
        Interrupts that told of its completions; None where not traced.
    in_flight : int or None
        The most commands in flight at a time, at least.
    sizes : Sizes or None
        Bytes of its commands.
    latency : CommandLatency or None
        Ticks from fetch to completion.
    phases : Phases
        Ticks by phase.
    conflicts : int
        Entries that are nearer to another queue's doorbell than to one of this.
    """

    requester: str
    queue: int | None
    commands: int | None
    fetched: int | None
    completed: int | None
    doorbells: int | None
    head_doorbells: int | None
    interrupts: int | None
    in_flight: int | None
    sizes: Sizes | None
    latency: CommandLatency | None
    phases: Phases
    conflicts: int


class DriveCommands(Struct, frozen=True):
    """The commands of a drive.

    Parameters
    ----------
    queues : list of Queue
        Its queues, by number.
    phases : Phases
        Ticks by phase.
    latency : CommandLatency or None
        Ticks from fetch to completion.
    sizes : Sizes or None
        Bytes of its commands.
    per_tick, per_second : float or None
        Commands completed a tick, and a second; None where time is not known.
    is_shadowed : bool or None
        Whether its doorbells are also in memory, which it reads (shadow doorbells): then few are written. None where that was not traced.
    interrupt_addresses : int or None
        Addresses that its interrupts are written to. With one, headers do not tell of which queue an interrupt is.
    told : int or None
        Completions that an interrupt told of; with the number of interrupts that is how many they join.
    """

    queues: list[Queue]
    phases: Phases
    latency: CommandLatency | None
    sizes: Sizes | None
    per_tick: float | None
    per_second: float | None
    is_shadowed: bool | None
    interrupt_addresses: int | None
    told: int | None


def _fields(phases: Phases) -> list[StepTimes | None]:
    get: Callable[[str], StepTimes | None] = phases.__getattribute__
    return [get(name) for name in Phases.__struct_fields__]


def _scaled(times: StepTimes, by: float) -> StepTimes:
    return replace(times, **{name: getattr(times, name) * by for name in ("p50", "p90", "p99", "max", "mean")})
