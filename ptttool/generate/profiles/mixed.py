"""Every kind of TLP, also rare and failing ones, in addition to some ordinary DMA."""

from __future__ import annotations

from ptttool.generate.functions import Function, Host
from ptttool.generate.link import Process
from ptttool.generate.profiles import profile
from ptttool.generate.themes import LONGEST_PAYLOAD, THEMES, Scene, Theme

# An endpoint of two functions, and a function behind a switch.
ENDPOINT, SECOND, BEHIND_SWITCH = 0x0100, 0x0101, 0x0300
# Every theme begins within this time, in nanoseconds, so that a short recording has all of them.
EARLY = 5000.0


def _again_and_again(scene: Scene, theme: Theme) -> Process:
    rng = scene.link.rng
    yield rng.uniform(0, min(theme.gap, EARLY))
    while not scene.link.closing:
        yield from theme.act(scene)
        yield rng.expovariate(1 / theme.gap)


@profile("mixed", "every kind of TLP: DMA, configuration, I/O, atomics, messages, errors, and a few unknown codes", "0000:00:10.0", 7.88)
def start(host: Host) -> None:
    """Start all themes, side by side."""
    many = range(1024, 2048) if host.link.v1 else range(256, 1024)
    scene = Scene(
        host,
        Function(host, ENDPOINT, tags=many, payload=LONGEST_PAYLOAD, request=4096),
        Function(host, SECOND),
        Function(host, BEHIND_SWITCH, tags=range(32), payload=128, request=256),
    )
    for theme in THEMES:
        host.link.start(_again_and_again(scene, theme))
