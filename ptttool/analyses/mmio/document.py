"""The result of the analysis ``mmio``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from msgspec import Struct

from ptttool.analyses.drawing.bins import histogram_of_times
from ptttool.analyses.drawing.result import Shown
from ptttool.analyses.registers import with_name
from ptttool.analyses.shown import Cell, Column, Facts, Histogram, Names, Note, Part, Table, Unit, text_column
from ptttool.analyses.time.facts import TimeFacts
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import document
from ptttool.wording import clean

# Rows of a table that people see; the JSON has more.
_SHOWN = 20


class RequestLatency(Struct, frozen=True):
    """Ticks from requests to their last completion.

    Parameters
    ----------
    n : int
        Requests with a known latency: answered in full, with no hole between.
    min, mean, p50, p90, p99, max : int, float or None
        The smallest, the mean, quantiles (above 255 ticks they may be off by 0.4 %), the largest; None without requests.
    edges, counts : list of int
        The bins of a histogram: limits, and requests in each.
    """

    json_name: ClassVar = "Latency"

    n: int
    min: int | None
    mean: float | None
    p50: int | None
    p90: int | None
    p99: int | None
    max: int | None
    edges: list[int] = []
    counts: list[int] = []


class RequestSums(Struct, frozen=True):
    """Requests of one kind.

    Parameters
    ----------
    space : str
        ``memory``, ``io`` or ``configuration``.
    operation : str
        ``read``, ``write`` or ``atomic``.
    requests : int
        Number of requests.
    answered, errors, short : int
        Those with all completions; those that ended with an error status; those with bytes missing.
    unanswered, open_at_end : int
        Those without a completion inside the recording; those that were open at its end. Writes to memory have no completions.
    not_traced : int
        Those without a completion where the recording's event does not ask for completions of outbound requests.
    ticks : RequestLatency
        How long the answered ones took.
    """

    space: str
    operation: str
    requests: int
    answered: int
    errors: int
    short: int
    unanswered: int
    open_at_end: int
    not_traced: int
    ticks: RequestLatency


class RegisterUse(Struct, frozen=True):
    """Requests to one register.

    Parameters
    ----------
    register : str
        Where it is: ``01:00.0 BAR 0 + 0x1008`` where the machine is known, a register of configuration space, or the address.
    name : str or None
        What it is: ``SQ 1 tail doorbell``, ``MSI-X vector 0 address``; null where that is not known.
    space : str
        ``memory``, ``io`` or ``configuration``.
    address : str
        Its address; in configuration space the function's ID << 12 and the offset.
    reads, writes, atomics : int
        Number of requests.
    answered : int
        Reads with a known latency.
    mean_ticks : float or None
        Their mean latency.
    repeats : int
        Reads with no other outbound read since the last read of the same register.
    period_ticks : float or None
        Mean of the ticks between these.
    index : int
        Number of the first request in the recording.
    """

    register: str
    name: str | None
    space: str
    address: str
    reads: int
    writes: int
    atomics: int
    answered: int
    mean_ticks: float | None
    repeats: int
    period_ticks: float | None
    index: int


class PollingRun(Struct, frozen=True):
    """Reads of one register with no other outbound read between.

    Parameters
    ----------
    register : str
        Where it is.
    name : str or None
        What it is; null where that is not known.
    reads : int
        Number of reads.
    ticks : int or None
        From the first to the last of them.
    period_ticks : float or None
        The mean between two of them.
    index : int
        Number of the first read in the recording.
    """

    register: str
    name: str | None
    reads: int
    ticks: int | None
    period_ticks: float | None
    index: int


class SlowRequest(Struct, frozen=True):
    """A request that took long.

    Parameters
    ----------
    register : str
        What it addressed.
    name : str or None
        What that is; null where that is not known.
    operation : str
        ``read``, ``write`` or ``atomic``.
    ticks : int
        Ticks to the last completion.
    index, last : int
        Numbers of the request and of the last completion in the recording.
    """

    register: str
    name: str | None
    operation: str
    ticks: int
    index: int
    last: int


class CodeUse(Struct, frozen=True):
    """Code of the kernel that touched a register.

    Parameters
    ----------
    register : str
        Where it is.
    name : str or None
        What it is; null where that is not known.
    space : str
        ``memory``, ``io`` or ``configuration``.
    address : str
        Its address, as in :class:`RegisterUse`.
    operation : str
        ``read`` or ``write``.
    code : str
        The place in the kernel: function, offset and module; its address where no symbol is known.
    code_address : str
        Its address.
    callers : list of str
        What called it, in the same way; the innermost one first.
    requests : int or None
        Requests on the link that it made; null where order leaves several possibilities.
    seen : int
        What the kernel saw of it, while its events were on: also before and after the trace.
    """

    register: str
    name: str | None
    space: str
    address: str
    operation: str
    code: str
    code_address: str
    callers: list[str]
    requests: int | None
    seen: int


class KernelCode(Struct, frozen=True):
    """The kernel's accesses beside those of the link.

    Parameters
    ----------
    file : str
        The recording of tracepoints.
    requests : int
        Outbound requests of the recording.
    joined : int
        Those to pages that are certainly pages of the kernel's side.
    seen : int
        Accesses that the kernel saw, of all devices.
    resolved : bool
        Whether the symbols of the running kernel are those of the kernel that was recorded.
    uses : list of CodeUse
        Who touched which register, those with most accesses first.
    more : int
        How many were left out.
    notes : list of Diagnostic
        What is not known, and why.
    """

    file: str
    requests: int
    joined: int
    seen: int
    resolved: bool
    uses: list[CodeUse]
    more: int
    notes: list[Diagnostic]

    def shown(self) -> Iterator[Part]:
        """Yield who touched which register, and what is not known."""
        if self.uses:
            columns = (
                text_column("Register"), text_column("Does"), text_column("Code"), text_column("Called by", weight=1),
                Column("Requests", Unit.TLPS), Column("Seen by the kernel", weight=2),
            )  # fmt: skip
            rows = [
                (with_name(one.register, one.name), one.operation, clean(one.code), clean(" < ".join(one.callers)), one.requests, one.seen)
                for one in self.uses[:_SHOWN]
            ]
            note = f"of {self.requests:,} requests, {self.joined:,} are to pages that are joined with the kernel's by their order"
            yield Table("Code", columns, rows, None, max(len(self.uses) - _SHOWN, 0) + self.more, note)
        for one in self.notes:
            yield Note(one.text, one.severity)


@document("mmio")
class Mmio(Shown, Struct, frozen=True):
    """Requests of the processor to registers of devices.

    Parameters
    ----------
    time : TimeFacts
        What is known of time.
    requests : int
        Outbound memory, I/O and configuration requests.
    direction_unknown : int
        Requests of these kinds whose direction is not known; they are not among the others.
    flows : list of RequestSums
        By address space and operation.
    registers : list of RegisterUse
        The registers with most requests, the most first.
    more : int
        Registers that are left out.
    register_bytes : int
        1; more where there were too many registers: then each row stands for a range of so many bytes.
    polling : list of PollingRun
        The longest runs of reads of one register.
    slowest : list of SlowRequest
        The requests that took longest.
    code : KernelCode or None
        Which code of the kernel touched registers; null where its accesses were not recorded beside the trace.
    """

    time: TimeFacts
    requests: int
    direction_unknown: int
    flows: list[RequestSums]
    registers: list[RegisterUse]
    more: int
    register_bytes: int
    polling: list[PollingRun]
    slowest: list[SlowRequest]
    code: KernelCode | None = None

    def shown(self, names: Names) -> Iterator[Part]:
        """Yield latencies, then registers, polling and the slowest requests."""
        yield Facts([("requests", f"{self.requests:,} outbound, to registers of devices")])
        if self.code is None:
            yield Note("the requester of an outbound request is the root complex: which process or driver made it is not in the trace")
        if self.direction_unknown:
            text = f"{self.direction_unknown:,} requests have an unknown direction and are left out: --sysfs or --downstream tells it"
            yield Note(text, Severity.WARNING)
        not_traced = sum(one.not_traced for one in self.flows)
        if not_traced:
            text = f"{not_traced:,} requests have no completion here: the recording's event does not ask for those of outbound requests"
            yield Note(text, Severity.WARNING)
        if not self.requests:
            return
        yield self._flows_table()
        for flow in self.flows:
            if flow.ticks.n:
                yield self._histogram(flow)
        yield self._registers_table()
        if self.code is not None:
            yield from self.code.shown()
        yield from self._polling_tables()
        yield from self.time.shown()

    def _scaled(self, ticks: float | None) -> float | None:
        return None if ticks is None else self.time.scaled(ticks)

    def _flows_table(self) -> Table:
        ticks = [Column(title, self.time.unit) for title in ("p50", "p90", "p99", "Max")]
        columns = (
            text_column("Kind"), Column("Requests", Unit.TLPS), Column("Answered", Unit.TLPS), Column("Errors", Unit.TLPS, weight=1),
            Column("Unanswered", Unit.TLPS, weight=1), Column("Open at end", Unit.TLPS, weight=2),
            *ticks,
        )  # fmt: skip
        rows: list[Sequence[Cell]] = [
            (
                f"{one.space} {one.operation}", one.requests, one.answered, one.errors, one.unanswered + one.short, one.open_at_end,
                *(self._scaled(value) for value in (one.ticks.p50, one.ticks.p90, one.ticks.p99, one.ticks.max)),
            )
            for one in self.flows
        ]  # fmt: skip
        return Table(
            "Latency", columns, rows, note="from the request to its last completion, at the root port; memory writes have no answer"
        )

    def _histogram(self, flow: RequestSums) -> Histogram:
        ticks = flow.ticks
        marks = {"min": ticks.min, "p50": ticks.p50, "p99": ticks.p99, "max": ticks.max}
        return histogram_of_times(f"Latency: {flow.space} {flow.operation}", ticks.edges, ticks.counts, self.time, "requests", marks)

    def _registers_table(self) -> Table:
        columns = (
            text_column("Register"), Column("Reads", Unit.TLPS), Column("Writes", Unit.TLPS), Column("Mean latency", self.time.unit),
            Column("Read again", Unit.TLPS, weight=1), Column("Every", self.time.unit, weight=1), Column("First", Unit.INDEX, weight=2),
        )  # fmt: skip
        rows = [
            (
                with_name(one.register, one.name),
                one.reads,
                one.writes,
                self._scaled(one.mean_ticks),
                one.repeats,
                self._scaled(one.period_ticks),
                one.index,
            )
            for one in self.registers[:_SHOWN]
        ]
        note = "read again: with no other outbound read since"
        if self.register_bytes > 1:
            note += f"; too many registers: each row stands for {self.register_bytes:,} bytes"
        return Table("Registers", columns, rows, None, max(len(self.registers) - _SHOWN, 0) + self.more, note)

    def _polling_tables(self) -> Iterator[Part]:
        if self.polling:
            columns = (
                text_column("Register"), Column("Reads", Unit.TLPS), Column("Every", self.time.unit),
                Column("During", self.time.unit, weight=1), Column("First", Unit.INDEX),
            )  # fmt: skip
            rows = [
                (with_name(one.register, one.name), one.reads, self._scaled(one.period_ticks), self._scaled(one.ticks), one.index)
                for one in self.polling[:_SHOWN]
            ]
            note = "reads of one register with no other outbound read between, the longest runs first"
            yield Table("Polling", columns, rows, None, max(len(self.polling) - _SHOWN, 0), note)
        if self.slowest:
            columns = (
                text_column("Register"), text_column("Operation"), Column("Latency", self.time.unit), Column("Request", Unit.INDEX),
                Column("Completion", Unit.INDEX, weight=1),
            )  # fmt: skip
            slowest = [
                (with_name(one.register, one.name), one.operation, self._scaled(one.ticks), one.index, one.last)
                for one in self.slowest[:_SHOWN]
            ]
            yield Table("Slowest", columns, slowest, None, max(len(self.slowest) - _SHOWN, 0))
