"""Requests of the CPUs: registers, configuration space and I/O space of the functions."""

from __future__ import annotations

from collections.abc import Callable

from ptttool.generate import tlps
from ptttool.generate.functions import Host
from ptttool.generate.link import Process
from ptttool.generate.themes import REGISTERS, Scene, theme
from ptttool.generate.tlps import Tlp

PORTS = 0x1000
# ID of a function that does not exist.
ABSENT = 0x0107


@theme(800)
def doorbell(scene: Scene) -> Process:
    """Write a doorbell register."""
    yield from scene.host.write(REGISTERS + scene.link.rng.randrange(64) * 8)


@theme(2500)
def register_read(scene: Scene) -> Process:
    """Read a register."""
    yield from scene.host.read(scene.endpoint, REGISTERS + scene.link.rng.randrange(256) * 4)


def _answered(host: Host, completer: int, request: Callable[[int], Tlp], code: int, status: int = tlps.SUCCESS) -> Process:
    """Send a request for one DW, and its one completion: with data if `code` is that of one with data."""
    size = 4 if code in (tlps.CPLD, tlps.CPLDLK) else 0

    def answers(tag: int) -> list[Tlp]:
        return [tlps.completion(code, completer, host.id, tag, size=size, status=status)]

    return host.ask(request, answers, host.link.rng.uniform(300, 900))


@theme(5000)
def input_output(scene: Scene) -> Process:
    """Read or write an I/O port."""
    host, rng = scene.host, scene.link.rng
    code, place, size = rng.choice((tlps.IORD, tlps.IOWR)), PORTS + rng.randrange(32), rng.choice((1, 2, 4))
    size = min(size, 4 - place % 4)
    back = tlps.CPLD if code == tlps.IORD else tlps.CPL
    return _answered(host, scene.endpoint.id, lambda tag: tlps.request(code, host.id, tag, place, size), back)


def _configuration(scene: Scene, codes: tuple[int, int], destination: int, *, status: int = tlps.SUCCESS) -> Process:
    host, rng = scene.host, scene.link.rng
    code, register = rng.choice(codes), rng.randrange(1024) * 4
    enabled = rng.choice((0xF, 0xF, 0x3, 0xC, 0x1)) if code in (tlps.CFGWR0, tlps.CFGWR1) else 0xF
    back = tlps.CPLD if code in (tlps.CFGRD0, tlps.CFGRD1) and status == tlps.SUCCESS else tlps.CPL
    return _answered(
        host,
        destination,
        lambda tag: tlps.configuration(code, host.id, tag, destination, register, enabled=enabled),
        back,
        status,
    )


@theme(2500)
def configuration(scene: Scene) -> Process:
    """Read or write configuration space of a function on the link."""
    yield from _configuration(scene, (tlps.CFGRD0, tlps.CFGWR0), scene.endpoint.id)


@theme(3500)
def configuration_behind_a_switch(scene: Scene) -> Process:
    """Read or write configuration space of a function behind a switch."""
    yield from _configuration(scene, (tlps.CFGRD1, tlps.CFGWR1), scene.remote.id)


@theme(9000)
def probing(scene: Scene) -> Process:
    """Read configuration space of an absent function, and of one that is not ready at first."""
    yield from _configuration(scene, (tlps.CFGRD0, tlps.CFGRD0), ABSENT, status=tlps.UNSUPPORTED)
    yield from _configuration(scene, (tlps.CFGRD0, tlps.CFGRD0), scene.second.id, status=tlps.RETRY)
    yield 500
    yield from _configuration(scene, (tlps.CFGRD0, tlps.CFGRD0), scene.second.id)


@theme(20_000)
def trusted_configuration(scene: Scene) -> Process:
    """Send a deprecated request that no function supports."""
    host = scene.host
    return _answered(
        host,
        scene.endpoint.id,
        lambda tag: tlps.configuration(tlps.TCFGRD, host.id, tag, scene.endpoint.id, 0x40),
        tlps.CPL,
        tlps.UNSUPPORTED,
    )


@theme(12_000)
def locked_read(scene: Scene) -> Process:
    """Lock the bus as old software does, and unlock it; or ask a function that does not support locks."""
    host, place = scene.host, (REGISTERS & 0xFFFF_FFFF) + 0x100
    good = scene.link.rng.random() < 0.6
    yield from _answered(
        host,
        scene.endpoint.id,
        lambda tag: tlps.request(tlps.MRDLK, host.id, tag, place, 4),
        tlps.CPLDLK if good else tlps.CPLLK,
        tlps.SUCCESS if good else tlps.UNSUPPORTED,
    )
    if good:
        yield host.send(tlps.message(0x00, tlps.BROADCAST, host.id))


@theme(5000)
def deferrable_write(scene: Scene) -> Process:
    """Write 64 bytes to a shared work queue, which may be full."""
    host, place = scene.host, REGISTERS + 0x10000
    return _answered(
        host,
        scene.endpoint.id,
        lambda tag: tlps.request(tlps.DMWR, host.id, tag, place, 64),
        tlps.CPL,
        tlps.SUCCESS if scene.link.rng.random() < 0.8 else tlps.RETRY,
    )
