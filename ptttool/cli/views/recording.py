"""Show what a recording holds, for ``info`` and ``trace``. ``clean`` removes control characters from text in files."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ptttool.capture.event.explain import explain, traced_text
from ptttool.capture.names import sidecar_path
from ptttool.cli.terminal.talk import console, plain_table, print_facts, print_labelled
from ptttool.wording import clean, counted

if TYPE_CHECKING:
    from rich.table import Table

    from ptttool.analyses.elements import ElementSummary
    from ptttool.analyses.summary import TlpSummary
    from ptttool.api.recording import OpenRecording
    from ptttool.capture.event.decode import Explanation
    from ptttool.capture.series.manifest import Series
    from ptttool.machine.model import Machine
    from ptttool.pipeline.summary import RecordingSummary


# Requesters in the table, where the user names no number.
_SHOWN_REQUESTERS = 20


def print_summary(
    summary: RecordingSummary,
    recording: OpenRecording,
    machine: Machine | None,
    *,
    counts_alone: bool = False,
    requesters: int = _SHOWN_REQUESTERS,
) -> None:
    """Print what a recording holds on standard output; with ``counts_alone`` without facts about the recording and without diagnostics."""
    out = console()
    explanation = None if summary.config is None else explain(summary.config, pmu=recording.device, machine=machine)
    if not counts_alone:
        print_facts(_facts(summary, recording, machine, explanation))
        out.print()
        signs = list(_signs(summary))
        print_facts(signs)
        if signs:
            out.print()
    if summary.tlps is not None:
        _print_tlps(summary, summary.tlps, recording.part_of(machine), requesters)
    elif summary.elements is not None:
        _print_elements(summary.elements)
    if summary.trace_units is not None and summary.trace_units.trace_units:
        out.print()
        out.print(_trace_unit_table(summary))
    remarks = [] if counts_alone else list(_remarks(summary))
    if remarks:
        out.print()
    print_facts(remarks)


def _print_tlps(summary: RecordingSummary, tlps: TlpSummary, machine: Machine | None, requesters: int) -> None:
    from ptttool.cli.views.tlps import flow_table, remarks_on, requester_table
    from ptttool.diagnostics import Severity

    out = console()
    carried, asked = _in_bytes(tlps.payload_bytes), _in_bytes(tlps.requested_bytes)
    out.print(f"{tlps.records:,} TLPs, {carried} carried, {asked} asked for by reads")
    if not tlps.records:
        return
    time = tlps.time
    out.print(f"Time, raw: first {time.first}, last {time.last}, smallest {time.smallest}, largest {time.largest}")
    if summary.clock is not None:
        clock = summary.clock
        out.print(f"Clock kept beside it: {clock.model} of {clock.bits} bits, a tick of {clock.tick_ns:.6g} ns ({clock})")
    if summary.elapsed is not None:
        rates = ""
        if summary.elapsed > 0 and all(sign.severity is Severity.INFO for sign in summary.signs_of_loss):
            rates = f": {tlps.records / summary.elapsed:,.0f} TLPs/s, {tlps.payload_bytes / summary.elapsed:,.0f} bytes/s carried"
        out.print(f"Traced for {summary.elapsed:.3g} s{rates}")
    elif summary.elapsed_at_least is not None:
        out.print(f"Traced for at least {summary.elapsed_at_least:.3g} s: no rate follows from that")
    for row in summary.counted or ():
        out.print(f"By the counter {row.event}: {row.text}")
    out.print()
    out.print(flow_table(tlps, out.width))
    out.print()
    out.print(requester_table(tlps, machine, out.width, requesters))
    remarks = [("note", one) for one in remarks_on(tlps, machine, () if summary.explanation is None else summary.explanation.types)]
    if remarks:
        out.print()
    print_facts(remarks)


def _in_bytes(size: int) -> str:
    """Return a number of bytes; a large one also in GiB."""
    return f"{size:,} bytes ({size / (1 << 30):.3g} GiB)" if size >= 1 << 30 else f"{size:,} bytes"


def _print_elements(summary: ElementSummary) -> None:
    out = console()
    out.print(f"{summary.records:,} elements, {summary.bytes:,} bytes of trace")
    if not summary.records:
        return
    heads = ("Kind", "Elements", "Share")
    table = plain_table(heads, right=heads[1:], whole=heads, overflow="ellipsis")
    for kind, count in summary.kinds.items():
        table.add_row(kind, f"{count:,}", f"{100 * count / summary.records:.1f} %")
    out.print()
    out.print(table)
    if summary.channels:
        print_labelled("channels", ", ".join(f"{int(channel):#04x}: {count:,}" for channel, count in summary.channels.items()))
    for flag, count in summary.flags.items():
        print_labelled("flagged", f"{flag}: {counted(count, 'element')}")


def _signs(summary: RecordingSummary) -> Iterator[tuple[str, str]]:
    """Yield signs of loss, which stand above all numbers: a label and a sentence each."""
    from ptttool.analyses.loss import causes_of

    for sign in summary.signs_of_loss:
        yield sign.severity, sign.message
        yield from (("", f"possible: {cause}") for cause in causes_of(sign))


def _remarks(summary: RecordingSummary) -> Iterator[tuple[str, str]]:
    """Yield diagnostics: a label and a sentence each."""
    from ptttool.diagnostics import Severity

    for diagnostic in summary.diagnostics:
        yield "note" if diagnostic.severity is Severity.INFO else diagnostic.severity, diagnostic.message
        if diagnostic.hint is not None:
            yield "", diagnostic.hint
    unknown = summary.container_unknown
    if unknown:
        listed = ", ".join(f"{count} of type {number}" for number, count in sorted(unknown.items(), key=lambda item: int(item[0])))
        yield "note", f"unknown types of perf.data records: {listed}"


def _facts(
    summary: RecordingSummary, recording: OpenRecording, machine: Machine | None, explanation: Explanation | None
) -> Iterator[tuple[str, str]]:
    host = summary.host
    where = [f"perf {host.perf}"] if host.perf else []
    where += [f"on {host.hostname}"] if host.hostname else []
    system = " ".join(filter(None, (host.kernel, host.arch)))
    if where or system:
        yield "recorded", " ".join(where) + (f" (Linux {system})" if system else "")
    if summary.started:
        yield "started", summary.started
    command = summary.command
    if command:
        yield "command", shlex.join(command) if isinstance(command, list) else command
    if summary.config is not None:
        yield "event", f"{summary.event or 'not named'} (config {summary.config:#x})"
    if explanation is not None:
        yield "traces", traced_text(explanation, machine)
    if recording.is_ptt:
        yield from _format(summary, recording)
        if machine is None and not recording.is_raw:
            beside = "" if recording.path == "-" else f"copy {sidecar_path(recording.path).name} from where it was recorded; or "
            yield "names", f"unknown: {beside}--sysfs names the machine"
    else:
        yield "protocol", summary.protocol
    yield from _trace_units(summary, recording)
    for stream in summary.streams:
        name = "AUX stream" if stream.cpu is None else f"CPU {stream.cpu}"
        if recording.is_raw:
            yield "stream", f"{stream.bytes:,} bytes"
        else:
            parts = f"{counted(stream.payloads, 'payload')}, {counted(stream.aux_events, 'AUX event')}"
            yield "stream", f"{name}: {stream.bytes:,} bytes in {parts}"
    if summary.mode not in ("file", "raw"):
        yield "container", {"pipe": "perf.data in pipe mode", "directory": "perf.data directory"}[summary.mode]


def _trace_units(summary: RecordingSummary, recording: OpenRecording) -> Iterator[tuple[str, str]]:
    units = summary.trace_units
    if units is None:
        return
    path = clean(recording.path)
    framed = all(event.is_framed for event in recording.contents.aux_events if event.size)
    yield "holds", "CoreSight trace" + ("" if framed else " without frames, one stream for each CPU (TRBE)")
    yield "decode", f"ptttool decode --protocol opencsd {'' if framed else '-p framing=none '}{path}"
    kind = "snapshot" if units.snapshot else "full trace"
    yield "metadata", f"version {units.version}, PMU type {units.pmu_type}, {counted(units.cpus, 'CPU')}, {kind}"
    if units.damage is not None:
        yield "warning", f"the metadata are damaged: {units.damage}"


def _trace_unit_table(summary: RecordingSummary) -> Table:
    table = plain_table(("CPU", "Trace unit", "Trace ID", "Registers"), whole=("CPU", "Trace unit", "Trace ID"), overflow="ellipsis")
    for unit in summary.trace_units.trace_units if summary.trace_units else ():
        registers = " ".join(f"{name}={value:#x}" for name, value in unit.registers.items())
        trace_id = "" if unit.trace_id is None else f"{unit.trace_id:#04x}"
        table.add_row(str(unit.cpu), unit.kind, trace_id, registers)
    return table


def _format(summary: RecordingSummary, recording: OpenRecording) -> Iterator[tuple[str, str]]:
    """Describe the layout of PTT records, and whether the data agree with it."""
    from ptttool.decoders.hisi_ptt.findings import CHECK_CODE

    findings: Mapping[str, Any] = summary.findings or {}
    if not summary.formats:
        return
    declared = recording.attribute is not None
    origin = "as asked for" if recording.is_raw else "from the event's config" if declared else "seen in the data"
    if findings["format_conflicts"]:
        agreement = "the data have another format, which was used"
    elif findings["unchecked_records"] or f"{CHECK_CODE:#04x}" in findings["unknown_codes"]:
        agreement = "not all data agree"
    else:
        agreement = "the data could be either" if findings["undecided_payloads"] else "the data agree"
    yield "format", f"{' and '.join(summary.formats)} ({origin}; {agreement})"


def print_series(path: str, series: Series) -> None:
    """Print the runs of a series on standard output."""
    print_labelled("series", f"{path}: runs one after another; no transaction is matched across them")
    if series.purposes:
        print_labelled("for", ", ".join(series.purposes))
    if series.until is not None:
        found = "not found" if series.until.window is None else f"TLP {series.until.index:,} of window {series.until.window}"
        print_labelled("until", f"{series.until.condition}: {found}")
    out = console()
    out.print()
    table = plain_table(("Run", "Traces", "State", "Recording"), right=("Run",))
    for number, run in enumerate(series.runs, 1):
        table.add_row(str(number), *(clean(text) for text in (run.name, run.state, run.file)))
    out.print(table)
