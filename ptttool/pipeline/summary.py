"""What a recording holds, summed up: what ``info`` shows and ``trace`` says at its end, and their JSON document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final

from msgspec import Struct

from ptttool.analyses.elements import ElementSummary
from ptttool.analyses.loss.analysis import Loss
from ptttool.analyses.loss.counted import CountedTlps
from ptttool.analyses.summary import FlowSums, RequesterSums, Summary, Sums, TimeRange, TlpSummary
from ptttool.analyses.tally import Tally
from ptttool.capture.event.decode import Explanation
from ptttool.capture.event.explain import explain
from ptttool.decoders.hisi_ptt.findings import Findings
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import ErrorBody, document
from ptttool.errors import InputError, MissingPackageError
from ptttool.machine.measured import KeptClock
from ptttool.perfdata.model import Contents
from ptttool.pipeline.analyzing.ask import Answer, Ask, run
from ptttool.pipeline.recording import OpenRecording
from ptttool.recording.auxtrace import CS_ETM
from ptttool.recording.cs_etm import CsEtm, parse_cs_etm

if TYPE_CHECKING:
    from ptttool.capture.sidecar import Sidecar

# Errors of decoders that leave the recording as it is: it is described without its rows.
_NOT_DECODED = ("no-frames", "no-library", "missing-package")
# What a TLP summary and the document have in common.
_OF_TLPS: Final = ("payload_bytes", "requested_bytes", "kinds", "classes", "directions", "flows", "requesters", "time")


class StreamSize(Struct, frozen=True):
    """The size of an AUX stream.

    Parameters
    ----------
    cpu : int or None
        The CPU; None where the recording does not say.
    payloads : int
        Number of payloads (AUXTRACE records).
    bytes : int
        Bytes of trace.
    aux_events : int
        Number of AUX events.
    """

    cpu: int | None
    payloads: int
    bytes: int
    aux_events: int


class HostFacts(Struct, frozen=True):
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


@document("info")
class RecordingSummary(Struct, frozen=True, kw_only=True):
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
    clock : KeptClock or None
        How the Time field is read and how long a tick is, as measured on the machine and kept beside the recording. Analyses of time look
        whether the recording contradicts it.
    command : list of str, str or None
        The command of perf.
    event : str or None
        The PMU event.
    config : int or None
        The event's config.
    explanation : Explanation or None
        The PTT event in words.
    formats : Mapping[str, int]
        Payloads by format of their records.
    streams : list of StreamSize
        The AUX streams.
    trace_units : CsEtm or None
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
    diagnostics : tuple of Diagnostic
        What was odd while decoding.
    signs_of_loss : tuple of Diagnostic
        Signs that trace data are missing, the worst first.
    problems : tuple of Diagnostic
        What is damaged in the file.
    counted : tuple of CountedTlps
        What counters beside the trace counted, and how many of it are in the recording; no key where none did.
    error : ErrorBody
        Why the command failed.
    """

    json_name: ClassVar = "Info"
    json_omits_none: ClassVar = ("counted", "error")

    path: str
    protocol: str
    mode: str
    host: HostFacts
    started: str | None
    elapsed: float | None
    elapsed_at_least: float | None
    clock: KeptClock | None
    command: list[str] | str | None
    event: str | None
    config: int | None
    explanation: Explanation | None
    formats: Mapping[str, int]
    streams: list[StreamSize]
    trace_units: CsEtm | None
    container_records: Mapping[str, int]
    container_unknown: Mapping[str, int]
    records: int | None
    payload_bytes: int | None
    requested_bytes: int | None
    kinds: Mapping[str, Sums] | None
    classes: Mapping[str, Sums] | None
    directions: Mapping[str, Sums] | None
    flows: list[FlowSums] | None
    requesters: list[RequesterSums] | None
    time: TimeRange | None
    elements: ElementSummary | None
    findings: Mapping[str, object] | None
    diagnostics: tuple[Diagnostic, ...]
    signs_of_loss: tuple[Diagnostic, ...]
    problems: tuple[Diagnostic, ...]
    counted: tuple[CountedTlps, ...] | None = None
    error: ErrorBody | None = None

    @property
    def tlps(self) -> TlpSummary | None:
        """The sums of TLPs; None of a packet trace, and where TLPs were not decoded."""
        if self.time is None or self.records is None:
            return None
        return TlpSummary(records=self.records, more_requesters=0, **{name: getattr(self, name) for name in _OF_TLPS})


def summarize(
    recording: OpenRecording,
    ask: Ask,
    *,
    sidecar: Sidecar | None = None,
    elapsed: float | None = None,
    at_least: float | None = None,
) -> RecordingSummary:
    """Read a recording to its end and sum it up.

    Parameters
    ----------
    recording, ask
        As :func:`ptttool.pipeline.analyzing.ask.run` takes them.
    sidecar : Sidecar or None
        What was kept beside the recording: the command that recorded, when, and for how long.
    elapsed, at_least : float or None
        Without a sidecar: the seconds that were traced, or that were traced at least.
    """
    if sidecar is not None:
        elapsed, at_least = sidecar.seconds, sidecar.at_least
    diagnostics: list[Diagnostic] = []
    summary: TlpSummary | ElementSummary | None = None
    tally: Tally | None = None
    answer = Answer(recording, ask, {})
    try:
        name = recording.stack.protocol.summary
        analysis = run(recording, ask, (name,)).analyses[name]
        summary = answer.result(analysis)
        tally = analysis.tally if isinstance(analysis, Summary) else None
    except (InputError, MissingPackageError) as error:
        if recording.is_ptt or error.code not in _NOT_DECODED:
            raise
        diagnostics.append(Diagnostic(Severity.WARNING, error.code, error.message, error.hint, recording.path))
        for _ in recording.source().chunks():  # for the contents
            pass
    loss = answer.result(Loss(tally))
    # From here on the contents are complete.
    contents, attribute, findings = recording.contents, recording.attribute, recording.findings
    features = contents.features
    units = parse_cs_etm(contents.auxtrace_priv, contents.hardware_ids) if contents.auxtrace_type == CS_ETM else None
    traced = attribute or next((one for one in contents.attributes if units is not None and one.type == units.pmu_type), None)
    tlps = summary if isinstance(summary, TlpSummary) else None
    return RecordingSummary(
        path=recording.path,
        protocol=recording.title,
        mode=contents.mode,
        host=HostFacts(*(_text(features.get(name)) for name in ("hostname", "osrelease", "arch", "version"))),
        started=None if sidecar is None else sidecar.started,
        elapsed=elapsed,
        elapsed_at_least=at_least if at_least is not None and _spans(contents, at_least) else None,
        clock=None if sidecar is None else sidecar.clock,
        command=list(sidecar.command) if sidecar is not None and sidecar.command else _command(features.get("cmdline")),
        event=None if traced is None else traced.name,
        config=None if attribute is None else attribute.config,
        explanation=None if attribute is None else explain(attribute.config, pmu=recording.device, machine=ask.machine),
        formats=dict(recording.formats),
        streams=_streams(contents),
        trace_units=units,
        container_records=dict(contents.records),
        container_unknown={str(number): count for number, count in contents.unknown.items()},
        records=None if summary is None else summary.records,
        **{name: getattr(tlps, name, None) for name in _OF_TLPS},
        elements=summary if isinstance(summary, ElementSummary) else None,
        findings=findings.counts() if isinstance(findings, Findings) else None,
        diagnostics=(*diagnostics, *findings.diagnostics()),
        signs_of_loss=tuple(loss.signs),
        problems=tuple(contents.problems),
        counted=tuple(loss.counted) or None,
    )


def _spans(contents: Contents, seconds: float) -> bool:
    """Tell whether there is so much time between the first record of perf.data and the last one."""
    first, last = contents.first_time, contents.last_time
    return first is not None and last is not None and (last - first) / 1e9 >= seconds


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _command(value: object) -> list[str] | str | None:
    return [str(item) for item in value] if isinstance(value, list | tuple) else _text(value)


def _streams(contents: Contents) -> list[StreamSize]:
    """Return the AUX streams of a recording, by CPU."""
    sums: dict[int | None, list[int]] = {}
    for payload in contents.aux_payloads:
        row = sums.setdefault(None if payload.cpu < 0 else payload.cpu, [0, 0, 0])
        row[0] += 1
        row[1] += payload.held
    for event in contents.aux_events:
        if event.cpu in sums:
            sums[event.cpu][2] += 1
    return [StreamSize(cpu, *sums[cpu]) for cpu in sorted(sums, key=lambda cpu: -1 if cpu is None else cpu)]
