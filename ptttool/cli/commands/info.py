"""``ptttool info``: what a recording holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from ptttool.capture.series.manifest import is_series
from ptttool.cli.app import JsonOption, app
from ptttool.cli.help.about import Example, Stage
from ptttool.cli.options import reading
from ptttool.cli.options.given import refuse_beside
from ptttool.cli.terminal.talk import print_diagnostic, print_json
from ptttool.documents import ErrorBody
from ptttool.errors import InputError

if TYPE_CHECKING:
    from ptttool.capture.unfinished.leftovers import Leftover
    from ptttool.cli.recordings import Recordings


EXAMPLES = (
    Example("ptttool info nvme.data", "Counts by kind and requester, and every sign of loss."),
    Example("ptttool info --json nvme.data", "The same for a script."),
)


@app.command("info", stage=Stage.READ, rank=10, examples=EXAMPLES)
def info(
    context: typer.Context,
    file: reading.RecordingArgument = None,
    protocol: reading.Protocol = reading.Protocol(),
    top: Annotated[int, typer.Option("--top", metavar="N", min=1, help="Requesters in the table; the others are added up.")] = 20,
    input: reading.Input = reading.Input(),
    work: reading.Work = reading.Work(),
    json: JsonOption = False,
    origin: reading.OriginOrFile = reading.OriginOrFile(),
) -> None:
    """Sum a recording up: counts, AUX streams, every sign of loss.

    FILE is a perf.data of perf record (as a file, a folder, from a pipe, compressed or cut off), or raw trace without a container. Of PTT
    recordings TLPs are counted by kind and requester, of packet traces elements by kind and channel. Names of devices come from the file
    that 'ptttool trace' keeps beside a recording, or from --sysfs. Of a series (FILE.series.json) the runs are listed.
    """
    from ptttool.cli.recordings import Recordings
    from ptttool.pipeline.workers.pool import WORTH_AN_ADDER

    if json:
        refuse_beside("--json", context, refused=("top",))
    [path], shown = origin.files(context, None if file is None else [file], hint="see 'ptttool info --help'")
    if is_series(path):
        refuse_beside("a series", context, takes=("file", "json"))
        _series(path, json=json)
        return
    with work.workers([path], WORTH_AN_ADDER) as workers:
        request = reading.request_of(path, protocol, input)
        try:
            _info(Recordings(request, workers, origin), json=json, name=shown.get(path, path), top=top)
        except InputError as error:
            if error.code == "no-such-file":
                _name_unfinished(error)
            raise


def _series(path: str, *, json: bool) -> None:
    """Show the runs of a series, and what is missing of it."""
    from ptttool.capture.series.manifest import load, problems_of
    from ptttool.cli.views.recording import print_series

    series = load(path)
    if json:
        print_json(series)
    else:
        print_series(path, series)
    for problem in problems_of(path):
        print_diagnostic(problem)


def _name_unfinished(error: InputError) -> None:
    """Add to the error that there is an unfinished recording which is to get this name."""
    leftovers = _unfinished(error.path)
    if leftovers:
        error.hint = leftovers[0].diagnostic().message
        error.details["unfinished"] = [str(one.path) for one in leftovers]


def _unfinished(path: str) -> list[Leftover]:
    """Return the unfinished recordings of a path on this machine."""
    if path == "-" or "://" in path:
        return []
    from ptttool.capture.names import unfinished_of

    if not unfinished_of(Path(path)):
        return []
    from ptttool.capture.unfinished.leftovers import beside

    return beside(Path(path))


def _info(read: Recordings, *, json: bool, name: str, top: int) -> None:
    from ptttool.cli.recordings import end_with

    with read.opened() as recording:
        for left in _unfinished(recording.path):
            print_diagnostic(left.diagnostic())
        summary, failure = read.summary(recording)
        if json:
            print_json(replace(summary, path=name, error=None if failure is None else ErrorBody.of(failure)))
        else:
            from ptttool.cli.views.recording import print_summary

            print_summary(summary, recording, recording.machine, requesters=top)
        end_with([failure], is_printed=json)
