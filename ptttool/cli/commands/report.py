"""``ptttool report``: everything that the analyses find in recordings, as one page."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ptttool.cli.app import DemoOption, ForceOption, JsonOption, SysfsOption, app
from ptttool.cli.options import reading
from ptttool.cli.terminal.talk import PrintedError, note
from ptttool.errors import InputError, UsageError
from ptttool.wording import clean

if TYPE_CHECKING:
    from ptttool.pipeline.recording import Request
    from ptttool.pipeline.workers.pool import Workers
    from ptttool.report.model import ReportedRecording

_FORMATS = ("html", "md", "json")
_SUFFIXES = {".html": "html", ".htm": "html", ".md": "md", ".json": "json"}
# The bundled recording of --demo: reads of an NVMe drive with their completions, both directions.
_DEMO = "w-randread-4dw.data.xz"


@app.command("report")
def report(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE...", help="The recordings; - reads standard input. None with --demo.", show_default=False),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to: whole or not at all; - is standard output.", show_default=False),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="html|md|json",
            help="A page for browsers, Markdown, or JSON. By default the suffix of the output file says it, else it is a page.",
            show_default=False,
        ),
    ] = None,
    force: ForceOption = False,
    protocol: reading.ProtocolOption = None,
    parameter: reading.ParameterOption = None,
    params: reading.ParamsOption = None,
    strict: reading.StrictOption = False,
    channel: reading.ChannelOption = None,
    input_format: reading.InputOption = None,
    pattern: reading.PatternOption = None,
    jobs: reading.JobsOption = None,
    scheduler: reading.SchedulerOption = None,
    tls_ca: reading.TlsCaOption = None,
    tls_cert: reading.TlsCertOption = None,
    tls_key: reading.TlsKeyOption = None,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Write a report on recordings: signs of loss first, then what every analysis found, and what to do next.

    The page is one file that loads nothing from elsewhere: it can be sent by mail. Its tables can be sorted, its charts show single values
    and the numbers of TLPs. An analysis that a recording lacks something for says what.
    """
    name = _format(to, output, json=json)
    if not files and not demo:
        raise UsageError("FILE is missing", hint="try: ptttool report --demo -o report.html", code="no-file")
    if files and files.count("-") > 1:
        raise UsageError("standard input can be read only once", code="stdin-twice")
    if name == "html" and output is None and sys.stdout.isatty():
        raise UsageError("a page is not for a terminal", hint="write it to a file: -o report.html", code="no-output")
    from ptttool.cli.terminal.interrupts import tidy_end
    from ptttool.pipeline.workers.pool import WORTH_AN_ADDER

    cluster = reading.scheduler_of(scheduler, tls_ca, tls_cert, tls_key)
    with tidy_end(), _recordings(files, demo=demo) as (paths, shown):
        with reading.chosen_workers(paths[0], jobs, cluster, WORTH_AN_ADDER) as workers:
            reported = []
            for path in paths:
                request = reading.request_of(
                    path, protocol=protocol, params=params, parameter=parameter, input_format=input_format, pattern=pattern, strict=strict,
                    channel=channel,
                )  # fmt: skip
                reported.append(_report(request, workers, shown.get(path), sysfs=sysfs, demo=demo))
        _write(reported, name, output, paths, force=force)
    failures = [InputError(each.path, each.error.message, code=each.error.code) for each in reported if each.error is not None]
    if failures:
        failure = reading.first_of(failures)
        raise PrintedError(failure) if name == "json" and output in (None, "-") else failure


def _format(to: str | None, output: str | None, *, json: bool) -> str:
    """Return the name of the format: as asked for, else by the suffix of the output, else a page."""
    if json and to not in (None, "json"):
        raise UsageError(f"--json and --to {to} exclude each other", hint="--json is --to json")
    if json:
        return "json"
    if to is None:
        return "html" if output is None else _SUFFIXES.get(Path(output).suffix.lower(), "html")
    if to not in _FORMATS:
        raise UsageError(f"unknown format {to!r}", hint="known: " + ", ".join(_FORMATS), code="unknown-format")
    return to


@contextmanager
def _recordings(files: list[str] | None, *, demo: bool) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Yield the recordings, and names to show for those that are copies of bundled ones."""
    if files or not demo:
        yield list(files or ()), {}
        return
    from tempfile import TemporaryDirectory

    from ptttool.capture.replay import bundled, unpack

    recording = next(each for each in bundled() if each.file == _DEMO)
    with TemporaryDirectory(prefix="ptttool-") as folder:
        path = Path(folder) / _DEMO.removesuffix(".xz")
        unpack(recording, path)
        note(f"a recording that comes with ptttool: {recording.what}")
        yield [str(path)], {str(path): path.name}


def _report(request: Request, workers: Workers, shown: str | None, *, sysfs: Path | None, demo: bool) -> ReportedRecording:
    from dataclasses import replace

    from ptttool.pipeline.recording import Recording, traced_part
    from ptttool.report.gather import report_of

    with Recording(request) as recording:
        sidecar = reading.sidecar_of(request.path)
        machine = None if sidecar is None else sidecar.machine
        if sysfs is not None or demo:
            machine = traced_part(reading.machine_of(request.path, sysfs, demo), recording)
        found = report_of(
            recording,
            workers,
            machine=machine,
            command=None if sidecar is None else sidecar.command,
            started=None if sidecar is None else sidecar.started,
            went_offline=() if sidecar is None else sidecar.went_offline,
        )
        return found if shown is None else replace(found, path=shown)


def _write(reported: list[ReportedRecording], name: str, output: str | None, paths: list[str], *, force: bool) -> None:
    from ptttool.cli.terminal.destination import destination

    path = None if output in (None, "-") else Path(str(output))
    with destination(path, paths, name, binary=False, force=force) as file:
        file.write(_text(reported, name))
    if path is not None:
        note(clean(f"{path}: {path.stat().st_size / 1e6:.1f} MB"))


def _text(reported: list[ReportedRecording], name: str) -> bytes:
    if name == "json":
        from ptttool.cli.terminal.talk import json_text
        from ptttool.report.model import RecordingBody, ReportDocument

        return json_text(ReportDocument([RecordingBody.of(each) for each in reported])).encode()
    if name == "md":
        from ptttool.report.markdown import markdown_of

        return markdown_of(reported).encode("utf-8", "backslashreplace")
    from ptttool import __version__
    from ptttool.report.page.build import page_of

    return page_of(reported, version=__version__)
