"""Run the analyses of a recording, in one pass, and put what they found in a report's order."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ptttool.analyses.contract import ANALYSES
from ptttool.analyses.drawing.names import names_of
from ptttool.capture.event.explain import explain
from ptttool.decoders.hisi_ptt.findings import Findings
from ptttool.documents import ErrorBody
from ptttool.perfdata.problems import damage_of
from ptttool.pipeline.analyzing.several import analyze_recording
from ptttool.report.advice.every import advice_on
from ptttool.report.chapters import chapters_of
from ptttool.report.glance import glances_of
from ptttool.report.model import ReportedRecording
from ptttool.wording import clean

if TYPE_CHECKING:
    from ptttool.errors import PtttoolError
    from ptttool.machine.model import Machine
    from ptttool.pipeline.recording import Recording
    from ptttool.pipeline.scope import TimeOptions
    from ptttool.pipeline.walk import Walk
    from ptttool.pipeline.workers.pool import Workers


def report_of(
    recording: Recording,
    workers: Workers,
    *,
    walk: Walk | None = None,
    machine: Machine | None = None,
    command: Sequence[str] | None = None,
    started: str | None = None,
    went_offline: Sequence[int] = (),
    time: TimeOptions | None = None,
) -> ReportedRecording:
    """Run all analyses that fit a recording; it is read once.

    Parameters
    ----------
    recording : Recording
        The recording.
    workers : Workers
        Who decodes and sums up.
    walk : Walk or None
        The pass to take, where its progress is to be seen.
    machine : Machine or None
        The machine, for names.
    command, started, went_offline
        What a sidecar knows: the command that recorded, when, and the CPUs that went offline meanwhile.
    time : TimeOptions or None
        What the user says of time.
    """
    walk = recording.walk(workers) if walk is None else walk
    names = [name for name in ANALYSES.names() if all(column in recording.schema for column in ANALYSES.get(name).columns)]
    found = analyze_recording(recording, names, workers, walk=walk, machine=machine, went_offline=went_offline, time=time)
    failure, _ = damage_of(recording)
    return ReportedRecording(
        path=recording.path,
        protocol=recording.title,
        records=walk.findings.records,
        noun=recording.noun,
        facts=tuple((label, clean(text)) for label, text in _facts(recording, walk, machine, command, started)),
        results=found.results,
        lacks=found.lacks,
        chapters=chapters_of(found.results, found.lacks, names_of(machine)),
        advice=advice_on(found.results, found.lacks),
        diagnostics=found.diagnostics,
        error=None if failure is None else ErrorBody.of(failure),
        glances=glances_of(found.results),
    )


def unread(path: str, error: PtttoolError) -> ReportedRecording:
    """Return what a report says of a recording that cannot be read."""
    return ReportedRecording(path, None, 0, "TLP", (), {}, {}, (), (), (), ErrorBody.of(error))


def _facts(
    recording: Recording, walk: Walk, machine: Machine | None, command: Sequence[str] | None, started: str | None
) -> Iterator[tuple[str, str]]:
    features = recording.contents.features
    host = [str(features[name]) for name in ("hostname", "osrelease", "arch") if features.get(name)]
    if host:
        yield "Machine", ", ".join(host)
    if started:
        yield "Started", started
    used = command or features.get("cmdline")
    if used:
        yield "Command", shlex.join(map(str, used)) if isinstance(used, list | tuple) else str(used)
    attribute = recording.attribute
    if attribute is not None:
        flow = explain(attribute.config, pmu=recording.device, machine=machine).flow
        sides = [f"{side} {', '.join(groups)}" for side, groups in (("inbound", flow.inbound), ("outbound", flow.outbound)) if groups]
        yield "Event", attribute.name or f"config {attribute.config:#x}"
        yield "Traces", "; ".join(sides) or "nothing"
    if isinstance(walk.findings, Findings) and walk.findings.formats:
        yield "Format", " and ".join(walk.findings.formats)
    size = sum(payload.held for payload in recording.contents.aux_payloads)
    if size:
        yield "Trace data", f"{size:,} bytes"
