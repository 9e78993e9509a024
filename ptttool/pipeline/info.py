"""A report as a JSON document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ptttool.analyses.elements import ElementSummary
from ptttool.analyses.summary import FlowSums, RequesterSums, Sums, TimeRange, TlpSummary
from ptttool.capture.documents import ExplanationBody
from ptttool.decoders.hisi_ptt.findings import Findings
from ptttool.diagnostics import Diagnostic
from ptttool.documents import OMIT_NONE, ErrorBody, document
from ptttool.errors import PtttoolError
from ptttool.pipeline.report import Report, StreamSize
from ptttool.recording.cs_etm import CsEtm


@dataclass(frozen=True)
class HostFacts:
    """Where the recording was made, as far as perf noted it.

    Parameters
    ----------
    hostname : str or None
        Name of the host.
    kernel : str or None
        Release of the kernel.
    arch : str or None
        Architecture.
    perf : str or None
        Version of perf.
    """

    hostname: str | None
    kernel: str | None
    arch: str | None
    perf: str | None


@dataclass(frozen=True)
class TraceUnitBody:
    """The CoreSight trace unit of one CPU.

    Parameters
    ----------
    cpu : int
        The CPU.
    kind : str
        Kind of trace unit.
    trace_id : int or None
        Trace ID of its packets.
    registers : Mapping[str, str]
        Its registers by name, in hexadecimal.
    more : tuple of int
        Numbers of perf's metadata that have no name here.
    """

    cpu: int
    kind: str
    trace_id: int | None
    registers: Mapping[str, str]
    more: tuple[int, ...]


@dataclass(frozen=True)
class CoreSightBody:
    """What perf kept of CoreSight trace units.

    Parameters
    ----------
    version : int
        Version of the metadata.
    pmu_type : int
        Type number of the PMU.
    cpus : int
        Number of CPUs that the header states.
    snapshot : bool
        Whether the recording was made in snapshot mode.
    trace_units : tuple of TraceUnitBody
        The trace units.
    damage : str or None
        Why there are no more of them.
    """

    version: int
    pmu_type: int
    cpus: int
    snapshot: bool
    trace_units: tuple[TraceUnitBody, ...]
    damage: str | None

    @classmethod
    def of(cls, metadata: CsEtm) -> CoreSightBody:
        """Describe the metadata of a recording."""
        units = tuple(
            TraceUnitBody(unit.cpu, unit.kind, unit.trace_id, {name: f"{value:#x}" for name, value in unit.registers.items()}, unit.more)
            for unit in metadata.units
        )
        return cls(metadata.version, metadata.pmu_type, metadata.cpus, metadata.snapshot, units, metadata.damage)


@document("info")
@dataclass(frozen=True)
class Info:
    """What a recording holds.

    Parameters
    ----------
    path : str
        The recording.
    protocol : str
        What its trace is, in words.
    mode : str
        How it is stored: ``file``, ``pipe``, ``directory``, ``raw``.
    host : HostFacts
        Where it was made.
    started : str or None
        When recording began.
    elapsed : float or None
        Seconds that were traced, where a sidecar knows: between perf's answers that the event is on and off.
    elapsed_at_least : float or None
        Seconds that were traced at least, where ``elapsed`` is null: no rate follows from them.
    command : list of str, str or None
        The command of perf.
    event : str or None
        The PMU event.
    config : int or None
        The event's config.
    explanation : ExplanationBody or None
        The PTT event in words.
    formats : Mapping[str, int]
        Payloads by format of their records.
    streams : list of StreamSize
        The AUX streams.
    trace_units : CoreSightBody or None
        What perf kept of CoreSight trace units.
    container_records : Mapping[str, int]
        Records of the perf.data by type.
    container_unknown : Mapping[str, int]
        Records of unknown types, by number.
    records : int or None
        Number of TLPs or elements.
    payload_bytes, requested_bytes : int or None
        Bytes of data that the TLPs carried, and bytes that reads and atomics asked for.
    kinds, classes, directions : Mapping[str, Sums] or None
        TLPs and bytes by kind, by class and by direction.
    flows : list of FlowSums or None
        TLPs and bytes by direction and kind.
    requesters : list of RequesterSums or None
        TLPs and bytes by requester.
    time : TimeRange or None
        Range of the raw Time field.
    elements : ElementSummary or None
        Elements of a packet trace, summed up.
    findings : Mapping[str, object] or None
        Counts of what was odd in PTT records.
    diagnostics : list of Diagnostic
        What was odd while decoding.
    signs_of_loss : list of Diagnostic
        Signs that trace data are missing, the worst first.
    problems : list of Diagnostic
        What is damaged in the file.
    error : ErrorBody
        Why the command failed.
    """

    path: str
    protocol: str
    mode: str
    host: HostFacts
    started: str | None
    elapsed: float | None
    elapsed_at_least: float | None
    command: list[str] | str | None
    event: str | None
    config: int | None
    explanation: ExplanationBody | None
    formats: dict[str, int]
    streams: list[StreamSize]
    trace_units: CoreSightBody | None
    container_records: dict[str, int]
    container_unknown: dict[str, int]
    records: int | None
    payload_bytes: int | None
    requested_bytes: int | None
    kinds: dict[str, Sums] | None
    classes: dict[str, Sums] | None
    directions: dict[str, Sums] | None
    flows: list[FlowSums] | None
    requesters: list[RequesterSums] | None
    time: TimeRange | None
    elements: ElementSummary | None
    findings: Mapping[str, object] | None
    diagnostics: list[Diagnostic]
    signs_of_loss: list[Diagnostic]
    problems: list[Diagnostic]
    error: ErrorBody | None = field(default=None, metadata=OMIT_NONE)


def info_of(report: Report, error: PtttoolError | None = None) -> Info:
    """Return the document of a report. ``error`` is the one that the command ends with."""
    contents, recording, findings = report.contents, report.recording, report.walk.findings
    attribute, summary = recording.attribute, report.summary
    tlps = summary if isinstance(summary, TlpSummary) else None
    features = contents.features
    return Info(
        path=recording.path,
        protocol=recording.title,
        mode=contents.mode,
        host=HostFacts(*(_text(features.get(name)) for name in ("hostname", "osrelease", "arch", "version"))),
        started=report.started,
        elapsed=report.elapsed,
        elapsed_at_least=report.elapsed_at_least,
        command=list(report.command) if report.command else _command(features.get("cmdline")),
        event=_event(report),
        config=None if attribute is None else attribute.config,
        explanation=None if report.explanation is None else ExplanationBody.of(report.explanation),
        formats=dict(findings.formats) if isinstance(findings, Findings) else {},
        streams=report.streams,
        trace_units=None if report.trace_units is None else CoreSightBody.of(report.trace_units),
        container_records=dict(contents.records),
        container_unknown={str(number): count for number, count in contents.unknown.items()},
        records=None if summary is None else summary.records,
        payload_bytes=None if tlps is None else tlps.payload_bytes,
        requested_bytes=None if tlps is None else tlps.requested_bytes,
        kinds=None if tlps is None else tlps.kinds,
        classes=None if tlps is None else tlps.classes,
        directions=None if tlps is None else tlps.directions,
        flows=None if tlps is None else tlps.flows,
        requesters=None if tlps is None else tlps.requesters,
        time=None if tlps is None else tlps.time,
        elements=summary if isinstance(summary, ElementSummary) else None,
        findings=findings.counts() if isinstance(findings, Findings) else None,
        diagnostics=list(report.diagnostics),
        signs_of_loss=list(report.loss),
        problems=list(contents.problems),
        error=None if error is None else ErrorBody.of(error),
    )


def _event(report: Report) -> str | None:
    attribute = report.recording.attribute
    if attribute is not None:
        return attribute.name
    units = report.trace_units
    if units is None:
        return None
    return next((attribute.name for attribute in report.contents.attributes if attribute.type == units.pmu_type), None)


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _command(value: object) -> list[str] | str | None:
    return [str(item) for item in value] if isinstance(value, list | tuple) else _text(value)
