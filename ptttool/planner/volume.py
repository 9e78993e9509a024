"""How much a run can produce: from the links of the traced ports, the sizes that are set, and the size of a record.

All is arithmetic on what sysfs says of the links now. A link carries the most TLPs where they have no data: headers of 3 DWs. A link that
is full of data carries fewer TLPs, as large as MPS allows. Whether the device itself keeps up with either is not documented.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil
from typing import Final

from msgspec import Struct, field

from ptttool.analyses.link import FRAMING, LinkRate, rate_of_ports
from ptttool.capture.perf.command import DEFAULT_AUX_SIZE
from ptttool.machine.model import Machine, PciFunction
from ptttool.pci import PciAddress
from ptttool.planner.runs import Run
from ptttool.recording.auxtrace import DMA_BUFFER

LOADS: Final = (1.0, 0.1, 0.01)
"""Loads for which a plan says how much trace they produce, as shares of the link's rate."""
# Headers in bytes: 64-bit requests with data; completions, and the smallest requests.
_REQUEST, _SMALLEST = 16, 12
# Without sizes that are set: what every function supports, and what reads ask for after a reset.
_DEFAULT_PAYLOAD, _DEFAULT_READ = 128, 512
# The AUX area holds this much of a full link, in seconds, within limits that a perf of any age maps.
_HELD = 0.1
_LARGEST_AUX = 1 << 30


class LinkFacts(Struct, frozen=True):
    """What the links behind the traced ports can carry, and the sizes that are set on them.

    Parameters
    ----------
    rate : LinkRate or None
        What the links can carry; null where sysfs does not say it.
    max_payload, max_read_request : int
        The sizes that are set, in bytes.
    are_sizes_known : bool
        Whether these two were read; else they are those of any function after a reset.
    """

    rate: LinkRate | None = field(name="link")
    max_payload: int
    max_read_request: int
    are_sizes_known: bool


def link_facts(machine: Machine, ports: Sequence[PciAddress]) -> LinkFacts:
    """Return what the links below root ports can carry.

    Parameters
    ----------
    machine : Machine
        The machine, with the settings of its functions where they can be read.
    ports : sequence of PciAddress
        The root ports; for a requester the port above it.
    """
    functions = [machine.functions[port] for port in ports if port in machine.functions]
    rate = rate_of_ports(functions) if len(functions) == len(ports) else None
    ends = [one for one in machine.functions.values() if one.address not in machine.children]
    behind = [one for one in ends if machine.root_port_of(one.address) in ports]
    payload = _largest(behind, "max_payload")
    read = _largest(behind, "max_read_request")
    return LinkFacts(rate, payload or _DEFAULT_PAYLOAD, read or _DEFAULT_READ, payload is not None and read is not None)


def _largest(functions: Iterable[PciFunction], name: str) -> int | None:
    sizes = [getattr(one.transfers, name) for one in functions if one.transfers is not None]
    return max((size for size in sizes if size), default=None)


class Load(Struct, frozen=True):
    """What a run produces at a load of the link.

    Parameters
    ----------
    share : float
        The load: 1.0 is a link that is full of data, of TLPs as large as they can be.
    tlps_per_second : float
        TLPs in a second.
    bytes_per_second : float
        Bytes of trace in a second.
    buffer_seconds : float
        How long one of the device's four buffers lasts.
    aux_seconds : float
        How long the AUX area lasts if perf writes nothing meanwhile: a recording up to this length needs no fast disk.
    disk_seconds : float or None
        How long the free space lasts; None where it is not known.
    ends_after : float or None
        Seconds after which the trace ends because perf writes more slowly than the device traces, or, with a driver that hands trace over
        only when the AUX area is full, because the area is full; None where it does not, or where the speed of writing is not given.
    """

    share: float
    tlps_per_second: float
    bytes_per_second: float
    buffer_seconds: float
    aux_seconds: float
    disk_seconds: float | None
    ends_after: float | None


class Volume(Struct, frozen=True):
    """What a run can produce.

    Parameters
    ----------
    record_bytes : int
        Bytes of trace for a TLP.
    most_tlps_per_second : float or None
        TLPs without data that the link can carry in a second; None where its rate is not known.
    loads : tuple of Load
        What a full link produces, and what lighter loads produce; empty where the rate of the link is not known.
    """

    record_bytes: int
    most_tlps_per_second: float | None
    loads: tuple[Load, ...]


def volume_of(
    run: Run, link: LinkFacts, aux_size: int, free: int | None = None, write_speed: float | None = None, *, commits_early: bool = True
) -> Volume:
    """Return what a run can produce.

    Parameters
    ----------
    run : Run
        The run.
    link : LinkFacts
        The links.
    aux_size : int
        Bytes of the AUX area.
    free : int or None
        Free bytes where the recording goes.
    write_speed : float or None
        Bytes a second that can be written there.
    commits_early : bool
        Whether perf gets trace before the AUX area is full: else nothing is written until then.
    """
    record = run.format.record_bytes
    if link.rate is None:
        return Volume(record, None, ())
    rate = link.rate.bytes_per_second
    flows = [groups for groups in (run.flow.inbound, run.flow.outbound) if groups]
    full = sum(_tlps(groups, rate, link) for groups in flows)
    most = sum(rate / (FRAMING + _SMALLEST) for _ in flows)
    loads = (
        tuple(_load(share, share * full, record, aux_size, free, write_speed if commits_early else 0.0) for share in LOADS) if full else ()
    )
    return Volume(record, most, loads)


def _tlps(groups: Sequence[str], rate: float, link: LinkFacts) -> float:
    """Return how many TLPs of some classes go in one direction when their data fill the link."""
    classes = {group.split()[0] for group in groups}
    answers = ceil(link.max_read_request / link.max_payload)
    writes = rate / (FRAMING + _REQUEST + link.max_payload) if "P" in classes else 0.0
    completions = rate / (FRAMING + _SMALLEST + link.max_payload) if "CPL" in classes else 0.0
    # As many reads as have the other direction full of their completions.
    reads = rate / (link.max_read_request + answers * (FRAMING + _SMALLEST)) if "NP" in classes else 0.0
    return max(writes, completions) + reads


def _load(share: float, tlps: float, record: int, aux_size: int, free: int | None, write_speed: float | None) -> Load:
    rate = tlps * record
    is_slow = write_speed is not None and write_speed < rate
    return Load(
        share=share,
        tlps_per_second=tlps,
        bytes_per_second=rate,
        buffer_seconds=DMA_BUFFER / rate,
        aux_seconds=aux_size / rate,
        disk_seconds=None if free is None else free / rate,
        ends_after=aux_size / (rate - write_speed) if is_slow and write_speed is not None else None,
    )


def aux_size_for(runs: Iterable[Run], link: LinkFacts) -> int:
    """Return a size of the AUX area that holds a tenth of a second of a full link: a power of two from 64 MiB to 1 GiB."""
    rates = [volume.loads[0].bytes_per_second for run in runs if (volume := volume_of(run, link, DEFAULT_AUX_SIZE)).loads]
    least = max(rates, default=0.0) * _HELD
    size = DEFAULT_AUX_SIZE
    while size < min(least, _LARGEST_AUX):
        size *= 2
    return size
