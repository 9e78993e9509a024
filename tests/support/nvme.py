"""NVMe drives, their driver and the kernel's tracepoints, simulated together: recordings of both sides whose truth is known.

Each drive fetches the entries of a queue in their order, and ends commands in any. What the model leaves out does not cross the link.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import NamedTuple

from ptttool.capture.event.build import TraceRequest, build
from ptttool.capture.event.terms import Direction, Format, TlpType
from ptttool.generate.functions import PAGE, Function, Host
from ptttool.generate.link import Link, Process, Queue, Sent
from ptttool.generate.records import _is_traced
from ptttool.pci import PciAddress
from tests.support.recordings import START_TIME, build_perfdata
from tests.support.tracepoints import (
    COMPLETE,
    ENTRY,
    EVENTS,
    ISSUE,
    SETUP,
    TAKEN,
    Event,
    Sample,
    comm,
    complete,
    entry,
    issue,
    kernel_file,
    lost,
    setup,
    taken,
)
from tests.support.traffic import Traffic

BEGIN_NS = START_TIME
TICK_NS = 4
READ, WRITE, FLUSH, TRIM, ADMIN = "read", "write", "flush", "trim", "admin"
OPCODES = {READ: 2, WRITE: 1, FLUSH: 0, TRIM: 9, ADMIN: 6}
REGISTERS, RINGS, MEMORY, MESSAGES = 0x80_1000_0000, 0x4000_0000, 0x20_0000_0000, 0x0809_0040
ENDINGS = EACH, LAST_FIRST, FIRST_FIRST, ELSEWHERE = "each", "last first", "first first", "elsewhere"
"""How the driver ends the commands whose entries it takes at once: each with its entry; behind all entries, in the opposite order or in
the same one; or on the CPU that submitted them, in any order."""


@dataclass(frozen=True)
class Run:
    """What is simulated.

    Parameters
    ----------
    queues, depth, commands : int
        I/O queues of a drive; commands at a time, and in all, of each queue.
    slots : int
        Entries of a ring.
    kinds, sizes : tuple
        What commands do, and with how many bytes.
    scattered : bool
        Whether pages of a command do not follow each other, so that those of more than two need a list.
    fetched_at_once : int
        Entries that a drive fetches with one read, at most.
    in_order : bool
        Whether a drive works on one command of a queue after the other.
    shadow, own_memory : bool
        Whether doorbells are in memory, too; whether the rings of submissions are in the drive.
    vectors : bool
        Whether each queue has an address of its own for its interrupts.
    coalesced, rung_at_once : float
        Chance that an entry waits for the next one before the interrupt; that a submission waits for the next one before the doorbell.
    ending : str
        One of :data:`ENDINGS`.
    admin : int
        Commands of the admin queue in between.
    think : float
        Mean time between the end of a command and the next one, ns.
    tick_ns : float
        Nanoseconds of a tick.
    names : tuple of bytes
        Names of the processes.
    """

    seed: int = 0
    drives: int = 1
    queues: int = 1
    depth: int = 4
    commands: int = 60
    slots: int = 64
    kinds: tuple[str, ...] = (READ,)
    sizes: tuple[int, ...] = (4096,)
    scattered: bool = True
    fetched_at_once: int = 1
    in_order: bool = False
    shadow: bool = False
    own_memory: bool = False
    vectors: bool = False
    coalesced: float = 0.0
    rung_at_once: float = 0.0
    ending: str = EACH
    admin: int = 0
    think: float = 2000.0
    tick_ns: float = TICK_NS
    names: tuple[bytes, ...] = (b"fio",)


@dataclass(eq=False)
class Command:
    """A command; times in ns since the start, and its TLPs."""

    drive: int
    queue: int
    identifier: int
    kind: str
    size: int
    block: int
    pid: int
    setup: float = 0
    complete: float = 0
    rung: Sent | None = None
    fetch: Sent | None = None
    answer: Sent | None = None
    entry: Sent | None = None
    done: Queue = field(default_factory=Queue)

    @property
    def bytes(self) -> int | None:
        return self.size if self.kind in (READ, WRITE) else None


class Logged(NamedTuple):
    """What the kernel notes."""

    event: Event
    time: float
    raw: bytes
    cpu: int
    tid: int


class _Pair:
    """A submission and a completion queue: the driver's side and the drive's."""

    def __init__(self, world: World, drive: int, number: int) -> None:
        self.world, self.drive, self.number, self.run = world, drive, number, world.run
        self.function, self.turn = world.functions[drive], world.turns[drive]
        place = RINGS + (drive * 32 + number) * 0x100000
        self.submissions, self.completions = place, place + 0x80000
        self.doorbell = REGISTERS + drive * 0x4000 + 0x1000 + number * 8
        self.shadow = RINGS + 0x8000000 + drive * 0x2000 + number * 8
        self.tail = self.fetched = self.written = self.head = 0
        self.seen_tail = self.known_tail = self.event_tail = 0
        self.ring: list[Command] = []
        self.posted: deque[Command] = deque()
        self.told = False
        self.handling = self.waiting_entry = False
        self.commands: list[Command] = []
        self.ended: list[Command] = []
        self.doorbells: list[Sent] = []
        self.busy = Queue()
        self.working = False
        self.unused = deque(range(self.run.depth if number else 1))
        self.generation = 0
        self.waits_to_ring: list[Command] = []
        self.free_at = 0.0

    @property
    def cpu(self) -> int:
        return max(self.number - 1, 0)

    def log(self, event: Event, raw: bytes, cpu: int | None = None, tid: int = 0) -> None:
        self.world.logged.append(Logged(event, self.world.link.now, raw, self.cpu if cpu is None else cpu, tid))

    # The driver.

    def submit(self, kind: str, size: int, pid: int) -> Process:
        rng, run = self.world.rng, self.run
        while self.world.link.now < self.free_at:
            yield self.free_at - self.world.link.now
        self.free_at = self.world.link.now + rng.uniform(150, 300)
        identifier = self.unused.popleft()
        self.generation = (self.generation + 1) % 16
        number = self.generation << 12 | identifier
        one = Command(self.drive, self.number, number, kind, size, 8 * rng.randrange(1 << 20), pid)
        one.setup = self.world.link.now
        self.log(
            SETUP, setup(self.number, number, slba=one.block, blocks=max(size // 512, 1), opcode=OPCODES[kind], ctrl=self.drive), tid=pid
        )
        self.commands.append(one)
        self.ring.append(one)
        self.tail += 1
        self.waits_to_ring.append(one)
        if kind in (READ, WRITE):
            yield 20
            self.log(ISSUE, issue(one.block, size // 512), tid=pid)
        if not (rng.random() < run.rung_at_once and len(self.unused) > 1):
            yield from self.ring_up()
        else:
            self.world.link.start(self.ring_later(self.tail), 3000)
        yield one.done
        yield 400
        self.unused.append(identifier)

    def ring_later(self, tail: int) -> Process:
        if self.waits_to_ring:
            yield from self.ring_up()

    def ring_up(self) -> Process:
        rung, self.waits_to_ring = self.waits_to_ring, []
        old, tail = self.seen_tail, self.tail
        self.seen_tail = tail
        if not self.run.shadow or self.number == 0 or (self.event_tail - old) % (1 << 16) < self.tail - old:
            sent = yield from self.world.write(self.doorbell)
            self.doorbells.append(sent)
            for one in rung:
                one.rung = sent
            yield self.world.rng.uniform(30, 100)
            self.known_tail = max(self.known_tail, tail)
            self.world.link.start(self.fetch())

    def interrupt(self) -> Process:
        """Handle an interrupt: take the entries that are there."""
        rng, run = self.world.rng, self.run
        if self.handling:
            self.waiting_entry = True
            return
        self.handling = True
        yield rng.choice((200, 800, 3000, 20_000)) * rng.uniform(0.8, 1.2)
        while True:
            self.waiting_entry = False
            self.log(ENTRY, entry(40 + self.number, b"nvme%dq%d" % (self.drive, self.number)))
            yield rng.uniform(50, 200)
            found: list[Command] = []
            while self.head < self.written:
                one = self.ended[self.head]
                self.head += 1
                self.log(TAKEN, taken(self.number, ctrl=self.drive))
                yield rng.uniform(20, 60)
                if run.ending == EACH or self.number == 0:
                    self.end(one)
                    yield rng.uniform(20, 200)
                elif run.ending == ELSEWHERE:
                    self.world.link.start(self.end_elsewhere(one), rng.uniform(50, 3000))
                    found.append(one)
                else:
                    found.append(one)
            if found or run.ending == EACH or self.number == 0:
                yield from self.ring_head()
            if run.ending != ELSEWHERE:
                for one in found[::-1] if run.ending == LAST_FIRST else found:
                    self.end(one)
                    yield rng.uniform(20, 200)
            if not self.waiting_entry:
                break
            yield rng.uniform(100, 300)
        self.handling = False

    def ring_head(self) -> Process:
        if not self.run.shadow or self.number == 0 or self.world.rng.random() < 0.1:
            yield from self.world.write(self.doorbell + 4)

    def end(self, one: Command, cpu: int | None = None) -> None:
        one.complete = self.world.link.now
        self.log(COMPLETE, complete(self.number, one.identifier, ctrl=self.drive), cpu)
        self.world.link.wake(one.done)

    def end_elsewhere(self, one: Command) -> Process:
        self.end(one, one.pid % 4)
        return
        yield 0.0

    # The drive.

    def fetch(self) -> Process:
        """Fetch what was submitted; called at each doorbell."""
        if self.working:
            return
        self.working = True
        rng, run, function = self.world.rng, self.run, self.function
        yield from self.turn.take(run.shadow)
        if run.shadow:
            if not self.number:
                yield from function.write(self.shadow, 4)
            yield from function.read(self.shadow, 4)
        while self.fetched < (known := self.tail if run.shadow and self.number else self.known_tail):
            slot = self.fetched % run.slots
            count = min(1 if run.shadow else rng.randint(1, run.fetched_at_once), known - self.fetched, run.slots - slot)
            batch = self.ring[self.fetched : self.fetched + count]
            if not run.own_memory or self.number == 0:
                yield from function.read(self.submissions + 64 * slot, 64 * count)
            else:
                yield 100
            self.fetched += count
            for one in batch:
                if run.shadow:
                    yield from self.list(one)
                    if one.kind == WRITE:
                        yield from self.move(one)
                if run.in_order and not run.shadow:
                    yield from self.work(one)
                else:
                    self.world.link.start(self.work(one))
            if run.shadow:
                yield from function.write(self.shadow + 0x1000, 4)
                self.event_tail = self.fetched
                yield from function.read(self.shadow, 4)
        self.working = False
        self.turn.give(run.shadow)

    def list(self, one: Command) -> Process:
        """Read the list of a command's pages, or its ranges."""
        run, rng = self.run, self.world.rng
        pages = -(-one.size // PAGE)
        if one.kind == TRIM:
            yield from self.function.read(MEMORY + (1 << 37) + rng.randrange(256) * PAGE, 16)
        elif pages > 2 and run.scattered:
            chunk = rng.randrange(64) * 256
            size = PAGE - chunk % PAGE if run.shadow else 8 * (pages - 1)
            yield from self.function.read(MEMORY + (1 << 36) + chunk, size)

    def move(self, one: Command) -> Process:
        """Read or write the data of a command."""
        run, rng = self.run, self.world.rng
        pages, left = -(-one.size // PAGE), one.size
        start = MEMORY + rng.randrange(1 << 18) * 64 * PAGE
        for number in range(pages):
            place = MEMORY + rng.randrange(1 << 24) * PAGE if run.scattered else start + PAGE * number
            size = min(left, PAGE)
            yield from (self.function.write if one.kind == READ else self.function.read)(place, size)
            left -= size

    def work(self, one: Command) -> Process:
        rng, run, function = self.world.rng, self.run, self.function
        if not run.shadow:
            yield from self.list(one)
        if one.kind == READ:
            yield rng.expovariate(1 / 6000) + 500
            yield from self.turn.take(run.shadow)
            yield from self.move(one)
            self.turn.give(run.shadow)
        elif one.kind == WRITE:
            if not run.shadow:
                yield from self.move(one)
            yield rng.expovariate(1 / 6000) + 500
        elif one.kind == ADMIN:
            yield 2000
            yield from function.write(MEMORY + (1 << 37) + rng.randrange(256) * PAGE, PAGE)
        else:
            yield rng.expovariate(1 / 9000) + 300
        self.posted.append(one)
        if run.shadow:
            yield rng.uniform(100, 2000)
            if self.posted:
                yield from self.turn.take(True)
                yield from self.post()
                self.turn.give(True)
            return
        yield from self.post()

    def post(self) -> Process:
        """Write the entries of commands that ended, and the interrupt."""
        rng, run, function = self.world.rng, self.run, self.function
        if not self.posted:
            return
        while self.posted:
            one = self.posted.popleft()
            if run.shadow:
                yield from function.write(self.shadow + 0x1004, 4)
                yield from function.read(self.shadow + 4, 4)
            slot = len(self.ended)
            self.ended.append(one)
            yield from function.write(self.completions + 16 * (slot % run.slots), 16)
            self.written = max(self.written, slot + 1)
        if rng.random() < run.coalesced and self.number:
            if self.told:
                return
            self.told = True
            yield rng.uniform(1000, 8000)
            self.told = False
        message = MESSAGES + (PAGE * (self.drive * 32 + self.number) if run.vectors else 0)
        yield from function.write(message, 4)
        self.world.link.start(self.interrupt())


class _Turn:
    """One thread that does all the work of a drive."""

    def __init__(self, link: Link) -> None:
        self.link, self.taken, self.waiting = link, False, Queue()

    def take(self, wanted: bool) -> Process:
        while wanted and self.taken:
            yield self.waiting
        self.taken |= wanted

    def give(self, wanted: bool) -> None:
        if wanted:
            self.taken = False
            self.link.wake(self.waiting)


class World:
    """A link with its drives, and the kernel behind it."""

    def __init__(self, run: Run) -> None:
        self.run, self.rng = run, Random(run.seed)
        self.link = Link(self.rng, 7.88)
        self.host = Host(self.link, PciAddress.parse("0000:00:10.0").routing_id)
        self.functions = [Function(self.host, 0x0100 + drive) for drive in range(run.drives)]
        self.logged: list[Logged] = []
        self.turns = [_Turn(self.link) for _ in self.functions]
        self.pairs = [_Pair(self, drive, number) for drive in range(run.drives) for number in range(run.queues + 1)]
        for pair in self.pairs:
            for thread in range(run.depth if pair.number else min(run.admin, 1)):
                share = run.commands // run.depth + (thread < run.commands % run.depth) if pair.number else run.admin
                self.link.start(self._thread(pair, share, 400 + 16 * pair.number + thread), self.rng.uniform(0, run.think))
        self.link.run(1 << 40)
        self.sent = sorted(self.link.sent, key=lambda one: one.time)
        self._note()

    def write(self, address: int) -> Generator[float, None, Sent]:
        """Write a register; return what was sent, when it has passed."""
        from ptttool.generate import tlps

        passed = self.link.carry(tlps.request(tlps.MWR, 0, 0, address, 4), inbound=False)
        sent = self.link.sent[-1]
        yield passed
        return sent

    def _thread(self, pair: _Pair, commands: int, pid: int) -> Process:
        for _ in range(commands):
            if self.run.think:
                yield self.rng.expovariate(1 / self.run.think)
            kind = self.rng.choice(self.run.kinds) if pair.number else ADMIN
            size = self.rng.choice(self.run.sizes) if kind in (READ, WRITE) else 0
            yield from pair.submit(kind, size, pid)

    def _note(self) -> None:
        """Find the TLPs of commands."""
        rings = {pair.submissions: pair for pair in self.pairs}, {pair.completions: pair for pair in self.pairs}
        fetched, ended = dict.fromkeys(self.pairs, 0), dict.fromkeys(self.pairs, 0)
        open_: dict[tuple[int, int], list[Command]] = {}
        for sent in self.sent:
            tlp, kind = sent.tlp, sent.tlp.dw0 >> 24
            if not sent.inbound:
                if kind == 0x4A and (tlp.dw2 >> 16, tlp.dw2 >> 8 & 0xFF) in open_:
                    for one in open_.pop((tlp.dw2 >> 16, tlp.dw2 >> 8 & 0xFF)):
                        one.answer = sent
                continue
            address, size = tlp.dw2, 4 * (tlp.dw0 & 0x3FF)
            pair = rings[0].get(address & ~0x7FFFF) if kind == 0 and not address & 0x8000000 else None
            if pair is not None and address < RINGS + 0x8000000:
                count = size // 64
                commands = pair.ring[fetched[pair] : fetched[pair] + count]
                fetched[pair] += count
                open_[tlp.dw1 >> 16, tlp.dw1 >> 8 & 0xFF] = commands
                for one in commands:
                    one.fetch = sent
            pair = rings[1].get(address & ~0x7FFFF) if kind == 0x40 and size == 16 else None
            if pair is not None:
                pair.ended[ended[pair]].entry = sent
                ended[pair] += 1

    @property
    def commands(self) -> list[Command]:
        """All commands."""
        return [one for pair in self.pairs for one in pair.commands]


@dataclass(frozen=True)
class Trace:
    """What is recorded of a run.

    Parameters
    ----------
    format : Format
        4DW or 8DW.
    direction : Direction
        As the device has it.
    types : tuple of TlpType
        What is traced.
    part : tuple of float
        Where it begins and ends, as shares of the TLPs.
    hole : tuple of float or None
        What is missing in it, in the same way.
    shuffled : bool
        Whether samples lie in the file by CPU instead of by time.
    delta : bool
        Whether Time is the difference to the record before.
    lost : int
        Samples that are missing, as the kernel says.
    kernel_part : tuple of float
        Where the samples begin and end, as shares of them.
    """

    format: Format = Format.DW8
    direction: Direction = Direction.BOTH
    types: tuple[TlpType, ...] = tuple(TlpType)
    part: tuple[float, float] = (0.0, 1.0)
    hole: tuple[float, float] | None = None
    shuffled: bool = False
    delta: bool = False
    lost: int = 0
    kernel_part: tuple[float, float] = (0.0, 1.0)


class Recorded(NamedTuple):
    """A pair of recordings.

    Attributes
    ----------
    path : Path
        The recording; the kernel's side lies beside it.
    world : World
        What happened.
    numbers : dict
        By id of what was sent, the number of its record.
    is_fetched : bool
        Whether fetches were recorded, and not only the answers to them.
    """

    path: Path
    world: World
    numbers: dict[int, int]
    is_fetched: bool

    def of(self, sent: Sent | None) -> int | None:
        return None if sent is None else self.numbers.get(id(sent))

    def tlps(self, one: Command) -> tuple[int | None, int | None]:
        """Return the numbers of the fetch of a command, and of its completion entry."""
        return self.of(one.fetch if self.is_fetched else one.answer), self.of(one.entry)


def record(world: World, trace: Trace, folder: Path) -> Recorded:
    """Write a pair of recordings."""
    request = TraceRequest(
        device="hisi_ptt0_0", root_ports=(PciAddress.parse("0000:00:10.0"),), direction=trace.direction, format=trace.format,
        types=trace.types,
    )  # fmt: skip
    built = build(request, force=True)
    traced = [one for one in world.sent if _is_traced(one, built.flow)]
    first, last = (int(share * len(traced)) for share in trace.part)
    traced = traced[first:last]
    pieces = [traced]
    if trace.hole is not None:
        gap = [int(share * len(traced)) for share in trace.hole]
        pieces = [traced[: gap[0]], traced[gap[1] :]]
    index: dict[int, int] = {}
    chunks, events, offset = [], [], 0
    before = 0
    for number, piece in enumerate(pieces):
        made = Traffic(trace.format is Format.DW8)
        for sent in piece:
            ticks = int(sent.time / world.run.tick_ns) + 12345
            made.add(sent.tlp, min(ticks - before, (1 << 32) - 1) if trace.delta else ticks)
            before = ticks
            index[id(sent)] = len(index)
        data = b"".join(struct.pack(f"<{len(words)}I", *words) for _, _, words in made.records)
        if data:
            end = BEGIN_NS + int(piece[-1].time) + world.rng.choice((2000, 1_000_000))
            chunks.append((0, offset, data))
            events.append((0, offset, len(data), 1 if number < len(pieces) - 1 else 0, end))
            offset += len(data)
    path = folder / "run.data"
    path.write_bytes(
        build_perfdata(
            chunks,
            config=built.config,
            name=built.event,
            aux_events=events,
            end_time=max((one[4] for one in events), default=BEGIN_NS) + 10**7,
        )
    )
    samples = [Sample(one.event, BEGIN_NS + int(one.time), one.raw, one.cpu, one.tid) for one in world.logged]
    samples.sort(key=lambda one: one.time)
    first, last = (int(share * len(samples)) for share in trace.kernel_part)
    samples = samples[first:last]
    del samples[len(samples) // 2 : len(samples) // 2 + trace.lost]
    if trace.shuffled:
        # perf writes the buffers of CPUs one after the other.
        samples.sort(key=lambda one: one.cpu)
    threads = {one.pid: one for one in world.commands}
    others = b"".join(comm(pid, world.run.names[pid % len(world.run.names)]) for pid in threads)
    if trace.lost:
        others += lost(trace.lost)
    (folder / "run.kernel.data").write_bytes(kernel_file(samples, others, (*EVENTS, ISSUE)))
    return Recorded(path, world, index, "NP" in built.flow.inbound)


def random_run(seed: int, *, whole: bool) -> tuple[Run, Trace]:
    """Return a random run, and what is recorded of it: all of it, or a part."""
    rng = Random(seed)
    depth = rng.choice((1, 1, 2, 4, 8, 32))
    queues = rng.choice((1, 1, 2, 4))
    kinds = rng.choice(((READ,), (READ,), (WRITE,), (READ, WRITE), (READ, WRITE, FLUSH), (READ, WRITE, FLUSH, TRIM), (WRITE, FLUSH)))
    sizes = rng.choice(((4096,), (4096,), (512, 4096), (16384,), (131072,), (4096, 8192, 65536)))
    budget = {131072: 30, 65536: 80, 16384: 120}.get(max(sizes), 300)
    run = Run(
        seed=seed,
        drives=rng.choice((1, 1, 1, 2)),
        queues=queues,
        depth=depth,
        commands=rng.choice((3, 20, budget, budget)) if queues < 3 else min(budget, 80),
        slots=rng.choice((64, 256, 1024)),
        kinds=kinds,
        sizes=sizes,
        scattered=rng.random() < 0.7,
        fetched_at_once=rng.choice((1, 1, 1, 4)),
        in_order=rng.random() < 0.3,
        shadow=rng.random() < 0.5,
        own_memory=rng.random() < 0.05,
        vectors=rng.random() < 0.3,
        coalesced=rng.choice((0.0, 0.0, 0.5)),
        rung_at_once=rng.choice((0.0, 0.0, 0.4)),
        ending=rng.choice(ENDINGS),
        admin=rng.choice((0, 0, 3)),
        think=rng.choice((0.0, 500.0, 20_000.0)),
        tick_ns=4 * (1 + rng.choice((0, 0, 2e-5, -1e-4))),
    )
    format = rng.choice((Format.DW4, Format.DW8))
    direction = rng.choice((Direction.BOTH if format is Format.DW4 else Direction.INBOUND, Direction.INBOUND, Direction.OUTBOUND))
    types: tuple[TlpType, ...] = tuple(TlpType)
    if direction is not Direction.OUTBOUND:
        types = rng.choice((types, types, types, types[:2], types[:1], types[1:2]))
    trace = Trace(format=format, direction=direction, types=types, shuffled=rng.random() < 0.3)
    if whole:
        return run, trace
    parts = (0.0, 1.0), (rng.uniform(0, 0.5), 1.0), (0.0, rng.uniform(0.5, 1)), (rng.uniform(0, 0.4), rng.uniform(0.6, 1))
    kernel = (0.0, 1.0), (0.0, 1.0), (rng.uniform(0, 0.5), 1.0), (0.0, rng.uniform(0.5, 1))
    hole = rng.uniform(0.1, 0.8)
    return run, replace(
        trace,
        part=rng.choice(parts),
        hole=rng.choice((None, None, (hole, hole + rng.choice((0.001, 0.01, 0.1))))),
        kernel_part=rng.choice(kernel),
        lost=rng.choice((0, 0, 0, 1, 5)),
    )
