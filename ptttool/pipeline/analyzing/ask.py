"""Run analyses over a recording: what they are to know, and the one pass that they take together."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ptttool.analyses.contract import ANALYSES, Analysis, AnalysisContext
from ptttool.analyses.needs import Captured, Lack, captured
from ptttool.analyses.scope import Scope, TlpAnalysis
from ptttool.capture.event.terms import Format
from ptttool.capture.names import kernel_path
from ptttool.capture.perf.counters import LinkCounters
from ptttool.decoders.contract import RecordProtocol
from ptttool.errors import UsageError
from ptttool.files.progress import Watch, unwatched
from ptttool.files.remote import is_remote
from ptttool.machine.model import Machine
from ptttool.pipeline.query import Query, parse_query
from ptttool.pipeline.recording import OpenRecording
from ptttool.pipeline.scope import TimeOptions, scope_of
from ptttool.pipeline.work import Analyze, PlannedAnalysis
from ptttool.pipeline.workers.pool import ALONE, Workers


class Ask(Struct, frozen=True):
    """How a recording is analyzed, and what analyses are to know besides it.

    Parameters
    ----------
    workers : Workers
        Who decodes and sums up.
    machine : Machine or None
        The machine that was recorded, for names.
    query : Query or None
        Its condition: only rows for which it is true.
    time : TimeOptions
        What the user says of time.
    went_offline : sequence of int
        CPUs that went offline while recording, where a sidecar says so.
    counters : LinkCounters or None
        What counters beside the trace counted, where a sidecar says so.
    kernel : str or None
        The kernel's side of the recording, which the analysis of commands joins with it; None for none.
    by : str
        By what joined commands are shown: ``process``, ``queue`` or ``size``.
    options : Mapping
        Options of the analyses, by name of the analysis. `io` and `mmio` have `kernel`, by default the file beside the recording, and
        `io` has `by`.
    watch : callable
        Shows how far the pass has come.
    """

    workers: Workers = ALONE
    machine: Machine | None = None
    query: Query | None = None
    time: TimeOptions = TimeOptions()
    went_offline: Sequence[int] = ()
    counters: LinkCounters | None = None
    kernel: str | None = None
    by: str = "process"
    options: Mapping[str, Mapping[str, Any]] = {}
    watch: Watch = unwatched


def ask_of(recording: OpenRecording, ask: Ask, where: str | None = None, machine: Machine | None = None) -> Ask:
    """Return what analyses are to know: as the user says, and as the files beside the recording do.

    Raises
    ------
    InputError
        The kernel's side that the user names is no recording of tracepoints.
    UsageError
        Commands are not shown by what the user says (code ``unknown-group``).
    """
    machine = machine or recording.machine
    query = None if where is None else parse_query(recording.schema, columns=(), where=where, machine=machine)
    options = {name: dict(given) for name, given in ask.options.items()}
    kernels = [options[name].pop("kernel", None) for name in ("io", "mmio") if name in options]
    kernel = next((one for one in kernels if one is not None), None)
    by = options.get("io", {}).pop("by", ask.by)
    if by not in _GROUPS:
        raise UsageError(f"commands are not shown by {by}", hint="known: " + ", ".join(_GROUPS), code="unknown-group")
    if kernel is None:
        kernel = beside(recording.path)
    else:
        from ptttool.perfdata.tracepoints.samples import check_samples

        check_samples(str(kernel))
    return replace(
        ask,
        machine=machine,
        query=query,
        went_offline=recording.went_offline,
        counters=recording.counters,
        kernel=None if kernel is None else str(kernel),
        by=by,
        options=options,
    )


_GROUPS = ("process", "queue", "size")


def beside(path: str) -> str | None:
    """Return the kernel's side that lies beside a recording of this machine; None where there is none. A link is none."""
    if path == "-" or is_remote(path):
        return None
    found = kernel_path(Path(path))
    return str(found) if found.is_file() and not found.is_symlink() else None


class Answer(Struct, frozen=True):
    """Analyses that have seen a whole recording.

    Parameters
    ----------
    recording, ask
        As for :func:`run`.
    analyses : Mapping[str, Analysis]
        The analyses by name.
    joining : Mapping[str, Analysis]
        What joins analyses with the kernel's side, by the name of the analysis that is joined.
    """

    recording: OpenRecording
    ask: Ask
    analyses: Mapping[str, Analysis[Any]]
    joining: Mapping[str, Analysis[Any]] = {}

    @property
    def results(self) -> dict[str, Any]:
        """Their results, by name of the analysis."""
        results = {name: self.result(analysis) for name, analysis in self.analyses.items()}
        if "io" in self.joining and self.ask.kernel is not None:
            from ptttool.pipeline.analyzing.kernel import with_kernel

            results["io"] = with_kernel(self.recording, self.ask.kernel, self.ask.by, results["io"], self.result(self.joining["io"]))
        if "mmio" in self.joining and self.ask.kernel is not None:
            from ptttool.pipeline.analyzing.code import with_code

            results["mmio"] = with_code(results["mmio"], self.ask.kernel, self.result(self.joining["mmio"]))
        return results

    def result(self, analysis: Analysis[Any]) -> Any:
        """Return the result of an analysis, which may be another one."""
        return analysis.result(self._context)

    @property
    def _context(self) -> AnalysisContext:
        one, ask = self.recording, self.ask
        # A condition leaves rows out: what was counted says nothing of the rest.
        counters = ask.counters if ask.query is None else None
        context = AnalysisContext(one.path, one.contents, ask.machine, one.diagnostics, ask.went_offline, counters=counters)
        floors = [floor for each in self.analyses.values() if (floor := each.tick_floor(context)) is not None]
        return dataclasses.replace(context, tick_floor=max(floors, key=lambda floor: floor.tick_ns, default=None))


def run(recording: OpenRecording, ask: Ask, kinds: Sequence[str | type[Analysis[Any]]]) -> Answer:
    """Run analyses over a whole recording: it is read, and each column decoded, once.

    Parameters
    ----------
    recording : OpenRecording
        The recording.
    ask : Ask
        How, and what they are to know.
    kinds : sequence of str or type
        Names of analyses, or their classes, which need not be registered.

    Raises
    ------
    UsageError
        An analysis is unknown, the recording's rows do not have the columns that it needs (code ``missing-columns``), a cluster's workers
        would have to share a packet stream (``stream-in-order``), or the time options mean nothing.
    """
    walk = recording.walk(ask.workers)
    analyses = list(dict.fromkeys(checked(recording, kind) if isinstance(kind, str) else kind for kind in kinds))
    if ask.workers.reduces and not isinstance(recording.stack.protocol, RecordProtocol):
        raise UsageError(
            "--scheduler: a packet stream is decoded in order, so it is summed up on this machine",
            hint="leave --scheduler out",
            code="stream-in-order",
        )
    joining = _joining(ask, [kind.name for kind in analyses])
    analyses += joining.values()
    scope: Scope | None = None
    planned = []
    for kind in analyses:
        options = dict(ask.options.get(kind.name, {}))
        if issubclass(kind, TlpAnalysis):
            scope = scope_of(recording, ask.time, ask.machine) if scope is None else scope
            options.setdefault("scope", scope)
        further = tuple(column for column in kind.further_columns(recording.contents) if column in recording.schema)
        planned.append(PlannedAnalysis(kind, tuple(options.items()), further=further))
    with ask.watch(walk.progress):
        parts = walk.merge(Analyze(tuple(planned), ask.query)).parts
    by_kind = dict(zip(analyses, parts, strict=True))
    own = {kind.name: part for kind, part in by_kind.items() if kind not in joining.values()}
    return Answer(recording, ask, own, {name: by_kind[kind] for name, kind in joining.items()})


def _joining(ask: Ask, names: Sequence[str]) -> dict[str, type[Analysis[Any]]]:
    """Return what analyses have to see besides, to be joined with the kernel's side: all rows, so there is none with a condition."""
    if ask.kernel is None or ask.query is not None:
        return {}
    found: dict[str, type[Analysis[Any]]] = {}
    if "io" in names:
        from ptttool.analyses.io.commands.entries import CommandEntries

        found["io"] = CommandEntries
    if "mmio" in names:
        from ptttool.analyses.mmio.accesses import OutboundRequests
        from ptttool.pipeline.analyzing.code import has_accesses

        if has_accesses(ask.kernel):
            found["mmio"] = OutboundRequests
    return found


def checked(recording: OpenRecording, name: str) -> type[Analysis[Any]]:
    """Return an analysis by name.

    Raises
    ------
    UsageError
        It is unknown, or the rows do not have the columns that it needs (code ``missing-columns``).
    """
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
    return analysis


def lacks_of(recording: OpenRecording, name: str, machine: Machine | None = None) -> list[Lack]:
    """Return what an analysis cannot see in a recording, as far as is known before it is read.

    Parameters
    ----------
    recording : OpenRecording
        The recording.
    name : str
        Name of the analysis.
    machine : Machine or None
        The machine that was recorded, where it is known.
    """
    return ANALYSES.get(name).lacks(captured_by(recording, machine))


def captured_by(recording: OpenRecording, machine: Machine | None = None) -> Captured:
    """Return what a recording can hold; parameters are those of :func:`lacks_of`."""
    parameter = recording.request.parameters.get("input")
    format_ = None if parameter is None or parameter.text not in tuple(Format) else Format(parameter.text)
    return captured(recording.contents, recording.schema.names, machine, format_)
