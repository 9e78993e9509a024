"""The analysis ``io``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ptttool.analyses.contract import ANALYSES, AnalysisContext
from ptttool.analyses.io.counts import Counts, Sum
from ptttool.analyses.io.kinds import Device, device_of, function_of
from ptttool.analyses.io.nic import controller_of
from ptttool.analyses.io.nvme import drive_of
from ptttool.analyses.io.reads import Group, Groups
from ptttool.analyses.io.requester import RecordingTime, RequesterTrace, TracedKinds
from ptttool.analyses.io.results import Controller, DataBytes, Drive, IoResult, Nic, Nvme, Unexplained
from ptttool.analyses.needs import Captured, Need, captured
from ptttool.analyses.scope import Scope, TlpAnalysis
from ptttool.analyses.time.clock import CLOCK_COLUMNS
from ptttool.pci import format_id

if TYPE_CHECKING:
    from ptttool.table.batch import Batch

# Bits of a Time field that does not wrap around unnoticed.
_WIDE = 32
_OPTIONS = "--direction inbound --type p,np"


class Io(TlpAnalysis[IoResult]):
    """Commands of NVMe drives, and packets of network controllers."""

    name = "io"
    meaning = "commands of NVMe drives with their bytes and latency, packets of network controllers"
    columns = ("index", "kind", "requester", "address", "length_dw", "requested_bytes", "byte_count", *CLOCK_COLUMNS)
    needs = (
        Need("completed commands, bytes read from drives, received packets", _OPTIONS, inbound=("P",)),
        Need("fetched commands, bytes written to drives, bytes sent", _OPTIONS, inbound=("NP",)),
    )

    def __init__(self, scope: Scope | None = None) -> None:
        super().__init__(scope)
        self._clock = self.scope.clock
        self._counts = Counts()

    def update(self, batch: Batch) -> None:
        """Add TLPs."""
        # Ticks are those since the start of this part, for what was seen before and for these.
        self._counts.merge(Counts.of(batch, self._clock.ticks(batch).at))

    def merge(self, later: Io) -> None:
        """Add the TLPs behind."""
        seam = self._clock.merge(later._clock)
        self._counts.merge(later._counts, seam.ticks)

    def result(self, context: AnalysisContext) -> IoResult:
        """Return commands and packets."""
        counts = self._counts
        _close(counts)
        flow = captured(context.contents, machine=context.machine)
        time = self.scope.time_facts(self._clock, context.contents)
        ticker = RecordingTime(None if time.breaks else time.elapsed_ticks, time.tick_ns, time.holes > 0, time.bits < _WIDE)
        drives: list[Drive] = []
        controllers: list[Controller] = []
        rest: list[Unexplained] = []
        for requester in counts.sums.table()[0].tolist():
            seen = RequesterTrace(requester, counts, _visible(flow, counts), ticker)
            function = function_of(requester, context.machine)
            device, by = device_of(seen, function)
            if device is Device.NVME:
                drives.append(drive_of(seen, by))
            elif device is Device.NIC:
                controllers.append(controller_of(seen, by, None if function is None else function.driver))
            else:
                moved = seen.sum(Sum.WRITE_BYTES) + seen.sum(Sum.READ_BYTES)
                rest.append(Unexplained(format_id(requester), seen.sum(Sum.TLPS), moved))
        drives.sort(key=lambda drive: (-(drive.commands or 0), drive.requester))
        controllers.sort(key=lambda each: (-(each.rx_packets or 0), -(each.written_bytes or 0), each.requester))
        rest.sort(key=lambda each: (-each.tlps, each.requester))
        tables = (counts.entries, counts.descriptors, counts.records, counts.small_writes, counts.small_reads, counts.lists, counts.sums)
        visible = _visible(flow, counts)
        return IoResult(
            _all_drives(drives, visible), _all_controllers(controllers, visible), rest, sum(table.left_out for table in tables), time
        )


def _close(counts: Counts) -> None:
    """Add what is still open at both ends of the recording, since nothing more comes. It is taken out: a result may be asked for again."""
    open_groups: list[tuple[int, Group]] = []
    for requester, edge in counts.edges.items():
        if edge.has_fetches:
            edge.see_end(requester, edge.tail, edge.last_window)
        open_groups += [(requester, group) for group in (edge.head, edge.tail) if group.count]
        edge.head = edge.tail = Group()
        if edge.small_write is not None:
            counts.add_small_write(requester, edge.small_write, is_data=False)
            edge.small_write = None
    counts.add_groups(Groups.of(open_groups))


def _visible(flow: Captured, counts: Counts) -> TracedKinds:
    """Return what was traced: as the event says, else what there is."""
    _, sums = counts.sums.table()
    if flow.flow is None:
        return TracedKinds(bool(sums[:, Sum.WRITES].any()), bool(sums[:, Sum.READS].any()), bool(sums[:, Sum.COMPLETIONS].any()))
    inbound, outbound = flow.flow.inbound, flow.flow.outbound
    return TracedKinds("P" in inbound, "NP" in inbound, any(group.startswith("CPL") for group in outbound))


def _sum(values: Iterable[int | None], *, is_seen: bool) -> int | None:
    """Return the sum of values; None where one is not known, and 0 values are known only where TLPs were traced."""
    known = list(values)
    if not known:
        return 0 if is_seen else None
    return None if None in known else sum(value for value in known if value is not None)


def _all_drives(drives: list[Drive], visible: TracedKinds) -> Nvme:
    return Nvme(
        commands=_sum((each.commands for each in drives), is_seen=visible.reads or visible.writes),
        submitted=_sum((each.submitted for each in drives), is_seen=visible.reads),
        completed=_sum((each.completed for each in drives), is_seen=visible.writes),
        data_bytes=DataBytes(
            _sum((each.data_bytes.read for each in drives), is_seen=visible.writes),
            _sum((each.data_bytes.write for each in drives), is_seen=visible.reads),
        ),
        uncertain_bytes=sum(each.uncertain_bytes for each in drives),
        interrupts=_sum((each.interrupts for each in drives), is_seen=visible.writes),
        drives=drives,
    )


def _all_controllers(controllers: list[Controller], visible: TracedKinds) -> Nic:
    return Nic(
        rx_packets=_sum((each.rx_packets for each in controllers), is_seen=visible.writes),
        rx_bytes=_sum((each.rx_bytes for each in controllers), is_seen=visible.writes),
        rx_wire_bytes=_sum((each.rx_wire_bytes for each in controllers), is_seen=visible.writes),
        tx_descriptors=_sum((each.tx_descriptors for each in controllers), is_seen=visible.reads),
        tx_sends_least=_sum((each.tx_sends_least for each in controllers), is_seen=visible.reads),
        tx_sends_most=_sum((each.tx_sends_most for each in controllers), is_seen=visible.reads),
        tx_bytes=_sum((each.tx_bytes for each in controllers), is_seen=visible.reads),
        interrupts=_sum((each.interrupts for each in controllers), is_seen=visible.writes),
        controllers=controllers,
    )


ANALYSES.add("io", Io)
