"""Counters of the ``hisi_pcie`` PMU beside a PTT device: they count every TLP of a root port, and lose none.

The PMU of PCIe core 0 of SICL 0 is ``/sys/bus/event_source/devices/hisi_pcie0_core0`` (Linux document hisi-pcie-pmu). ``events`` in its
folder lists its events; ``port`` selects root ports by the same bits as the root port filter of PTT.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from ptttool.capture.perf.tool import PerfTool
from ptttool.machine.model import PttDevice
from ptttool.machine.pmu import root_port_value
from ptttool.machine.sources.contract import Source
from ptttool.pci import PciAddress

# Events that count TLPs, and those that add up their length; "rx" is what the root complex receives, "tx" what it sends.
_EVENTS = ("rx_mwr_cnt", "rx_mrd_cnt", "tx_mwr_cnt", "tx_mrd_cnt", "rx_mwr_flux", "rx_mrd_flux", "tx_mwr_flux", "tx_mrd_flux")
# perf stat has this long to end after its interval, in seconds.
_PATIENCE = 5.0
_NO_PORT = 0xFFFF


@dataclass(frozen=True)
class CounterPlan:
    """What is counted.

    Parameters
    ----------
    pmu : str
        Name of the PMU.
    events : tuple of str
        Its events.
    port : int
        Bits of the root ports.
    perf : str
        The perf that counts.
    """

    pmu: str
    events: tuple[str, ...]
    port: int
    perf: str

    def command(self, seconds: float) -> list[str]:
        """Return the command that counts for some seconds and prints lines of values, separated by semicolons, on standard error."""
        events = [f"{self.pmu}/{name},port={self.port:#x}/" for name in self.events]
        return [self.perf, "stat", "-a", "-x", ";", *(word for event in events for word in ("-e", event)), "--", "sleep", f"{seconds:.9g}"]


@dataclass(frozen=True)
class Counted:
    """One counter over an interval.

    Parameters
    ----------
    event : str
        Name of the event, such as ``rx_mrd_cnt``.
    value : int or None
        What was counted, in the PMU's own unit; None where perf did not count it.
    """

    event: str
    value: int | None


def find_counters(source: Source, device: PttDevice, ports: tuple[PciAddress, ...], perf: PerfTool) -> CounterPlan | None:
    """Return the plan for the counters of a device's PCIe core; None where the kernel has no such PMU, or none of the known events.

    Parameters
    ----------
    source : Source
        The machine.
    device : PttDevice
        The PTT device.
    ports : tuple of PciAddress
        The root ports to count; all of the core where there are none.
    perf : PerfTool
        The perf that will count.
    """
    if device.sicl is None or device.core is None:
        return None
    pmu = f"hisi_pcie{device.sicl}_core{device.core}"
    there = events_of(source, pmu)
    events = tuple(name for name in _EVENTS if name in there)
    port = 0
    for address in ports:
        port |= root_port_value(address) & _NO_PORT
    return CounterPlan(pmu, events, port or _NO_PORT, perf.path) if events else None


def events_of(source: Source, pmu: str) -> frozenset[str]:
    """Return the names of the events of a PMU; none where the kernel does not have it."""
    try:
        return frozenset(source.names(f"/sys/bus/event_source/devices/{pmu}/events"))
    except OSError:
        return frozenset()


class Counting:
    """Counters that run for an interval, beside everything else. A context manager: at its end they run no longer.

    Parameters
    ----------
    plan : CounterPlan
        What is counted.
    seconds : float
        How long.

    Raises
    ------
    OSError
        perf cannot be started.
    """

    def __init__(self, plan: CounterPlan, seconds: float) -> None:
        self._plan = plan
        self._seconds = seconds
        self._process = subprocess.Popen(
            plan.command(seconds),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            env=os.environ | {"LC_ALL": "C"},
        )

    def finish(self) -> tuple[Counted, ...]:
        """Wait for the end of the interval, and return what was counted; values are None where perf failed."""
        said = ""
        with suppress(subprocess.TimeoutExpired):
            _, said = self._process.communicate(timeout=self._seconds + _PATIENCE)
        return parsed(said, self._plan)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()  # nothing happens to one that has ended
        self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()


def parsed(said: str, plan: CounterPlan) -> tuple[Counted, ...]:
    """Read the lines of ``perf stat -x ';'``: value, unit, event and more.

    Parameters
    ----------
    said : str
        What perf wrote.
    plan : CounterPlan
        What was counted; the result has its events in this order.
    """
    values: dict[str, int] = {}
    for line in said.splitlines():
        fields = line.split(";")
        name = next((event for event in plan.events if len(fields) > 2 and f"/{event}," in fields[2]), None)
        if name is not None and fields[0].isascii() and fields[0].isdigit():
            values[name] = int(fields[0])
    return tuple(Counted(event, values.get(event)) for event in plan.events)
