"""What a recording holds, summed up: what ``info`` shows and ``trace`` says at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ptttool.analyses.contract import ANALYSES, Analysis, AnalysisContext
from ptttool.analyses.elements import ElementSummary
from ptttool.analyses.loss.analysis import Loss
from ptttool.analyses.needs import Captured, Lack, captured
from ptttool.analyses.scope import Scope, TlpAnalysis
from ptttool.analyses.summary import Summary, TlpSummary
from ptttool.analyses.tally import Tally
from ptttool.capture.event.decode import Explanation
from ptttool.capture.event.explain import explain
from ptttool.capture.event.terms import Format
from ptttool.decoders.contract import RecordProtocol
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import InputError, MissingPackageError, UsageError
from ptttool.machine.model import Machine
from ptttool.perfdata.model import Contents
from ptttool.pipeline.query import Query
from ptttool.pipeline.recording import Recording
from ptttool.pipeline.scope import TimeOptions, scope_of
from ptttool.pipeline.walk import Walk
from ptttool.pipeline.work import Analyze, PlannedAnalysis
from ptttool.pipeline.workers.pool import Workers
from ptttool.recording.cs_etm import CsEtm, parse_cs_etm

# Errors of decoders that leave the recording as it is: it is described without its rows.
_NOT_DECODED = ("no-frames", "no-library", "missing-package")


@dataclass(frozen=True)
class StreamSize:
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


@dataclass(frozen=True)
class Report:
    """A recording that has been read to the end.

    Parameters
    ----------
    recording : Recording
        The recording.
    walk : Walk
        The pass that read it: contents and findings are complete.
    summary : TlpSummary, ElementSummary or None
        Its rows summed up; None where they were not decoded.
    loss : tuple of Diagnostic
        Signs of loss, the worst first.
    explanation : Explanation or None
        The PTT event taken apart; None where the recording does not tell it.
    trace_units : CsEtm or None
        What perf kept of CoreSight trace units.
    machine : Machine or None
        The machine, for names.
    command : tuple of str or None
        The command that recorded, where a sidecar keeps it.
    started : str or None
        When, likewise.
    elapsed : float or None
        Seconds from the start of the trace to its end, likewise.
    diagnostics : tuple of Diagnostic
        What else is odd.
    """

    recording: Recording
    walk: Walk
    summary: TlpSummary | ElementSummary | None
    loss: tuple[Diagnostic, ...] = ()
    explanation: Explanation | None = None
    trace_units: CsEtm | None = None
    machine: Machine | None = None
    command: tuple[str, ...] | None = None
    started: str | None = None
    elapsed: float | None = None
    diagnostics: tuple[Diagnostic, ...] = field(default_factory=tuple)

    @property
    def contents(self) -> Contents:
        """Everything of the recording but the AUX data."""
        return self.recording.contents

    @property
    def streams(self) -> list[StreamSize]:
        """The AUX streams, by CPU."""
        return streams_of(self.contents)


def analyze(
    recording: Recording,
    name: str,
    workers: Workers,
    *,
    machine: Machine | None = None,
    query: Query | None = None,
    walk: Walk | None = None,
    went_offline: Sequence[int] = (),
    time: TimeOptions | None = None,
    **options: Any,
) -> Any:
    """Return the result of an analysis of a whole recording.

    Parameters
    ----------
    recording : Recording
        The recording.
    name : str
        Name of the analysis.
    workers : Workers
        Who decodes and sums up.
    machine : Machine or None
        The machine, for names.
    query : Query or None
        Its condition: only rows for which it is true.
    walk : Walk or None
        The pass to take, where its progress is to be seen.
    went_offline : sequence of int
        CPUs that went offline while recording, where a sidecar says so.
    time : TimeOptions or None
        What the user says of time.
    **options
        Options of the analysis.

    Raises
    ------
    UsageError
        The analysis is unknown, the recording's rows do not have the columns that it needs (code ``missing-columns``), or a cluster's
        workers would have to share a packet stream (``stream-in-order``).
    """
    found = analyze_all(
        recording, (name,), workers, machine=machine, query=query, walk=walk, went_offline=went_offline, time=time, options={name: options}
    )
    return found[name]


def analyze_all(
    recording: Recording,
    names: Sequence[str],
    workers: Workers,
    *,
    machine: Machine | None = None,
    query: Query | None = None,
    walk: Walk | None = None,
    went_offline: Sequence[int] = (),
    time: TimeOptions | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return the results of several analyses of a whole recording, by name: it is read, and each column decoded, once.

    Parameters
    ----------
    recording : Recording
        The recording.
    names : sequence of str
        Names of the analyses.
    workers, machine, query, walk, went_offline, time
        As for :func:`analyze`.
    options : Mapping or None
        Options of the analyses, by name of the analysis.

    Raises
    ------
    UsageError
        As :func:`analyze` does.
    """
    walk = recording.walk(workers) if walk is None else walk
    parts = run_all(recording, names, workers, walk, machine=machine, query=query, time=time, options=options)
    return {name: result_of(part, recording, walk, machine, went_offline) for name, part in parts.items()}


def run_all(
    recording: Recording,
    names: Sequence[str],
    workers: Workers,
    walk: Walk,
    *,
    machine: Machine | None = None,
    query: Query | None = None,
    time: TimeOptions | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Analysis[Any]]:
    """Return analyses that have seen a whole recording, by name; parameters and errors are those of :func:`analyze_all`."""
    wanted = {name: ANALYSES.get(name) for name in names}
    for name in wanted:
        check_columns(recording, name)
    parts = run_kinds(recording, tuple(wanted.values()), workers, walk, machine=machine, query=query, time=time, options=options)
    return dict(zip(wanted, parts, strict=True))


def run_kinds(
    recording: Recording,
    kinds: Sequence[type[Analysis[Any]]],
    workers: Workers,
    walk: Walk,
    *,
    machine: Machine | None = None,
    query: Query | None = None,
    time: TimeOptions | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> tuple[Analysis[Any], ...]:
    """Return analyses that have seen a whole recording, whose rows have the columns that they need.

    Parameters
    ----------
    recording : Recording
        The recording.
    kinds : sequence of type
        Classes of the analyses; they need not be registered.
    workers, walk, machine, query, time, options
        As for :func:`analyze_all`.

    Raises
    ------
    UsageError
        A cluster's workers would have to share a packet stream (code ``stream-in-order``), or the time options mean nothing.
    """
    if workers.reduces and not isinstance(recording.stack.protocol, RecordProtocol):
        raise UsageError(
            "--scheduler: a packet stream is decoded in order, so it is summed up on this machine",
            hint="leave --scheduler out",
            code="stream-in-order",
        )
    scope: Scope | None = None
    wanted = []
    for kind in kinds:
        given = dict((options or {}).get(kind.name, {}))
        if issubclass(kind, TlpAnalysis):
            scope = scope_of(recording, machine=machine, **asdict(time or TimeOptions())) if scope is None else scope
            given.setdefault("scope", scope)
        further = tuple(column for column in kind.further_columns(recording.contents) if column in recording.schema)
        wanted.append(PlannedAnalysis(kind, tuple(given.items()), further=further))
    return walk.merge(Analyze(tuple(wanted), query)).parts


def lacks_of(recording: Recording, name: str, machine: Machine | None = None) -> list[Lack]:
    """Return what an analysis cannot see in a recording, as far as is known before it is read.

    Parameters
    ----------
    recording : Recording
        The recording.
    name : str
        Name of the analysis.
    machine : Machine or None
        The machine that was recorded, where it is known.
    """
    return ANALYSES.get(name).lacks(captured_by(recording, machine))


def captured_by(recording: Recording, machine: Machine | None = None) -> Captured:
    """Return what a recording can hold; parameters are those of :func:`lacks_of`."""
    given = recording.request.parameters.get("input")
    format_ = None if given is None or given.text not in tuple(Format) else Format(given.text)
    return captured(recording.contents, recording.schema.names, machine, format_)


def check_columns(recording: Recording, name: str) -> None:
    """Raise a UsageError where an analysis is unknown, or the rows do not have the columns that it needs (code ``missing-columns``)."""
    analysis = ANALYSES.get(name)
    missing = [column for column in analysis.columns if column not in recording.schema]
    if missing:
        lack = analysis.lacks(captured_by(recording))[0]
        raise UsageError(
            f"the analysis {name}: {lack.message}",
            hint=f"{recording.path} was decoded as {recording.title}; 'ptttool analyze --list' shows what each analysis needs",
            code="missing-columns",
            columns=missing,
        )


def result_of(analysis: Analysis[Any], recording: Recording, walk: Walk, machine: Machine | None, went_offline: Sequence[int] = ()) -> Any:
    """Return an analysis' result, once the walk is over."""
    diagnostics = (*walk.contents.problems, *walk.findings.diagnostics())
    return analysis.result(AnalysisContext(recording.path, walk.contents, machine, diagnostics, went_offline))


def report_on(
    recording: Recording,
    workers: Workers,
    *,
    walk: Walk | None = None,
    machine: Machine | None = None,
    command: Sequence[str] | None = None,
    started: str | None = None,
    elapsed: float | None = None,
    went_offline: Sequence[int] = (),
) -> Report:
    """Read a recording to its end and sum it up.

    Parameters
    ----------
    recording : Recording
        The recording.
    workers : Workers
        Who decodes.
    walk : Walk or None
        The pass to take, where its progress is to be seen.
    machine : Machine or None
        The machine, for names.
    command, started, elapsed, went_offline
        What a sidecar knows: the command that recorded, when, for how many seconds, and the CPUs that went offline meanwhile.
    """
    walk = recording.walk(workers) if walk is None else walk
    diagnostics: list[Diagnostic] = []
    summary: TlpSummary | ElementSummary | None = None
    tally: Tally | None = None
    try:
        name = recording.stack.protocol.summary
        analysis = run_all(recording, (name,), workers, walk)[name]
        summary = result_of(analysis, recording, walk, machine)
        tally = analysis.tally if isinstance(analysis, Summary) else None
    except (InputError, MissingPackageError) as error:
        if recording.is_ptt or error.code not in _NOT_DECODED:
            raise
        diagnostics.append(Diagnostic(Severity.WARNING, error.code, error.message, error.hint, recording.path))
        for _ in recording.source().chunks():  # for the contents
            pass
    loss = result_of(Loss(tally), recording, walk, machine, went_offline).signs
    return Report(
        recording=recording,
        walk=walk,
        summary=summary,
        loss=tuple(loss),
        explanation=_explained(recording, machine),
        trace_units=trace_units_of(walk.contents),
        machine=machine,
        command=None if command is None else tuple(command),
        started=started,
        elapsed=elapsed,
        diagnostics=(*diagnostics, *walk.findings.diagnostics()),
    )


def _explained(recording: Recording, machine: Machine | None) -> Explanation | None:
    attribute = recording.attribute
    return None if attribute is None else explain(attribute.config, pmu=recording.device, machine=machine)


def trace_units_of(contents: Contents) -> CsEtm | None:
    """Return what perf kept of CoreSight trace units; None where the recording is of something else."""
    from ptttool.recording.auxtrace import CS_ETM

    return parse_cs_etm(contents.auxtrace_priv, contents.hardware_ids) if contents.auxtrace_type == CS_ETM else None


def streams_of(contents: Contents) -> list[StreamSize]:
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
