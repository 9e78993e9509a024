"""Counters of the ``hisi_pcie`` PMU beside a PTT device: they count every TLP of a root port, and lose none.

The PMU of PCIe core 0 of SICL 0 is ``/sys/bus/event_source/devices/hisi_pcie0_core0`` (Linux document hisi-pcie-pmu). ``events`` in its
folder lists its events; ``port`` selects root ports by the same bits as the root port filter of PTT.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from msgspec import Struct

from ptttool.capture.perf.tool import PerfTool
from ptttool.machine.model import PttDevice
from ptttool.machine.pmu import requester_value, root_port_value
from ptttool.machine.read_device import first_line
from ptttool.machine.sources.contract import Source
from ptttool.pci import PciAddress

# Events that count TLPs, and those that add up their length; "rx" is what the root complex receives, "tx" what it sends. Data of reads are
# in the completions of the other direction. Drivers before 2024 have fewer.
_COUNTS = ("rx_mwr_cnt", "rx_mrd_cnt", "tx_mrd_cnt")
_FLUXES = ("rx_mwr_flux", "rx_mrd_flux", "rx_cpl_flux", "tx_mwr_flux", "tx_mrd_flux", "tx_cpl_flux")
# What some drivers call these counts completions of the other direction: corrected by 6b4bb4f38dbf, in Linux 6.2 and stable releases.
WRONG_CODES = {"rx_mrd_flux": 0x1005, "rx_mrd_time": 0x11005, "tx_mrd_flux": 0x2004, "tx_mrd_time": 0x12004}
# perf stat has this long to end after its interval, in seconds.
_PATIENCE = 5.0
_PORT_BITS = 0xFFFF


class CounterPlan(Struct, frozen=True):
    """What is counted.

    Parameters
    ----------
    pmu : str
        Name of the PMU.
    events : tuple of str
        Its events.
    filter : str
        Which TLPs count: ``port=0x1`` for the bits of root ports, ``bdf=0x100`` for one requester.
    perf : str
        The perf that counts.
    """

    pmu: str
    events: tuple[str, ...]
    filter: str
    perf: str

    def command(self, seconds: float) -> list[str]:
        """Return the command that counts for some seconds and prints lines of values, separated by semicolons, on standard error."""
        events = [f"{self.pmu}/{name},{self.filter}/" for name in self.events]
        return [self.perf, "stat", "-a", "-x", ";", *(word for event in events for word in ("-e", event)), "--", "sleep", f"{seconds:.9g}"]


class Counted(Struct, frozen=True):
    """One counter over an interval.

    Parameters
    ----------
    event : str
        Name of the event, such as ``rx_mrd_cnt``.
    value : int or None
        What was counted, in the PMU's own unit; None where perf did not count it.
    seconds : float or None
        The time that the value is for, by perf, which scales it where several events share a counter; None where perf does not say it.
    """

    event: str
    value: int | None
    seconds: float | None = None


def find_counters(
    source: Source, device: PttDevice, ports: tuple[PciAddress, ...], requester: PciAddress | None, perf: PerfTool
) -> CounterPlan | None:
    """Return the plan for the counters of a device's PCIe core; None where the kernel has no such PMU, or none of the known events.

    Parameters
    ----------
    source : Source
        The machine.
    device : PttDevice
        The PTT device.
    ports : tuple of PciAddress
        The root ports to count.
    requester : PciAddress or None
        The one requester to count instead: only events of bandwidth know requesters.
    perf : PerfTool
        The perf that will count.
    """
    if device.sicl is None or device.core is None:
        return None
    pmu = f"hisi_pcie{device.sicl}_core{device.core}"
    there = events_of(source, pmu)
    names = _FLUXES if requester is not None else _COUNTS + _FLUXES
    events = tuple(name for name in names if name in there)
    return CounterPlan(pmu, events, filter_of(ports, requester), perf.path) if events else None


def filter_of(ports: Iterable[PciAddress], requester: PciAddress | None) -> str:
    """Return the term that selects root ports, or one requester."""
    if requester is not None:
        return f"bdf={requester_value(requester):#x}"
    return f"port={sum({root_port_value(port) & _PORT_BITS for port in ports}):#x}"


def events_of(source: Source, pmu: str) -> frozenset[str]:
    """Return the names of the events of a PMU that count what they say; none where the kernel does not have the PMU."""
    folder = f"/sys/bus/event_source/devices/{pmu}/events"
    try:
        names = frozenset(source.names(folder))
    except OSError:
        return frozenset()
    return names - {name for name, code in WRONG_CODES.items() if name in names and _code(source, f"{folder}/{name}") == code}


def _code(source: Source, path: str) -> int | None:
    match = re.fullmatch(r"(?:event|config)=(0x[0-9a-fA-F]{1,8})", first_line(source, path) or "", re.ASCII)
    return int(match[1], 16) if match else None


@contextmanager
def counting(plan: CounterPlan, seconds: float) -> Iterator[Callable[[], tuple[Counted, ...]]]:
    """Count for some seconds, beside everything else, and not longer than the block.

    Yields
    ------
    Callable
        Waits for the end of the interval, and returns what was counted; values are None where perf failed.

    Raises
    ------
    OSError
        perf cannot be started.
    """

    def finish() -> tuple[Counted, ...]:
        text = ""
        with suppress(subprocess.TimeoutExpired):
            _, text = process.communicate(timeout=seconds + _PATIENCE)
        return parse_perf_stat(text, plan)

    with subprocess.Popen(
        plan.command(seconds),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        env=os.environ | {"LC_ALL": "C"},
    ) as process:
        try:
            yield finish
        finally:
            process.kill()  # nothing happens to one that has ended


def parse_perf_stat(text: str, plan: CounterPlan) -> tuple[Counted, ...]:
    """Read the lines of ``perf stat -x ';'``: value, unit, event, nanoseconds that it counted, their percentage of the time, and more.

    Parameters
    ----------
    text : str
        What perf wrote.
    plan : CounterPlan
        What was counted; the result has its events in this order.
    """
    counted: dict[str, Counted] = {}
    for line in text.splitlines():
        fields = line.split(";")
        name = next((event for event in plan.events if len(fields) > 2 and f"/{event}," in fields[2]), None)
        if name is not None and fields[0].isascii() and fields[0].isdigit():
            ran, share = (
                float(field) if re.fullmatch(r"[0-9]{1,18}(\.[0-9]{1,9})?", field, re.ASCII) else 0.0 for field in (*fields, "", "")[3:5]
            )
            counted[name] = Counted(name, int(fields[0]), ran / 1e7 / share if ran and share else None)
    return tuple(counted.get(event, Counted(event, None)) for event in plan.events)
