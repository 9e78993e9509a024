"""``ptttool report``: everything that the analyses find in recordings, as one page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from ptttool.cli.app import ForceOption, JsonOption, app
from ptttool.cli.help.about import Example, Stage
from ptttool.cli.options import reading
from ptttool.cli.terminal.talk import note, print_diagnostic
from ptttool.errors import UsageError
from ptttool.wording import clean

if TYPE_CHECKING:
    from ptttool.report.model import ReportedRecording

# Bytes of trace above which one more process pays for its start-up: all analyses together take longer than any of them.
_WORTH = 128 << 20
_FORMATS = ("html", "md", "json")
_SUFFIXES = {".html": "html", ".htm": "html", ".md": "md", ".json": "json"}


EXAMPLES = (
    Example("ptttool report nvme.data -o nvme.html", "One HTML page that holds everything."),
    Example("ptttool report before.data after.data -o both.html", "Several recordings, one after the other on one page."),
)


@app.command("report", stage=Stage.READ, rank=40, examples=EXAMPLES)
def report(
    context: typer.Context,
    files: reading.RecordingsOrFolders = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to: whole or not at all; - is standard output."),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="html|md|json",
            help="A page for browsers, Markdown, or JSON. By default the suffix of the output file says it, else it is a page.",
        ),
    ] = None,
    force: ForceOption = False,
    timing: reading.Time = reading.Time(),
    protocol: reading.Protocol = reading.Protocol(),
    input: reading.Input = reading.Input(),
    work: reading.Work = reading.Work(),
    json: JsonOption = False,
    origin: reading.OriginOrFile = reading.OriginOrFile(),
) -> None:
    """Write one HTML page on recordings: loss, results, what to do.

    Signs of loss come first, then what every analysis found, and what to do next.

    The page is one file that loads nothing from elsewhere: it can be sent by mail. Its tables can be sorted, its charts show single values
    and the numbers of TLPs. An analysis that a recording lacks something for says what.
    """
    name = _format(to, output, json=json)
    named, shown = origin.files(context, files, hint="try: ptttool report --demo -o report.html")
    if name == "html" and output is None and sys.stdout.isatty():
        raise UsageError("a page is not for a terminal", hint="write it to a file: -o report.html", code="no-output")
    from ptttool.api.analyses import with_folders
    from ptttool.cli.recordings import Recordings, end_with
    from ptttool.cli.terminal.interrupts import tidy_end
    from ptttool.report.gather import report_of, unread

    with tidy_end():
        paths = with_folders(named, print_diagnostic)
        with work.workers(paths, _WORTH) as workers:
            request = reading.request_of(paths[0], protocol, input)
            read = Recordings(request, workers, origin, time=timing.options, details=True)
            reports, failures = read.each(paths, lambda one: read.found(one, report_of), unread if len(paths) > 1 else None)
        reported = [replace(each, path=shown.get(each.path, each.path)) for each in reports]
        _write(reported, name, output, paths, force=force)
    end_with(failures, is_printed=name == "json" and output in (None, "-"))


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
        from ptttool.report.model import ReportDocument

        return json_text(ReportDocument(reported)).encode()
    if name == "md":
        from ptttool.report.markdown import markdown_of

        return markdown_of(reported).encode("utf-8", "backslashreplace")
    from ptttool._version import __version__
    from ptttool.report.page.build import page_of

    return page_of(reported, version=__version__)
