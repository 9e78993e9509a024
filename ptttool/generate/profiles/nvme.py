"""NVMe under load: functions read commands, move data and write completions; the CPU writes doorbells."""

from __future__ import annotations

from ptttool.generate.functions import PAGE, Function, Host
from ptttool.generate.link import Process
from ptttool.generate.profiles import profile

FUNCTIONS = (0x0100, 0x0101, 0x0102, 0x0103)
QUEUES, DEPTH = 4, 12
# Pages that a command moves; a number that stands here more often is chosen more often.
PAGES = (1, 1, 1, 1, 2, 4, 8, 32)
READS = 0.7
REGISTERS, QUEUE_MEMORY, LISTS, BUFFERS, INTERRUPTS = 0x80_1000_0000, 0x4000_0000, 0x4800_0000, 0x20_0000_0000, 0x0809_0040


class _QueuePair:
    """The submission and the completion queue of one function, which does the DMA; the host writes the doorbells.

    Parameters
    ----------
    told : float
        Share of the entries that are followed by an interrupt, and by a doorbell of the CPU that has read them.
    """

    def __init__(self, function: Function, number: int, told: float = 0.5) -> None:
        self.told = told
        place = (function.id & 0xFF) * QUEUES + number
        self.function = function
        self.submissions = QUEUE_MEMORY + place * 0x10000
        self.completions = self.submissions + 0x8000
        self.doorbell = REGISTERS + (function.id & 0xFF) * 0x4000 + 0x1000 + number * 8
        self.tail = self.head = 0

    def fetch(self) -> Process:
        """Write the doorbell of a command that is in memory; the function reads the command."""
        command = self.submissions + 64 * (self.tail % 256)
        self.tail += 1
        yield from self.function.host.write(self.doorbell)
        yield self.function.link.rng.uniform(200, 400)
        yield from self.function.read(command, 64, attr=0, vary=0)

    def complete(self) -> Process:
        """Write an entry of 16 bytes, at times followed by an interrupt, and the doorbell of the CPU that has read it."""
        rng = self.function.link.rng
        entry = self.completions + 16 * (self.head % 256)
        self.head += 1
        yield from self.function.write(entry, 16, attr=0, vary=0)
        if rng.random() < self.told:
            yield from self.function.write(INTERRUPTS, 4, attr=0, vary=0)
        yield rng.uniform(400, 1500)
        if rng.random() < self.told:
            yield from self.function.host.write(self.doorbell + 4)


def _commands(pair: _QueuePair) -> Process:
    """Execute one command after the other."""
    function = pair.function
    link, rng = function.link, function.link.rng
    while not link.closing:
        yield from pair.fetch()
        pages = rng.choice(PAGES)
        if pages > 2:  # the command names a list of pages
            yield from function.read(LISTS + rng.randrange(1 << 12) * PAGE, 8 * (pages - 1), attr=0, vary=0)
        buffers = [BUFFERS + rng.randrange(1 << 20) * PAGE for _ in range(pages)]
        if rng.random() < READS:
            yield rng.uniform(6000, 12_000) if rng.random() < 0.9 else rng.uniform(12_000, 30_000)
            for buffer in buffers:
                yield from function.write(buffer, PAGE)
        else:
            yield from link.together(function.read(buffer, PAGE) for buffer in buffers)
            yield rng.uniform(2000, 4000)
        yield from pair.complete()
        yield rng.expovariate(1 / 800)


@profile("nvme", "four NVMe functions read and write: commands, data, completions, interrupts, doorbells", "0000:00:10.0", 7.88)
def start(host: Host) -> None:
    """Start all functions: every queue has some commands at any time."""
    for id in FUNCTIONS:
        function = Function(host, id)
        for number in range(QUEUES):
            pair = _QueuePair(function, number)
            for _ in range(DEPTH):
                host.link.start(_commands(pair), host.link.rng.uniform(0, 10_000))


@profile("drive", "one NVMe drive with little to do: each command has its doorbell, its entry and its interrupt", "0000:00:10.0", 7.88)
def start_drive(host: Host) -> None:
    """Start one function: two queues for data, of which each has two commands at any time."""
    function = Function(host, FUNCTIONS[0])
    for number in (1, 2):
        pair = _QueuePair(function, number, told=1.0)
        for _ in range(2):
            host.link.start(_commands(pair), host.link.rng.uniform(0, 10_000))
