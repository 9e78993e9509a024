"""Every kind of TLP, rare ones and failing ones among them, over a quiet stream of ordinary DMA.

A theme is a process that does one thing once; it comes back after a while. What belongs together (a request and its completions, a
message and its answer) is in one theme.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ptttool.generate import tlps
from ptttool.generate.functions import PAGE, Function, Host
from ptttool.generate.link import Link, Process
from ptttool.generate.profiles import profile
from ptttool.generate.tlps import ADDRESS_BITS, ID_ORDER, NO_SNOOP, RELAXED, Tlp

# An endpoint of two functions, and a function behind a switch whose upstream port is 01:00.0's neighbour.
ENDPOINT, SECOND, BEHIND_SWITCH = 0x0100, 0x0101, 0x0300
ABSENT = 0x0107
REGISTERS, PORTS, LOW_BUFFERS, BUFFERS, INTERRUPTS = 0x80_4000_0000, 0x1000, 0x7000_0000, 0x38_0000_0000, 0x0809_0040
BUS_SPACE = 0x38_F000_0000
LONGEST_PAYLOAD = 4096
VENDOR = 0x19E5

# A quiet start: whoever tells a format by its first records meets known codes only.
UNKNOWN_FROM = 20_000.0
UNKNOWN_CODES = (0x03, 0x12, 0x2F, 0x5A, 0x6F)


@dataclass(frozen=True)
class Scene:
    """Who takes part."""

    host: Host
    endpoint: Function
    second: Function
    remote: Function

    @property
    def link(self) -> Link:
        return self.host.link

    def buffer(self) -> int:
        """A page of memory, above or below 4 GiB."""
        rng = self.link.rng
        return (BUFFERS if rng.random() < 0.7 else LOW_BUFFERS) + rng.randrange(1 << 14) * PAGE


Theme = Callable[[Scene], Process]
THEMES: list[tuple[float, Theme]] = []


def theme(gap: float) -> Callable[[Theme], Theme]:
    """Register a theme that comes back after ``gap`` ns on average."""

    def add(function: Theme) -> Theme:
        THEMES.append((gap, function))
        return function

    return add


@theme(150)
def dma_write(scene: Scene) -> Process:
    """Of any size, from any byte on."""
    rng = scene.link.rng
    function = rng.choice((scene.endpoint, scene.second, scene.remote))
    attr = rng.choice((0, RELAXED, RELAXED | ID_ORDER, NO_SNOOP))
    yield from function.write(scene.buffer() + rng.randrange(64), rng.choice((1, 3, 4, 64, 200, 1000, 4032)), attr=attr)


@theme(200)
def dma_read(scene: Scene) -> Process:
    rng = scene.link.rng
    function = rng.choice((scene.endpoint, scene.second, scene.remote))
    yield from function.read(scene.buffer() + rng.randrange(64), rng.choice((1, 4, 64, 500, 1500, 4000)))


@theme(5000)
def longest_write(scene: Scene) -> Process:
    """A Length of 1024 words, written as 0."""
    yield from scene.endpoint.write(scene.buffer(), LONGEST_PAYLOAD)


@theme(6000)
def flush(scene: Scene) -> Process:
    """A read of no byte: behind it, writes have arrived."""
    function, host, place = scene.endpoint, scene.host, scene.buffer()
    vary = function.tags.vary
    return function.ask(
        lambda tag: tlps.request(tlps.MRD, function.id, tag, place, 0, vary=ADDRESS_BITS, vary_tag=vary),
        lambda tag: tlps.read_completions(host.port, function.id, tag, place, 0, 64, vary_tag=vary),
        host.delay(),
    )


@theme(1500)
def interrupt(scene: Scene) -> Process:
    yield from scene.link.rng.choice((scene.endpoint, scene.second)).write(INTERRUPTS, 4, attr=0, vary=0)


@theme(800)
def doorbell(scene: Scene) -> Process:
    yield from scene.host.write(REGISTERS + scene.link.rng.randrange(64) * 8)


@theme(2500)
def register_read(scene: Scene) -> Process:
    yield from scene.host.read(scene.endpoint, REGISTERS + scene.link.rng.randrange(256) * 4)


def _answered(asker: Host | Function, completer: int, request: Callable[[int], Tlp], code: int, status: int = tlps.SUCCESS) -> Process:
    """A request for one word and its one completion: with data where ``code`` says so."""
    size = 4 if code in (tlps.CPLD, tlps.CPLDLK) else 0

    def answers(tag: int) -> list[Tlp]:
        return [tlps.completion(code, completer, asker.id, tag, size=size, status=status, vary_tag=asker.tags.vary)]

    return asker.ask(request, answers, asker.link.rng.uniform(300, 900))


@theme(5000)
def input_output(scene: Scene) -> Process:
    """I/O space: a read or a write of a port."""
    host, rng = scene.host, scene.link.rng
    code, place, size = rng.choice((tlps.IORD, tlps.IOWR)), PORTS + rng.randrange(32), rng.choice((1, 2, 4))
    size = min(size, 4 - place % 4)
    back = tlps.CPLD if code == tlps.IORD else tlps.CPL
    return _answered(
        host,
        scene.endpoint.id,
        lambda tag: tlps.request(code, host.id, tag, place, size, vary_tag=host.tags.vary),
        back,
    )


def _configuration(scene: Scene, codes: tuple[int, int], destination: int, *, status: int = tlps.SUCCESS) -> Process:
    host, rng = scene.host, scene.link.rng
    code, register = rng.choice(codes), rng.randrange(1024) * 4
    enabled = rng.choice((0xF, 0xF, 0x3, 0xC, 0x1)) if code in (tlps.CFGWR0, tlps.CFGWR1) else 0xF
    back = tlps.CPLD if code in (tlps.CFGRD0, tlps.CFGRD1) and status == tlps.SUCCESS else tlps.CPL
    return _answered(
        host,
        destination,
        lambda tag: tlps.configuration(code, host.id, tag, destination, register, enabled=enabled, vary_tag=host.tags.vary),
        back,
        status,
    )


@theme(2500)
def configuration(scene: Scene) -> Process:
    yield from _configuration(scene, (tlps.CFGRD0, tlps.CFGWR0), ENDPOINT)


@theme(3500)
def configuration_behind_a_switch(scene: Scene) -> Process:
    yield from _configuration(scene, (tlps.CFGRD1, tlps.CFGWR1), BEHIND_SWITCH)


@theme(9000)
def probing(scene: Scene) -> Process:
    """Nobody is there; and somebody is there who is not ready yet, and asked again."""
    yield from _configuration(scene, (tlps.CFGRD0, tlps.CFGRD0), ABSENT, status=tlps.UNSUPPORTED)
    yield from _configuration(scene, (tlps.CFGRD0, tlps.CFGRD0), SECOND, status=tlps.RETRY)
    yield 500
    yield from _configuration(scene, (tlps.CFGRD0, tlps.CFGRD0), SECOND)


@theme(20_000)
def trusted_configuration(scene: Scene) -> Process:
    """A deprecated kind that no function supports."""
    host = scene.host
    return _answered(
        host,
        ENDPOINT,
        lambda tag: tlps.configuration(tlps.TCFGRD, host.id, tag, ENDPOINT, 0x40, vary_tag=host.tags.vary),
        tlps.CPL,
        tlps.UNSUPPORTED,
    )


@theme(12_000)
def locked_read(scene: Scene) -> Process:
    """A bus lock as old software takes it, and its end; or a function that knows no locks."""
    host, place = scene.host, (REGISTERS & 0xFFFF_FFFF) + 0x100
    good = scene.link.rng.random() < 0.6
    yield from _answered(
        host,
        ENDPOINT,
        lambda tag: tlps.request(tlps.MRDLK, host.id, tag, place, 4, vary_tag=host.tags.vary),
        tlps.CPLDLK if good else tlps.CPLLK,
        tlps.SUCCESS if good else tlps.UNSUPPORTED,
    )
    if good:
        yield host.send(tlps.message(0x00, tlps.BROADCAST, host.id))


@theme(3000)
def atomics(scene: Scene) -> Process:
    """The old value comes back."""
    function, host, rng = scene.endpoint, scene.host, scene.link.rng
    code = rng.choice((tlps.FETCH_ADD, tlps.SWAP, tlps.CAS))
    operand = rng.choice((4, 8, 16) if code == tlps.CAS else (4, 8))
    place, vary = scene.buffer() + operand * rng.randrange(16), function.tags.vary
    return function.ask(
        lambda tag: tlps.atomic(code, function.id, tag, place, operand, vary=ADDRESS_BITS, vary_tag=vary),
        lambda tag: [tlps.completion(tlps.CPLD, host.port, function.id, tag, size=operand, byte_count=operand, vary_tag=vary)],
        host.delay(),
    )


@theme(5000)
def deferrable_write(scene: Scene) -> Process:
    """64 bytes into a shared work queue, which may have no room."""
    host, place = scene.host, REGISTERS + 0x10000
    return _answered(
        host,
        ENDPOINT,
        lambda tag: tlps.request(tlps.DMWR, host.id, tag, place, 64, vary_tag=host.tags.vary),
        tlps.CPL,
        tlps.SUCCESS if scene.link.rng.random() < 0.8 else tlps.RETRY,
    )


@theme(4000)
def hints(scene: Scene) -> Process:
    """A write with a Steering Tag in the place of its tag; a read with one in the place of its byte enables; a TPH prefix at times."""
    function, host, rng = scene.endpoint, scene.host, scene.link.rng
    hint, steering = rng.randrange(4), rng.randrange(256)
    prefix = tlps.TPH_PREFIX << 24 | rng.randrange(256) << 16 if rng.random() < 0.5 else 0
    yield function.send(
        tlps.request(
            tlps.MWR, function.id, 0, scene.buffer(), 64, steering=(hint, steering), prefix=prefix, attr=RELAXED, vary=ADDRESS_BITS
        )
    )
    place, vary = scene.buffer(), function.tags.vary
    yield from function.ask(
        lambda tag: tlps.request(
            tlps.MRD, function.id, tag, place, 64, steering=(hint, steering), prefix=prefix, vary=ADDRESS_BITS, vary_tag=vary
        ),
        lambda tag: tlps.read_completions(host.port, function.id, tag, place, 64, 256, vary_tag=vary),
        host.delay(),
    )


@theme(4000)
def address_spaces(scene: Scene) -> Process:
    """A read in a process's address space (PASID)."""
    function, host, place = scene.second, scene.host, scene.buffer()
    prefix, vary = tlps.PASID_PREFIX << 24 | scene.link.rng.randrange(1, 1 << 10), function.tags.vary
    return function.ask(
        lambda tag: tlps.request(tlps.MRD, function.id, tag, place, 128, prefix=prefix, vary=ADDRESS_BITS, vary_tag=vary),
        lambda tag: tlps.read_completions(host.port, function.id, tag, place, 128, 256, vary_tag=vary),
        host.delay(),
    )


@theme(7000)
def translation(scene: Scene) -> Process:
    """An address is translated and used; in the end its translation is called back (ATS)."""
    function, host, place = scene.second, scene.host, scene.buffer()
    vary = function.tags.vary
    yield from function.ask(
        lambda tag: tlps.request(tlps.MRD, function.id, tag, place, 8, more=tlps.TRANSLATION_REQUEST, vary=ADDRESS_BITS, vary_tag=vary),
        lambda tag: tlps.read_completions(host.port, function.id, tag, place, 8, 256, vary_tag=vary),
        host.delay(),
    )
    yield function.send(tlps.request(tlps.MWR, function.id, 0, place, 256, more=tlps.TRANSLATED, vary=ADDRESS_BITS))
    if scene.link.rng.random() < 0.5:
        yield host.send(tlps.message(0x01, tlps.BY_ID, host.id, dw2=function.id << 16, data_words=2))
        yield 400
        yield function.send(tlps.message(0x02, tlps.BY_ID, function.id, dw2=host.id << 16 | 1, dw3=1))


@theme(9000)
def page_request(scene: Scene) -> Process:
    function, host = scene.second, scene.host
    page = scene.buffer()
    yield function.send(tlps.message(0x04, tlps.TO_ROOT, function.id, dw2=page >> 32, dw3=page & 0xFFFF_F000 | 0b011))
    yield 2000
    yield host.send(tlps.message(0x05, tlps.BY_ID, host.id, dw2=function.id << 16))


@theme(6000)
def poison(scene: Scene) -> Process:
    """Data known to be bad, and the message about it."""
    function = scene.endpoint
    yield function.send(tlps.request(tlps.MWR, function.id, 0, scene.buffer(), 64, more=tlps.POISONED, vary=ADDRESS_BITS))
    yield 100
    yield function.send(tlps.message(0x30, tlps.TO_ROOT, function.id))


@theme(6000)
def digest(scene: Scene) -> Process:
    """A write with an end-to-end checksum, of another traffic class."""
    function = scene.remote
    yield function.send(tlps.request(tlps.MWR, function.id, 0, scene.buffer(), 128, tc=3, more=tlps.DIGEST, vary=ADDRESS_BITS))


@theme(8000)
def failing_read(scene: Scene) -> Process:
    """An address that nobody has (UR), or one that fails half-way (CA)."""
    function, host = scene.endpoint, scene.host
    unsupported, vary = scene.link.rng.random() < 0.5, function.tags.vary
    place = BUS_SPACE if unsupported else scene.buffer()
    status = tlps.UNSUPPORTED if unsupported else tlps.ABORT

    def answers(tag: int) -> list[Tlp]:
        good = [] if unsupported else tlps.read_completions(host.port, function.id, tag, place, 512, 256, vary_tag=vary)[:1]
        left = 512 - 256 * len(good)
        last = tlps.completion(
            tlps.CPL, host.port, function.id, tag, status=status, byte_count=left, lower_address=(place + 512 - left) & 0x7F, vary_tag=vary
        )
        return [*good, last]

    yield from function.ask(
        lambda tag: tlps.request(tlps.MRD, function.id, tag, place, 512, vary=0 if unsupported else ADDRESS_BITS, vary_tag=vary),
        answers,
        host.delay(),
    )
    yield function.send(tlps.message(0x31 if unsupported else 0x33, tlps.TO_ROOT, function.id))


@theme(7000)
def wired_interrupt(scene: Scene) -> Process:
    """INTA goes up and, when the CPU has looked, down."""
    function = scene.remote
    yield function.send(tlps.message(0x20, tlps.LOCAL, function.id))
    yield from scene.host.read(function, REGISTERS + 0x20000)
    yield function.send(tlps.message(0x24, tlps.LOCAL, function.id))


@theme(7000)
def time_measurement(scene: Scene) -> Process:
    """PTM: a request and a response, with data as from the second one on."""
    yield scene.endpoint.send(tlps.message(0x52, tlps.LOCAL, scene.endpoint.id))
    yield 200
    yield scene.host.send(tlps.message(0x53, tlps.LOCAL, scene.host.port, dw2=1, dw3=int(scene.link.now), data_words=1))


@theme(9000)
def power_management(scene: Scene) -> Process:
    """Latencies that are tolerable, a wake-up, and the way down."""
    host, function = scene.host, scene.endpoint
    yield function.send(tlps.message(0x10, tlps.LOCAL, function.id, dw3=0x8801_8801))
    yield function.send(tlps.message(0x18, tlps.TO_ROOT, function.id))
    yield 300
    yield host.send(tlps.message(0x12, tlps.LOCAL, host.port, dw3=0xF))
    yield host.send(tlps.message(0x19, tlps.BROADCAST, host.port))
    yield 300
    yield function.send(tlps.message(0x1B, tlps.GATHERED, function.id))


@theme(15_000)
def slot_power(scene: Scene) -> Process:
    yield scene.host.send(tlps.message(0x50, tlps.LOCAL, scene.host.port, data_words=1))


@theme(8000)
def vendor_message(scene: Scene) -> Process:
    """To the root complex with data, or to a function without."""
    function, host = scene.endpoint, scene.host
    if scene.link.rng.random() < 0.5:
        yield function.send(tlps.message(0x7F, tlps.TO_ROOT, function.id, dw2=VENDOR, data_words=4))
    else:
        yield host.send(tlps.message(0x7E, tlps.BY_ID, host.port, dw2=function.id << 16 | VENDOR))


@theme(15_000)
def unknown(scene: Scene) -> Process:
    """A code that names no TLP."""
    yield max(0.0, UNKNOWN_FROM - scene.link.now)
    code = scene.link.rng.choice(UNKNOWN_CODES)
    yield scene.endpoint.send(Tlp(16, code << 24 | 1, scene.endpoint.id << 16, 0, scene.link.rng.randrange(1 << 16)))


def _again_and_again(scene: Scene, gap: float, process: Theme) -> Process:
    rng = scene.link.rng
    yield rng.uniform(0, min(gap, 5000))
    while not scene.link.closing:
        yield from process(scene)
        yield rng.expovariate(1 / gap)


@profile("mixed", "every kind of TLP: DMA, configuration, I/O, atomics, messages, errors, and a few unknown codes", "0000:00:10.0", 7.88)
def start(host: Host) -> None:
    """All themes, side by side."""
    many = range(1024, 2048) if host.link.v1 else range(256, 1024)
    scene = Scene(
        host,
        Function(host, ENDPOINT, tags=many, payload=LONGEST_PAYLOAD, request=4096),
        Function(host, SECOND),
        Function(host, BEHIND_SWITCH, tags=range(32), payload=128, request=256),
    )
    for gap, process in THEMES:
        host.link.start(_again_and_again(scene, gap, process))
