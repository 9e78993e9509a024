"""Why a trace may be empty: perf and the driver say nothing, so what is possible is told, likeliest first."""

from __future__ import annotations

from ptttool.directions import INBOUND
from ptttool.event import TraceRequest, in_words
from ptttool.machine import Machine, PttDevice
from ptttool.pci import PciAddress
from ptttool.topology import endpoints_behind, is_bridge


def possible_causes(
    request: TraceRequest, machine: Machine, device: PttDevice, *, live: bool, knows_ptt: bool = True, zeros: int = 0
) -> list[str]:
    """Sentences without full stop, likeliest first; never none.

    ``live``: it was recorded just now, here. ``knows_ptt``: the recording has an AUXTRACE_INFO. ``zeros``: all-zero records in it.
    """
    causes = []
    if not knows_ptt:
        causes.append("this perf does not know PTT devices and recorded their event without its data: use a newer perf (6.1 or later)")
    if zeros:
        causes.append(f"the driver delivered {zeros} all-zero records: an old driver does so when a trace is stopped and started again")
    causes += _nothing_to_see(request, machine)
    what = in_words([name.upper() for name in request.types], "or")
    causes.append(f"there was no such traffic meanwhile ({request.direction} {what}): try all types, the other direction, or a longer time")
    if request.format == "8dw" and request.direction == INBOUND and request.completions is None:
        causes.append(
            "inbound 8DW holds completions of DMA remote-to-local and peer-to-peer requests only: --completions a traces the others"
        )
    if live:
        causes.append(
            f"{device.name} was being traced already: a second perf, on another CPU, records nothing and is not told so"
        )
        causes.append("the device did not become idle and could not start: the kernel's log then says so (dmesg, 'device is still busy')")
    return causes


def _nothing_to_see(request: TraceRequest, machine: Machine) -> list[str]:
    causes = [
        f"nothing is behind root port {port}"
        for port in request.root_ports
        if port in machine.functions and not endpoints_behind(machine, port)
    ]
    if request.requester is not None and _is_bridge(machine, request.requester):
        causes.append(
            f"{request.requester} is a switch port, which hardly ever requests by itself: trace what is behind it, or its root port"
        )
    return causes


def _is_bridge(machine: Machine, address: PciAddress) -> bool:
    function = machine.functions.get(address)
    return function is not None and is_bridge(function)
