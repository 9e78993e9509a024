"""``ptttool analyze``: one analysis of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ptttool.cli.app import DemoOption, JsonOption, SysfsOption, app
from ptttool.cli.options import output as out
from ptttool.cli.options import reading
from ptttool.cli.terminal.talk import PrintedError, print_json, print_labelled, warn
from ptttool.diagnostics import Diagnostic
from ptttool.documents import OMIT_NONE, ErrorBody, document
from ptttool.errors import UsageError
from ptttool.wording import clean

if TYPE_CHECKING:
    from ptttool.pipeline.recording import Request
    from ptttool.pipeline.workers.pool import Workers


@document("analyze")
@dataclass(frozen=True)
class AnalyzeDocument:
    """What an analysis found in a recording.

    Parameters
    ----------
    path : str
        The recording.
    protocol : str
        What it was decoded as.
    analysis : str
        Name of the analysis.
    result : object
        Its result; the document of that name says what is in it.
    diagnostics : list of Diagnostic
        What is odd about the recording.
    error : ErrorBody or None
        With what the command ends; the result is that of the part before.
    """

    path: str
    protocol: str
    analysis: str
    result: object
    diagnostics: list[Diagnostic]
    error: ErrorBody | None = field(default=None, metadata=OMIT_NONE)


@dataclass(frozen=True)
class AnalysisFacts:
    """An analysis: its name, what it finds, and the columns that it needs."""

    name: str
    meaning: str
    columns: Sequence[str]


@document("analyze-list")
@dataclass(frozen=True)
class AnalysesDocument:
    """The analyses that there are."""

    analyses: list[AnalysisFacts]


@app.command("analyze")
def analyze(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The analysis; --list lists them.", show_default=False)] = None,
    file: Annotated[str | None, typer.Argument(metavar="FILE", help="The recording; - reads standard input.", show_default=False)] = None,
    listing: Annotated[bool, typer.Option("--list", help="List the analyses and end.")] = False,
    where: out.WhereOption = None,
    protocol: reading.ProtocolOption = None,
    parameter: reading.ParameterOption = None,
    params: reading.ParamsOption = None,
    strict: reading.StrictOption = False,
    channel: reading.ChannelOption = None,
    input_format: reading.InputOption = None,
    pattern: reading.PatternOption = None,
    downstream: reading.DownstreamOption = None,
    jobs: reading.JobsOption = None,
    scheduler: reading.SchedulerOption = None,
    tls_ca: reading.TlsCaOption = None,
    tls_cert: reading.TlsCertOption = None,
    tls_key: reading.TlsKeyOption = None,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Run an analysis of a recording and show its result.

    An analysis sums the rows of a recording up, or looks for something in them. Other packages can add analyses. A damaged FILE gives the
    result for what could be read, and then the exit code 6.
    """
    from ptttool.cli.terminal.interrupts import tidy_end
    from ptttool.pipeline.workers.pool import WORTH_AN_ADDER

    if listing:
        _list(json=json)
        return
    if name is None or file is None:
        raise UsageError("NAME and FILE are missing", hint="'ptttool analyze --list' lists the analyses", code="missing-argument")
    cluster = reading.scheduler_of(scheduler, tls_ca, tls_cert, tls_key)
    with tidy_end(), reading.chosen_workers(file, jobs, cluster, WORTH_AN_ADDER) as workers:
        request = reading.request_of(
            file, protocol=protocol, params=params, parameter=parameter, input_format=input_format, pattern=pattern, downstream=downstream,
            strict=strict, channel=channel,
        )  # fmt: skip
        _analyze(name, request, workers, where=where, json=json, sysfs=sysfs, demo=demo)


def _list(*, json: bool) -> None:
    from ptttool.analyses.contract import ANALYSES

    for error in ANALYSES.broken():
        warn(clean(str(error)))
    known = [AnalysisFacts(each.name, each.meaning, each.columns) for each in ANALYSES]
    if json:
        print_json(AnalysesDocument(known))
        return
    for facts in known:
        print_labelled(f"{facts.name} ", facts.meaning)
        if facts.columns:
            print_labelled("", f"of the columns {', '.join(facts.columns)}")


def _analyze(name: str, request: Request, workers: Workers, *, where: str | None, json: bool, sysfs: Path | None, demo: bool) -> None:
    from ptttool.cli.terminal.walking import shown_progress
    from ptttool.pipeline.query import parse_query
    from ptttool.pipeline.recording import Recording, traced_part
    from ptttool.pipeline.report import analyze as run
    from ptttool.pipeline.report import check_columns

    with Recording(request) as recording:
        check_columns(recording, name)
        query = None if where is None else parse_query(recording.schema, columns=(), where=where)
        sidecar = reading.sidecar_of(request.path)
        known = None if sidecar is None else sidecar.machine
        machine = traced_part(
            reading.machine_of(request.path, sysfs, demo, details=True) if sysfs is not None or demo else known, recording
        )
        recording.topology = machine
        went_offline = () if sidecar is None else sidecar.went_offline
        walk = recording.walk(workers)
        with shown_progress(walk.progress):
            result = run(recording, name, workers, machine=machine, query=query, walk=walk, went_offline=went_offline)
        failure = reading.failure_of(recording)
        if json:
            error = None if failure is None else ErrorBody.of(failure)
            print_json(AnalyzeDocument(recording.path, recording.title, name, result, list(recording.diagnostics), error))
        else:
            from ptttool.cli.views.result import print_result

            print_result(result)
            for diagnostic in walk.findings.diagnostics():
                reading.show_diagnostic(diagnostic)
        if failure is not None:
            raise PrintedError(failure) if json else failure
