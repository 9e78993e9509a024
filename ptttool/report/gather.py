"""Run the analyses of a recording and put what they found in a report's order."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ptttool.analyses.contract import ANALYSES
from ptttool.analyses.shown import Names
from ptttool.capture.event.explain import explain
from ptttool.decoders.hisi_ptt.findings import Findings
from ptttool.documents import ErrorBody
from ptttool.errors import UsageError
from ptttool.machine.topology import functions_by_id
from ptttool.pci import PciAddress
from ptttool.perfdata.problems import damage_of
from ptttool.pipeline.report import analyze
from ptttool.report.advice import advice_on
from ptttool.report.chapters import chapters_of
from ptttool.report.model import Lack, ReportedRecording
from ptttool.wording import clean

if TYPE_CHECKING:
    from ptttool.machine.model import Machine
    from ptttool.pipeline.recording import Recording
    from ptttool.pipeline.workers.pool import Workers


def report_of(
    recording: Recording,
    workers: Workers,
    *,
    machine: Machine | None = None,
    command: Sequence[str] | None = None,
    started: str | None = None,
    went_offline: Sequence[int] = (),
) -> ReportedRecording:
    """Run all analyses of a recording.

    Parameters
    ----------
    recording : Recording
        The recording.
    workers : Workers
        Who decodes and sums up.
    machine : Machine or None
        The machine, for names.
    command, started, went_offline
        What a sidecar knows: the command that recorded, when, and the CPUs that went offline meanwhile.
    """
    results, lacks = _run(recording, workers, machine, went_offline)
    failure, _ = damage_of(recording)
    walk = recording.last_walk
    return ReportedRecording(
        path=recording.path,
        protocol=recording.title,
        records=0 if walk is None else walk.findings.records,
        noun=recording.noun,
        facts=tuple((label, clean(text)) for label, text in _facts(recording, machine, command, started)),
        results=results,
        lacks=lacks,
        chapters=chapters_of(results, lacks, names_of(machine)),
        advice=advice_on(results, lacks),
        diagnostics=recording.diagnostics,
        error=None if failure is None else ErrorBody.of(failure),
    )


def _run(
    recording: Recording, workers: Workers, machine: Machine | None, went_offline: Sequence[int]
) -> tuple[dict[str, object], dict[str, Lack]]:
    results: dict[str, object] = {}
    lacks: dict[str, Lack] = {}
    for name in ANALYSES.names():
        if all(column in recording.schema for column in ANALYSES.get(name).columns):
            try:
                results[name] = analyze(recording, name, workers, machine=machine, went_offline=went_offline)
            except UsageError as error:
                lacks[name] = Lack(error.message, error.hint, error.code)
    return results, lacks


def names_of(machine: Machine | None) -> Names:
    """Return what gives the name of an ID: the kernel's name for the function, else its PCI name; the ID itself without a machine."""
    functions = {} if machine is None else functions_by_id(machine)

    def name(identity: str) -> str:
        address = PciAddress.try_parse(identity)
        function = None if address is None else functions.get(address.routing_id)
        if function is None:
            return identity
        return clean(function.kernel_names[0] if function.kernel_names else function.name)

    return name


def _facts(recording: Recording, machine: Machine | None, command: Sequence[str] | None, started: str | None) -> Iterator[tuple[str, str]]:
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
    walk = recording.last_walk
    if walk is not None:
        if isinstance(walk.findings, Findings) and walk.findings.formats:
            yield "Format", " and ".join(walk.findings.formats)
        yield "Holds", f"{walk.findings.records:,} {recording.noun}{'' if walk.findings.records == 1 else 's'}"
    size = sum(payload.held for payload in recording.contents.aux_payloads)
    if size:
        yield "Trace data", f"{size:,} bytes"
