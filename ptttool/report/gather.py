"""Run the analyses of a recording, in one pass, and put what they found in a report's order."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ptttool.analyses.contract import ANALYSES
from ptttool.analyses.drawing.names import names_of
from ptttool.analyses.traffic import Traffic
from ptttool.capture.event.explain import explain, traced_text
from ptttool.documents import ErrorBody
from ptttool.machine.model import ROOT_PORT
from ptttool.pipeline.analyzing.ask import Ask
from ptttool.pipeline.analyzing.several import analyze_recording
from ptttool.report.advice.every import advice_on
from ptttool.report.chapters import chapters_of
from ptttool.report.glance import glances_of
from ptttool.report.model import Advice, ReportedRecording
from ptttool.wording import clean

# Devices that a report names in its head.
_MOST_DEVICES = 3

if TYPE_CHECKING:
    from ptttool.analyses.shown import Names
    from ptttool.capture.event.decode import Explanation
    from ptttool.errors import PtttoolError
    from ptttool.machine.model import Machine
    from ptttool.pipeline.recording import OpenRecording


def report_of(recording: OpenRecording, ask: Ask) -> ReportedRecording:
    """Run all analyses that fit a recording; it is read once.

    Parameters
    ----------
    recording, ask
        As :func:`ptttool.pipeline.analyzing.ask.run` takes them.
    """
    machine = ask.machine
    names = [name for name in ANALYSES.names() if all(column in recording.schema for column in ANALYSES.get(name).columns)]
    analyses = analyze_recording(recording, ask, names)
    failure = next(iter(recording.damage), None)
    attribute = recording.attribute
    traced = None if attribute is None else explain(attribute.config, pmu=recording.device, machine=machine)
    return ReportedRecording(
        path=recording.path,
        protocol=recording.title,
        records=recording.findings.records,
        noun=recording.noun,
        facts=tuple((label, clean(text)) for label, text in _facts(recording, machine)),
        results=analyses.results,
        lacks=analyses.lacks,
        chapters=chapters_of(analyses.results, analyses.lacks, names_of(machine)),
        advice=[runnable(each, traced) for each in advice_on(analyses.results, analyses.lacks)],
        diagnostics=analyses.diagnostics,
        error=None if failure is None else ErrorBody.of(failure),
        glances=glances_of(analyses.results, None if recording.sidecar is None else recording.sidecar.seconds),
        devices=devices_of(analyses.results.get("traffic"), names_of(machine)),
    )


def devices_of(traffic: object, names: Names) -> tuple[str, ...]:
    """Return the devices of a recording that move most bytes, each with its name; not the processor, whose requests have bus 0."""
    rows = traffic.rows if isinstance(traffic, Traffic) else ()
    requesters = dict.fromkeys(row.requester for row in rows if not row.requester.startswith("00:"))
    named = ((each, names(each).partition(",")[0]) for each in list(requesters)[:_MOST_DEVICES])
    return tuple(clean(each if name == each else f"{name} ({each})") for each, name in named)


def runnable(advice: Advice, traced: Explanation | None) -> Advice:
    """Return advice whose command traces what the recording's event names; without a command where that is not known.

    Parameters
    ----------
    advice : Advice
        The advice.
    traced : Explanation or None
        The recording's event.
    """
    start = "ptttool trace "
    if advice.command is None or not advice.command.startswith(start):
        return advice
    addresses = () if traced is None else tuple(named.address for named in traced.named)
    if traced is None or not addresses or None in addresses:
        return replace(advice, command=None)
    option = "--rootport" if traced.kind == ROOT_PORT else "--requester"
    what = " ".join(f"{option} {address}" for address in addresses)
    return replace(advice, command=f"{start}{what} {advice.command.removeprefix(start)}")


def unread(path: str, error: PtttoolError) -> ReportedRecording:
    """Return what a report says of a recording that cannot be read."""
    return ReportedRecording(path, error=ErrorBody.of(error))


def _facts(recording: OpenRecording, machine: Machine | None) -> Iterator[tuple[str, str]]:
    features, sidecar = recording.contents.features, recording.sidecar
    host = [str(features[name]) for name in ("hostname", "osrelease", "arch") if features.get(name)]
    if host:
        yield "Machine", ", ".join(host)
    yield "Started", (None if sidecar is None else sidecar.started) or "not known"
    if sidecar is not None and sidecar.seconds is not None:
        yield "Traced for", f"{sidecar.seconds:.3g} s"
    used = (None if sidecar is None else sidecar.command) or features.get("cmdline")
    if used:
        yield "Command", shlex.join(map(str, used)) if isinstance(used, list | tuple) else str(used)
    attribute = recording.attribute
    if attribute is not None:
        yield "Event", attribute.name or f"config {attribute.config:#x}"
        yield "Traces", traced_text(explain(attribute.config, pmu=recording.device, machine=machine), machine)
    if recording.formats:
        yield "Format", " and ".join(recording.formats)
    size = sum(payload.held for payload in recording.contents.aux_payloads)
    if size:
        yield "Trace data", f"{size:,} bytes"
