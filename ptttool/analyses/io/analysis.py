"""The analysis ``io``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ptttool.analyses.contract import ANALYSES, AnalysisContext
from ptttool.analyses.io.commands.follow import Followed
from ptttool.analyses.io.commands.summary import CommandSummary
from ptttool.analyses.io.counts import Counts
from ptttool.analyses.io.kinds import Device, device_of, function_of
from ptttool.analyses.io.nic import controller_of
from ptttool.analyses.io.nvme import drive_of
from ptttool.analyses.io.requester import RequesterTrace, TracedKinds
from ptttool.analyses.io.results import Controller, DataBytes, Drive, IoResult, Nic, Nvme, Unexplained
from ptttool.analyses.needs import Captured, Need, captured
from ptttool.analyses.scope import Scope, TlpAnalysis
from ptttool.analyses.time.clock import CLOCK_COLUMNS
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.pci import format_id

if TYPE_CHECKING:
    from ptttool.table.batch import Batch

# One entry in so many may be nearest to another queue's doorbell: queues work at the same time.
_CONFLICTS = 4
_OPTIONS = "--direction inbound --type p,np"


class Io(TlpAnalysis[IoResult]):
    """Commands of NVMe drives, and packets of network controllers."""

    name = "io"
    meaning = "commands of NVMe drives with their bytes and latency, packets of network controllers"
    columns = ("index", "kind", "requester", "address", "length_dw", "requested_bytes", "byte_count", "lower_address", *CLOCK_COLUMNS)
    whole_columns = ("index",)
    worker_bytes = 128 << 20
    needs = (
        Need("completed commands, bytes read from drives, received packets", _OPTIONS, inbound=("P",)),
        Need("fetched commands, bytes written to drives, bytes sent", _OPTIONS, inbound=("NP",)),
    )

    def __init__(self, scope: Scope | None = None) -> None:
        super().__init__(scope)
        self._clock = self.scope.clock
        self._counts = Counts()
        self._followed = Followed(self.scope.regions)

    def update(self, batch: Batch) -> None:
        """Add TLPs."""
        ticks = self._clock.ticks(batch)
        self._counts.add(batch, ticks.at)
        self._followed.add(batch, ticks)

    def merge(self, later: Io) -> None:
        """Add the TLPs behind."""
        seam = self._clock.merge(later._clock)
        self._counts.merge(later._counts, seam.ticks)
        self._followed.merge(later._followed, seam)

    def result(self, context: AnalysisContext) -> IoResult:
        """Return commands and packets."""
        tables, left_out = self._counts.close(), self._counts.left_out
        event = captured(context.contents, machine=context.machine)
        visible = _visible(event, tables["requesters"])
        time = self.scope.time_facts(self._clock, context)
        self._followed.close()
        commands = CommandSummary(self._followed, time, sees_doorbells=event.flow is None or "P" in event.flow.outbound)
        drives: list[Drive] = []
        ids: list[int] = []
        controllers: list[Controller] = []
        rest: list[Unexplained] = []
        for trace in RequesterTrace.each(tables, left_out, visible, time):
            function = function_of(trace.sum("key"), context.machine)
            device, by = device_of(trace, function)
            if device is Device.NVME:
                ids.append(trace.sum("key"))
                drives.append(drive_of(trace, by, commands))
            elif device is Device.NIC:
                controllers.append(controller_of(trace, by, None if function is None else function.driver))
            else:
                moved = trace.sum("write_bytes") + trace.sum("read_bytes")
                rest.append(Unexplained(format_id(trace.sum("key")), trace.sum("tlps"), moved))
        drives.sort(key=lambda drive: (-(drive.commands or 0), drive.requester))
        controllers.sort(key=lambda each: (-(each.rx_packets_most or 0), -(each.written_bytes or 0), each.requester))
        rest.sort(key=lambda each: (-each.tlps, each.requester))
        # Completions in rings of their own are those of network controllers only.
        looked_at = {name: count for name, count in left_out.items() if controllers or name != "completions"}
        notes = [*_notes(drives, controllers)]
        # That there is nothing of a kind is known only where it is known what each requester is.
        seen = TracedKinds(*(kind and not rest for kind in visible))
        nvme = _all_drives(drives, seen, commands.together(ids), time.tick_ns)
        return IoResult(nvme, _all_controllers(controllers, seen), rest, sum(looked_at.values()), notes, time)


def _notes(drives: Sequence[Drive], controllers: Sequence[Controller]) -> Iterator[Diagnostic]:
    for drive in drives:
        if not drive.is_fetched:
            yield Diagnostic(
                Severity.WARNING,
                "no-fetches",
                f"{drive.requester} was not seen to fetch commands, although it works: its submission queues may be in its own memory. "
                "Commands are counted by their completions, where these are seen",
                where=drive.requester,
            )
        yield from _notes_of_queues(drive)
    for nic in controllers:
        if not nic.is_understood:
            message = (
                f"{nic.requester}: its rings are not understood: bytes are all that is known, those of descriptors and completions too"
            )
            yield Diagnostic(Severity.WARNING, "rings-not-understood", message, where=nic.requester)
        elif nic.rx_packets is None and nic.rx_packets_most is not None:
            message = f"{nic.requester} works as {nic.model} controllers do: headers give only limits of its packets"
            yield Diagnostic(Severity.INFO, "limits-only", message, where=nic.requester)


def _notes_of_queues(drive: Drive) -> Iterator[Diagnostic]:
    followed, where = drive.followed, drive.requester
    unknown = sum(each.commands or 0 for each in followed.queues if each.queue is None)
    if followed.is_shadowed:
        yield Diagnostic(
            Severity.INFO,
            "shadow-doorbells",
            f"{where} reads its doorbells from memory, too (shadow doorbells): few are written, and phases that begin or end with one are "
            "those of the few, or at least so long",
            where=where,
        )
    if unknown:
        yield Diagnostic(
            Severity.INFO,
            "queues-unknown",
            f"{where}: of {unknown:,} commands the queue is not known: no doorbell was seen in front of them",
            where=where,
            details={"commands": unknown},
        )
    if followed.interrupt_addresses == 1 and followed.told and len(followed.queues) > 1:
        yield Diagnostic(
            Severity.INFO,
            "one-interrupt-address",
            f"all interrupts of {where} go to one address, as with GICv3 ITS: headers do not tell of which queue one is",
            where=where,
        )
    conflicts = sum(each.conflicts for each in followed.queues)
    if conflicts * _CONFLICTS > (drive.commands or 0):
        yield Diagnostic(
            Severity.WARNING,
            "queues-doubtful",
            f"{where}: {conflicts:,} entries are nearer to the doorbell of another queue than to one of their own",
            where=where,
            details={"conflicts": conflicts},
        )


def _visible(event: Captured, requesters: Any) -> TracedKinds:
    """Return what was traced: as the event says, else what there is."""
    if event.flow is None:
        return TracedKinds(*(bool(requesters[name].any()) for name in ("writes", "reads", "completions")))
    inbound, outbound = event.flow.inbound, event.flow.outbound
    return TracedKinds("P" in inbound, "NP" in inbound, any(group.startswith("CPL") for group in outbound))


def _sums(devices: Sequence[Drive | Controller | DataBytes], names: Sequence[str], *, is_seen: bool) -> dict[str, int | None]:
    """Return sums of fields; None where one is not known, and that of nothing is known only where TLPs were traced."""
    sums: dict[str, int | None] = {}
    for name in names:
        values = [getattr(each, name) for each in devices]
        sums[name] = (0 if is_seen else None) if not values else None if None in values else sum(values)
    return sums


def _all_drives(drives: list[Drive], visible: TracedKinds, times: Any, tick_ns: float | None) -> Nvme:
    data = [each.data_bytes for each in drives]
    read, write = _sums(data, ("read",), is_seen=visible.writes), _sums(data, ("write",), is_seen=visible.reads)
    phases, latency, _ = times
    return Nvme(
        **_sums(drives, ("commands",), is_seen=visible.reads or visible.writes),
        **_sums(drives, ("submitted",), is_seen=visible.reads),
        **_sums(drives, ("completed", "interrupts"), is_seen=visible.writes),
        data_bytes=DataBytes(**read, **write),
        uncertain_bytes=sum(each.uncertain_bytes for each in drives),
        drives=drives,
        queues=[queue for each in drives for queue in each.followed.queues],
        phases=phases if drives else None,
        phases_ns=phases.scaled(tick_ns) if drives and tick_ns is not None else None,
        latency=latency,
        latency_ns=latency.scaled(tick_ns) if latency is not None and tick_ns is not None else None,
    )


def _all_controllers(controllers: list[Controller], visible: TracedKinds) -> Nic:
    received = [f"{name}{end}" for name in ("rx_packets", "rx_bytes") for end in ("", "_least", "_most")]
    sent = ["tx_descriptors", "tx_sends_least", "tx_sends_most", "tx_bytes", "tx_bytes_least", "tx_bytes_most"]
    return Nic(
        **_sums(controllers, (*received, "rx_wire_bytes", "interrupts"), is_seen=visible.writes),
        **_sums(controllers, sent, is_seen=visible.reads),
        controllers=controllers,
    )


ANALYSES.add("io", Io)
