"""Counters of the ``hisi_pcie`` PMU beside a PTT device: they count every TLP of a root port, and lose none.

The PMU of PCIe core 0 of SICL 0 is ``/sys/bus/event_source/devices/hisi_pcie0_core0`` (Linux document hisi-pcie-pmu). ``events`` in its
folder lists its events; ``port`` selects root ports by the same bits as the root port filter of PTT.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

from msgspec import Struct

from ptttool.capture.event.terms import Flow
from ptttool.capture.perf.tool import PerfTool
from ptttool.machine.model import PttDevice
from ptttool.machine.pmu import requester_value, root_port_value
from ptttool.machine.read_device import first_line
from ptttool.machine.sources.contract import Source
from ptttool.pci import PciAddress

COUNTED_TLPS: Final[Mapping[str, tuple[str, str, tuple[str, ...]]]] = {
    "rx_mwr_cnt": ("inbound", "P", ("MWr",)),
    "rx_mrd_cnt": ("inbound", "NP", ("MRd", "MRdLk")),
    "tx_mrd_cnt": ("outbound", "NP", ("MRd", "MRdLk")),
}
"""By event that counts TLPs: their direction, class and kinds. Messages are posted, too, and no event counts them."""
# By event that adds up lengths: direction and class. No event counts the TLPs of these, or of one requester.
_LENGTHS = {
    "rx_mwr_flux": ("inbound", "P"),
    "rx_mrd_flux": ("inbound", "NP"),
    "rx_cpl_flux": ("inbound", "CPL"),
    "tx_mwr_flux": ("outbound", "P"),
    "tx_mrd_flux": ("outbound", "NP"),
    "tx_cpl_flux": ("outbound", "CPL"),
}
# Events that count TLPs, and those that add up their length; "rx" is what the root complex receives, "tx" what it sends. Data of reads are
# in the completions of the other direction. Drivers before 2024 have fewer.
_COUNTS, _FLUXES = tuple(COUNTED_TLPS), tuple(_LENGTHS)
# What some drivers call these counts completions of the other direction: corrected by 6b4bb4f38dbf, in Linux 6.2 and stable releases.
WRONG_CODES = {"rx_mrd_flux": 0x1005, "rx_mrd_time": 0x11005, "tx_mrd_flux": 0x2004, "tx_mrd_time": 0x12004}
CORRECTED: Final = "6b4bb4f38dbf (Linux 6.2, and stable releases)"
"""The correction of these numbers."""
# perf stat has this long to end after its interval, in seconds.
_PATIENCE = 5.0
_PORT_BITS = 0xFFFF
# No trace lasts 30 years.
_LONGEST = 1e9


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

    def command_until_told(self, control: str, log: int) -> list[str]:
        """Return the command that counts while it is told to (perf 5.9), and prints the same lines to a descriptor at its end.

        Values are not scaled: where the PMU has too few counters for all who count, they are less than there was, and never more.
        The sum of latencies and its count are one group, which the driver counts at the same time with one counter.
        """
        words = [self.perf, "stat", "-a", "-x", ";", "--no-scale", "--delay=-1", "--control", control, "--log-fd", str(log)]
        for name in self.events:
            if not name.endswith("_latency"):
                pair = [one for one in (name.replace("_cnt", "_latency"), name) if one in self.events]
                terms = ",".join(f"{self.pmu}/{one},{self.filter}/" for one in pair)
                words += ["-e", f"{{{terms}}}" if len(pair) > 1 else terms]
        return words


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


class LinkCounters(Struct, frozen=True):
    """Counters of the ``hisi_pcie`` PMU beside a recording; they lose nothing.

    Parameters
    ----------
    pmu : str
        The PMU.
    seconds : float
        The interval: beside a trace the time that they were certainly on, which lies within the trace; in ``top`` what was asked for.
    counted : tuple of Counted
        Its counters, in the PMU's own units, each with the seconds that it counted.
    filter : str
        Which TLPs count: ``port=0x1`` for the bits of root ports, ``bdf=0x100`` for one requester.
    """

    pmu: str
    seconds: float
    counted: tuple[Counted, ...]
    filter: str = ""

    @property
    def is_possible(self) -> bool:
        """Whether names and numbers are those of counters: a file can say anything."""
        return (
            re.fullmatch(r"hisi_pcie[0-9]{1,5}_core[0-9]{1,5}", self.pmu, re.ASCII) is not None
            and re.fullmatch(r"(port|bdf)=0x[0-9a-f]{1,4}|", self.filter, re.ASCII) is not None
            and 0 <= self.seconds < _LONGEST
            and all(re.fullmatch(r"\w{1,40}", one.event, re.ASCII) for one in self.counted)
            and all(one.value is None or 0 <= one.value < 1 << 64 for one in self.counted)
            and all(one.seconds is None or 0 <= one.seconds < _LONGEST for one in self.counted)
        )

    def value(self, event: str) -> int | None:
        """Return what an event counted; None where it was not counted."""
        return next((one.value for one in self.counted if one.event == event), None)


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
    pmu = pmu_of_core(device)
    if pmu is None:
        return None
    there = events_of(source, pmu)
    names = _FLUXES if requester is not None else _COUNTS + _FLUXES
    events = tuple(name for name in names if name in there)
    return CounterPlan(pmu, events, filter_of(ports, requester), perf.path) if events else None


def counters_of_trace(
    source: Source, device: PttDevice, flow: Flow, ports: tuple[PciAddress, ...], requester: PciAddress | None, perf: PerfTool
) -> CounterPlan | None:
    """Return the plan for the counters beside a trace: those that count what it records.

    For root ports these are the events that count TLPs, with the sum of their latencies. Lengths are added up where no event counts the
    TLPs: of one requester, and of other TLPs at one root port (the document allows several ports for some events only).

    Parameters
    ----------
    source, device, ports, requester, perf
        As for :func:`find_counters`.
    flow : Flow
        What is traced.

    Returns
    -------
    CounterPlan or None
        None where the kernel has no such PMU, or no event that counts some of it.
    """
    whole = find_counters(source, device, ports, requester, perf)
    if whole is None or not _has_bus(source, whole.pmu, ports):
        return None
    traced = {(towards, group.split()[0]) for towards in ("inbound", "outbound") for group in getattr(flow, towards)}
    there = events_of(source, whole.pmu)
    events: list[str] = []
    if requester is None:
        for name, (towards, tlp_class, _) in COUNTED_TLPS.items():
            if (towards, tlp_class) in traced and name in there:
                latency = name.replace("_cnt", "_latency")
                events += [name, *([latency] if latency in there and tlp_class == "NP" else ())]
                traced.discard((towards, tlp_class))
    if requester is not None or len(ports) == 1:
        events += [name for name, what in _LENGTHS.items() if what in traced and name in there]
    return CounterPlan(whole.pmu, tuple(events), whole.filter, whole.perf) if events else None


def _has_bus(source: Source, pmu: str, ports: Iterable[PciAddress]) -> bool:
    """Tell whether root ports are on the bus whose ports a PMU counts; True where it does not say which that is."""
    bus = first_line(source, f"/sys/bus/event_source/devices/{pmu}/bus")
    if bus is None or not re.fullmatch(r"0x[0-9a-fA-F]{1,4}", bus, re.ASCII):
        return True
    return all(port.bus == int(bus, 16) for port in ports)


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
    return names - wrong_events(source, pmu, names)


def wrong_events(source: Source, pmu: str, names: Iterable[str] = tuple(WRONG_CODES)) -> frozenset[str]:
    """Return the names of the events of a PMU that count something else than they say."""
    folder = f"/sys/bus/event_source/devices/{pmu}/events"
    return frozenset(name for name in names if name in WRONG_CODES and _code(source, f"{folder}/{name}") == WRONG_CODES[name])


def pmu_of_core(device: PttDevice) -> str | None:
    """Return the name that the PMU of a device's PCIe core has, where the kernel has it; None where the core is not known."""
    return None if device.sicl is None or device.core is None else f"hisi_pcie{device.sicl}_core{device.core}"


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
        if name is not None and re.fullmatch(r"[0-9]{1,20}", fields[0], re.ASCII) and int(fields[0]) < 1 << 64:
            ran, share = (
                float(field) if re.fullmatch(r"[0-9]{1,18}(\.[0-9]{1,9})?", field, re.ASCII) else 0.0 for field in (*fields, "", "")[3:5]
            )
            counted[name] = Counted(name, int(fields[0]), ran / 1e7 / share if ran and share else None)
    return tuple(counted.get(event, Counted(event, None)) for event in plan.events)
