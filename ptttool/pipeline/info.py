"""A report as a JSON document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ptttool.analyses.elements import ElementSummary
from ptttool.analyses.summary import RequesterSums, Sums, TimeRange, TlpSummary
from ptttool.capture.documents import ExplanationBody
from ptttool.decoders.hisi_ptt.findings import Findings
from ptttool.diagnostics import Diagnostic
from ptttool.documents import OMIT_NONE, ErrorBody, document
from ptttool.errors import PtttoolError
from ptttool.pipeline.report import Report, StreamSize


@dataclass(frozen=True)
class HostFacts:
    """Where it was recorded, as far as perf noted it."""

    hostname: str | None
    kernel: str | None
    arch: str | None
    perf: str | None


@document("info")
@dataclass(frozen=True)
class Info:
    """What a recording holds.

    ``records`` counts rows: TLPs, or elements of a packet trace. Of TLPs there are ``payload_bytes``, ``kinds``, ``classes``,
    ``requesters`` and ``time``; of elements ``elements``. ``trace_units``: what perf kept of CoreSight trace units. ``findings``: counts of
    what was odd in PTT records. A list or value that does not apply is null.
    """

    path: str
    protocol: str
    mode: str
    host: HostFacts
    started: str | None
    command: list[str] | str | None
    event: str | None
    config: int | None
    explanation: ExplanationBody | None
    formats: dict[str, int]
    streams: list[StreamSize]
    trace_units: dict[str, Any] | None
    container_records: dict[str, int]
    container_unknown: dict[str, int]
    records: int | None
    payload_bytes: int | None
    kinds: dict[str, Sums] | None
    classes: dict[str, Sums] | None
    requesters: list[RequesterSums] | None
    time: TimeRange | None
    elements: ElementSummary | None
    findings: Mapping[str, object] | None
    diagnostics: list[Diagnostic]
    signs_of_loss: list[Diagnostic]
    problems: list[Diagnostic]
    error: ErrorBody | None = field(default=None, metadata=OMIT_NONE)


def info_of(report: Report, error: PtttoolError | None = None) -> Info:
    """Return the document of a report; `error`: with which the command ends."""
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
        command=list(report.command) if report.command else _command(features.get("cmdline")),
        event=_event(report),
        config=None if attribute is None else attribute.config,
        explanation=None if report.explanation is None else ExplanationBody.of(report.explanation),
        formats=dict(findings.formats) if isinstance(findings, Findings) else {},
        streams=report.streams,
        trace_units=None if report.trace_units is None else report.trace_units.as_json(),
        container_records=dict(contents.records),
        container_unknown={str(number): count for number, count in contents.unknown.items()},
        records=None if summary is None else summary.records,
        payload_bytes=None if tlps is None else tlps.payload_bytes,
        kinds=None if tlps is None else tlps.kinds,
        classes=None if tlps is None else tlps.classes,
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
