"""Why a finished recording may hold no trace data, as far as the file and the machine that it was made on show it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptttool.analyses.loss.command import cpu_option, perf_arguments
from ptttool.capture.event.build import TraceRequest
from ptttool.capture.event.terms import DIRECTIONS, FORMATS, TYPES, fields_of
from ptttool.machine.model import Machine
from ptttool.machine.pmu import PORT_FLAG
from ptttool.machine.topology import is_bridge, is_empty
from ptttool.perfdata.model import Contents
from ptttool.recording.identity import ptt_attribute
from ptttool.wording import in_words


def causes_in(contents: Contents, *, cpu_checked: bool = False, tracers: Sequence[str] = ()) -> Iterator[str]:
    """Yield what may be the reason in a recording, as sentences without full stop.

    First comes what the event itself rules out, then what is possible and leaves no mark in the file.

    Parameters
    ----------
    contents : Contents
        The recording.
    cpu_checked : bool, optional
        Whether the CPU that recorded is known to be one of the device's.
    tracers : sequence of str
        Descriptions of processes that had an event of the device among their arguments.
    """
    attribute = ptt_attribute(contents)
    if attribute is not None:
        yield from _contradictions(attribute.config)
    command = perf_arguments(contents)
    cpus = None if command is None else cpu_option(command)
    if cpu_checked:
        pass
    elif cpus is not None:
        yield f"perf recorded on CPU {cpus}: outside the device's cpumask (the CPUs of its NUMA node) nothing is traced"
    elif command is None:
        yield "the CPU that perf recorded on is not in the device's cpumask (the CPUs of its NUMA node)"
    for process in tracers:
        yield (
            f"{process} has an event of the device among its arguments: if it traces on another CPU, the second trace gets no data and "
            "no error"
        )
    if not tracers:
        yield "another program was tracing with the same device on another CPU: the second trace gets no data and no error"
    yield "there was nothing to log: no device in the slot, an idle link, or no TLP of these types in this direction"
    yield "the device did not become idle and was not started: only the kernel log says so (dmesg, hisi_ptt)"


def causes_on(machine: Machine, request: TraceRequest) -> Iterator[str]:
    """Yield why a request may trace nothing on a machine, as sentences without full stop."""
    for port in request.root_ports:
        if is_empty(machine, port):
            yield f"nothing is behind root port {port}"
    requester = machine.functions.get(request.requester) if request.requester is not None else None
    if requester is not None and is_bridge(requester):
        yield f"{requester.address} is a switch port, which seldom sends requests of its own: trace a function behind it, or its root port"


def _contradictions(config: int) -> Iterator[str]:
    """Yield what in the event leaves nothing to trace."""
    fields = fields_of(config)
    if fields["filter"] & PORT_FLAG and not fields["filter"] & 0xFFFF:
        yield "the event's filter names no root port"
    format = next((name for name, number in FORMATS.items() if number == fields["format"]), None)
    flow = DIRECTIONS[format].get(fields["direction"]) if format is not None else None
    if format is None or flow is None:
        return
    types = [name for name, bit in TYPES.items() if fields["type"] & bit]
    asked = f"the event asks for {in_words([name.upper() for name in types])} with direction {fields['direction']} in {format.upper()}"
    if not flow:
        yield f"{asked}: that direction is reserved there; 1 is outbound, 2 and 3 are inbound"
    elif not flow.of_types(types):
        yield f"{asked}: that direction holds none of them"
    elif types == ["cpl"] and flow.inbound and not flow.outbound and "CPL A" not in flow.inbound:
        yield f"{asked}: that holds completions of DMA remote-to-local and peer-to-peer requests only; direction 3 has the others"
    elif flow.of_types(types).inbound == ("CPL A",) and not fields["filter"] & PORT_FLAG and not flow.of_types(types).outbound:
        yield (
            "the event asks for the completions of one requester that are CPL A: the processor requested those, and whether the filter "
            "compares their completer is not documented; trace the root port instead"
        )
