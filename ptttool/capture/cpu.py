"""Which CPU records: not one that has other work to do, since the driver copies 4 MiB at a time there with interrupts off."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import DeviceError, PtttoolError, UsageError
from ptttool.machine.cpus import format_cpus, parse_cpu_list
from ptttool.machine.model import Machine, PttDevice
from ptttool.machine.sources.contract import Source, or_none
from ptttool.machine.unusable.offline_cpus import how_to_bring_online, words_of
from ptttool.pci import PciAddress

# Interrupts that are looked at: a function has 2048 at most, a switch behind a port can have many functions.
MAX_INTERRUPTS: Final = 4096
_IRQS = "/proc/irq"
# An interrupt ends up on a CPU or a few; a longer list says nothing, and is not read for thousands of interrupts.
_LONGEST_LIST = 1024


class Occupied(Struct, frozen=True):
    """What CPUs have to do while a trace is recorded.

    Parameters
    ----------
    interrupts : Mapping of int to int, or None
        How many interrupts of the traced functions a CPU handles; None where that is not known.
    workload : frozenset of int
        The CPUs that the workload is bound to; empty where it may run on all.
    """

    interrupts: Mapping[int, int] | None = None
    workload: frozenset[int] = frozenset()


def occupied_on(machine: Machine, device: PttDevice, addresses: Iterable[PciAddress], online: Sequence[int] | None) -> Occupied:
    """Look at what CPUs have to do.

    Parameters
    ----------
    machine : Machine
        The machine.
    device : PttDevice
        The device that traces.
    addresses : iterable of PciAddress
        What is traced: root ports with all behind them, or one requester.
    online : sequence of int or None
        The CPUs that are online; None where that is not known.
    """
    source = device.source
    if source is None:
        return Occupied()
    own = os.sched_getaffinity(0) if source.live else set()
    everywhere = set(range(os.cpu_count() or 1) if online is None else online)
    return Occupied(_interrupts(source, traced_functions(machine, addresses)), frozenset(own) if own < everywhere else frozenset())


def traced_functions(machine: Machine, addresses: Iterable[PciAddress]) -> list[PciAddress]:
    """Return the functions whose TLPs are traced: those of the addresses, and all behind them."""
    named = set(addresses)
    return [address for address in sorted(machine.functions) if address in named or not named.isdisjoint(machine.ancestors(address))]


def interrupts_of(source: Source, address: PciAddress) -> list[int]:
    """Return the numbers of a function's interrupts; none where it has none, or the machine does not say."""
    folder = f"/sys/bus/pci/devices/{address}"
    numbers = or_none(source.names, f"{folder}/msi_irqs") or [or_none(source.read, f"{folder}/irq") or "0"]
    return [int(number[:10]) for number in numbers if number.isascii() and number.isdecimal() and number != "0"]


def _interrupts(source: Source, functions: Iterable[PciAddress]) -> Counter[int] | None:
    """Return how many interrupts of functions each CPU handles; None where the machine does not say."""
    if or_none(source.names, _IRQS) is None:
        return None
    counts: Counter[int] = Counter()
    looked_at = 0
    for address in functions:
        for number in interrupts_of(source, address):
            looked_at += 1
            if looked_at > MAX_INTERRUPTS:
                return counts
            counts.update(_handled_on(source, number))
    return counts


def _handled_on(source: Source, number: int) -> tuple[int, ...]:
    """Return the CPUs that handle an interrupt: those where it ends up, or those that it may go to."""
    for name in ("effective_affinity_list", "smp_affinity_list"):
        text = or_none(source.read, f"{_IRQS}/{number}/{name}") or ""
        try:
            cpus = parse_cpu_list(text) if len(text) <= _LONGEST_LIST else ()
        except ValueError:
            continue
        if cpus:
            return cpus
    return ()


def choose_cpu(
    device: PttDevice, number: int | None, online: Sequence[int] | None, occupied: Occupied | None = None
) -> tuple[int, Diagnostic | None]:
    """Choose the CPU that records: one of the cpumask that is online, that has little else to do, and not CPU 0, which has most to do.

    Parameters
    ----------
    device : PttDevice
        The device; its cpumask has the CPUs that can record it.
    number : int or None
        The CPU that the user wants.
    online : Sequence of int or None
        The CPUs that are online; None where that is unknown.
    occupied : Occupied or None
        What CPUs have to do; None where nobody looked.

    Returns
    -------
    cpu : int
        The CPU.
    why : Diagnostic or None
        Why it was chosen (``cpu-chosen``); None where the user wants it.

    Raises
    ------
    UsageError
        The wanted CPU cannot record the device, or is offline.
    DeviceError
        No CPU is wanted, and the device has no cpumask; or all its CPUs are offline (``cpus-offline``).
    """
    if device.offline_cpus and (not device.cpus or number in device.offline_cpus):
        raise _offline(device, number)
    if number is None:
        if not device.cpus:
            raise DeviceError(
                f"{device.name} names no CPU that may record it (its cpumask is empty or unreadable)",
                hint="give one of its NUMA node with --cpu",
                code="no-cpumask",
            )
        able = [cpu for cpu in device.cpus if online is None or cpu in online] or [device.cpus[0]]
        return _idlest(device, able, occupied or Occupied())
    if device.cpus and number not in device.cpus:
        raise UsageError(
            f"CPU {number} is not one of {device.name}'s ({format_cpus(device.cpus)}): nothing would be recorded, without an error of perf",
            hint="leave --cpu out, or give one of these",
            code="cpu-not-in-cpumask",
        )
    if online is not None and number not in online:
        raise UsageError(f"CPU {number} is offline", hint=f"online are {format_cpus(online)}", code="cpu-offline")
    return number, None


def _idlest(device: PttDevice, able: Sequence[int], occupied: Occupied) -> tuple[int, Diagnostic]:
    interrupts, workload = occupied.interrupts, occupied.workload
    counts = interrupts or {}
    cpu = min(able, key=lambda one: (one in workload, counts.get(one, 0), one == 0, one))
    own = counts.get(cpu, 0)
    if len(able) == 1:
        why = ["no other CPU can"]
    elif interrupts is None:
        why = ["it is not known which CPUs handle the interrupts of what is traced, and CPU 0 comes last"]
    elif own:
        why = [f"all its CPUs{' but those of the workload' if workload else ''} handle interrupts of what it traces, this one {own}"]
    else:
        why = ["no interrupt of what it traces is handled there"]
    if workload:
        bound = f"this command is bound to {'CPU' if len(workload) == 1 else 'CPUs'} {format_cpus(workload)}"
        why.append(f"{bound}, as are all that can record" if cpu in workload else f"{bound}, which leaves this one free")
    details = {
        "cpu": cpu,
        "able": format_cpus(able),
        "interrupts": None if interrupts is None else format_cpus(one for one in able if counts.get(one)),
        "own_interrupts": None if interrupts is None else own,
        "workload": format_cpus(workload) or None,
    }
    return cpu, Diagnostic(Severity.INFO, "cpu-chosen", f"CPU {cpu} records {device.name}: {'; '.join(why)}", details=details)


def _offline(device: PttDevice, cpu: int | None) -> PtttoolError:
    """Return the error for a device with all CPUs offline, or for an offline CPU of a device."""
    hint = how_to_bring_online(device.offline_cpus[0] if cpu is None else cpu)
    if not device.cpus:
        words = words_of(device, device.offline_cpus)
        message = f"no CPU can record {device.name}: {words} {'is' if len(device.offline_cpus) == 1 else 'are'} offline"
        return DeviceError(message, hint=hint, code="cpus-offline", cpus=list(device.offline_cpus))
    message = f"CPU {cpu} is offline; {device.name} can be recorded on {format_cpus(device.cpus)}"
    return UsageError(message, hint=f"leave --cpu out, or, {hint}", code="cpu-offline", cpu=cpu)
