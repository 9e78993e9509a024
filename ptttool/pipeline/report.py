"""What a recording holds, summed up: what ``info`` shows and ``trace`` says at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ptttool.analyses.elements import ElementSummary
from ptttool.analyses.loss.analysis import Loss
from ptttool.analyses.summary import Summary, TlpSummary
from ptttool.analyses.tally import Tally
from ptttool.capture.event.decode import Explanation
from ptttool.capture.event.explain import explain
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import InputError, MissingPackageError
from ptttool.machine.model import Machine
from ptttool.perfdata.model import Contents
from ptttool.pipeline.analyzing.ask import Answer, Ask, run
from ptttool.pipeline.recording import Recording
from ptttool.pipeline.walk import Walk
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
        Seconds that were traced, likewise.
    elapsed_at_least : float or None
        Seconds that were traced at least, likewise, where ``elapsed`` is not known.
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
    elapsed_at_least: float | None = None
    diagnostics: tuple[Diagnostic, ...] = field(default_factory=tuple)

    @property
    def contents(self) -> Contents:
        """Everything of the recording but the AUX data."""
        return self.recording.contents

    @property
    def streams(self) -> list[StreamSize]:
        """The AUX streams, by CPU."""
        return streams_of(self.contents)


def report_on(
    recording: Recording,
    workers: Workers,
    *,
    walk: Walk | None = None,
    machine: Machine | None = None,
    command: Sequence[str] | None = None,
    started: str | None = None,
    elapsed: float | None = None,
    at_least: float | None = None,
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
    command, started, elapsed, at_least, went_offline
        What a sidecar knows: the command that recorded, when, for how many seconds or at least how many, and the CPUs that went offline
        meanwhile.
    """
    walk = recording.walk(workers) if walk is None else walk
    diagnostics: list[Diagnostic] = []
    summary: TlpSummary | ElementSummary | None = None
    tally: Tally | None = None
    answer = Answer(recording, walk, Ask(machine, went_offline=went_offline), {})
    try:
        name = recording.stack.protocol.summary
        analysis = run(recording, (name,), workers, walk=walk).analyses[name]
        summary = answer.result(analysis)
        tally = analysis.tally if isinstance(analysis, Summary) else None
    except (InputError, MissingPackageError) as error:
        if recording.is_ptt or error.code not in _NOT_DECODED:
            raise
        diagnostics.append(Diagnostic(Severity.WARNING, error.code, error.message, error.hint, recording.path))
        for _ in recording.source().chunks():  # for the contents
            pass
    loss = answer.result(Loss(tally)).signs
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
        elapsed_at_least=at_least if at_least is not None and _spans(walk.contents, at_least) else None,
        diagnostics=(*diagnostics, *walk.findings.diagnostics()),
    )


def _spans(contents: Contents, seconds: float) -> bool:
    """Tell whether there is so much time between the first record of perf.data and the last one."""
    first, last = contents.first_time, contents.last_time
    return first is not None and last is not None and (last - first) / 1e9 >= seconds


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
