"""``ptttool decode``: the rows of recordings, to a table or a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import structs

from ptttool.cli.app import app
from ptttool.cli.help.about import Example, Stage
from ptttool.cli.help.stray import check_quotes
from ptttool.cli.options import output as out
from ptttool.cli.options import reading
from ptttool.cli.options.given import refuse_beside
from ptttool.cli.terminal.talk import error_as_json_line, print_json
from ptttool.documents import ErrorBody
from ptttool.errors import InputError, UsageError

if TYPE_CHECKING:
    from ptttool.cli.recordings import Recordings

EXAMPLES = (
    Example("ptttool decode nvme.data --limit 20", "The first 20 TLPs."),
    Example(
        "ptttool decode nvme.data --where \"kind = 'MRd' AND requester = '01:00.0'\" --columns time,address,requested_bytes --to csv",
        "Chosen rows and columns as CSV.",
    ),
    Example("ptttool decode nvme.data -o nvme.parquet", "All TLPs as Parquet, for DuckDB, polars or pandas."),
    Example("ptttool decode nvme.data --at 1233 --context 3", "What is around TLP 1233."),
    Example("ptttool decode both.data --follow 1233", "The transaction of TLP 1233: request, completions, latency."),
)

# What --follow takes.
_FOLLOW = (
    "follow", "files", "to", "json", "time_model", "tick_ns", "protocol", "parameter", "params", "channel", "input_format", "pattern",
    "downstream", "jobs", "scheduler", "tls_ca", "tls_cert", "tls_key", "sysfs", "demo",
)  # fmt: skip


@app.command("decode", stage=Stage.READ, rank=20, examples=EXAMPLES)
def decode(
    command: typer.Context,
    files: Annotated[list[str] | None, typer.Argument(metavar="FILE...", help="The recordings; - reads standard input.")] = None,
    protocol: reading.Protocol = reading.Protocol(),
    protocols: Annotated[
        bool, typer.Option("--protocols", help="List the protocols with their parameters and end; FILE... are names of some of them.")
    ] = False,
    to: out.ToOption = None,
    output: out.OutputOption = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite an existing file. A folder that is not empty is never replaced.")
    ] = False,
    where: out.WhereOption = None,
    columns: out.ColumnsOption = None,
    words: Annotated[
        bool, typer.Option("--words", help="PTT: the header DWs dw0 to dw3, too, as recorded: those of 8DW are what ptttool tlp takes.")
    ] = False,
    limit: out.LimitOption = None,
    offset: out.OffsetOption = 0,
    at: Annotated[
        int | None,
        typer.Option("--at", metavar="INDEX", min=0, help="The rows around the row of this number: see --context."),
    ] = None,
    context: Annotated[
        int | None,
        typer.Option("--context", metavar="N", min=0, help="With --at: rows before it, and behind it; 10 by default."),
    ] = None,
    follow: Annotated[
        int | None,
        typer.Option(
            "--follow",
            metavar="INDEX",
            min=0,
            help="The transaction of the TLP of this number: its request, all completions, how long they took and what they brought.",
        ),
    ] = None,
    timing: reading.Time = reading.Time(),
    kernel: out.KernelOption = None,
    raw: out.RawOption = None,
    input: reading.Input = reading.Input(),
    partition: Annotated[
        str | None,
        typer.Option(
            "--partition",
            metavar="host,device,recording",
            help="Sort the Parquet files of the folder that -o names into subfolders, as Hive names them: host=node7/.",
        ),
    ] = None,
    work: reading.Work = reading.Work(),
    json: out.JsonLinesOption = False,
    ids: out.IdsOption = out.Ids.ID,
    origin: reading.OriginOrFile = reading.OriginOrFile(),
) -> None:
    """Decode recordings to a table, CSV, JSON lines, Parquet and more.

    FILE is a perf.data of perf record (a file or a folder, from a pipe, compressed or truncated), or raw trace without a container. The
    recording's type of AUX trace selects the protocol: TLPs of the PTT device, or elements of a packet trace. --protocol selects another
    one, or one for a recording without a type. A damaged FILE is decoded as far as possible; the exit code is then 6.

    Analyses name the numbers of TLPs (index): --at shows what is around one, and --follow its transaction.

    With -o FOLDER/, recordings become a folder of Parquet files, which DuckDB, polars and Spark read as one table.

    The condition of --where is an SQL expression for polars: comparisons, IN, BETWEEN, LIKE, IS NULL, AND, OR, NOT, arithmetic (also on
    bits: & | XOR << >>), CASE, and functions of one row such as coalesce() and abs(). Numbers may be hexadecimal, IDs are written
    '01:00.0', texts are in single quotes. A value that a column cannot have is an error, and so are aggregates and window functions.

    The documentation lists the columns, their types and their meaning; a field that a row does not have is empty (null). The Time field of
    TLPs is raw: its unit is not documented.
    """
    if protocols:
        refuse_beside("--protocols", command, takes=("protocols", "files", "json"))
        from ptttool.cli.views.protocols import show_protocols

        show_protocols(files or (), json=json)
        return
    if columns == "help":
        from ptttool.cli.views.protocols import show_columns

        refuse_beside("--columns help", command, takes=("columns", "protocol", "files"))
        show_columns(protocol.protocol, files)
        return
    check_quotes(where, files or ())
    files, _ = origin.files(command, files, hint="see 'ptttool decode --help'")
    if follow is not None:
        _one("--follow", files)
        refuse_beside("--follow", command, takes=_FOLLOW)
    if context is not None and at is None:
        raise UsageError("--context needs --at", hint="--at INDEX --context N", code="context-without-at")
    if at is not None:
        around = 10 if context is None else context
        _one("--at", files)
        refuse_beside("--at", command, refused=("where", "limit", "offset", "partition"))
        offset, limit = max(at - around, 0), min(at, around) + 1 + around
    request = reading.request_of(files[0], protocol, input)
    if follow is not None:
        from ptttool.cli.options.analyzing import form_of
        from ptttool.cli.recordings import Recordings
        from ptttool.pipeline.workers.pool import WORTH_AN_ADDER

        shown_as = form_of(to, json=json)
        with work.workers(files, WORTH_AN_ADDER) as workers:
            _show_transaction(Recordings(request, workers, origin, time=timing.options), follow, shown_as)
        return
    form = out.format_of(to, json=json)
    from ptttool.cli.folder import is_folder, write_folder
    from ptttool.cli.rows import Output

    table = Output(
        files, request, to=form, output=output, force=force, where=where, columns=columns, dws=words, raw=raw, limit=limit, offset=offset,
        at=at, origin=origin, names_ids=ids == out.Ids.TEXT, work=work, descriptions=tuple(protocol.params or ()),
        time=None if timing == reading.Time() else timing.options, kernel=None if kernel is None else str(kernel),
    )  # fmt: skip
    if is_folder(files, output, partition, to):
        refuse_beside("a folder", command, refused=("limit", "offset", "at", "context", "ids", "time_model", "tick_ns", "kernel"))
        write_folder(structs.replace(table, to=to), partition, json=json)
        return
    _refuse_missing(files)
    with error_as_json_line(json and output in (None, "-")):
        table.write()


def _show_transaction(read: Recordings, index: int, form: str) -> None:
    """Show the transaction of the TLP with this number, as JSON, Markdown or a screen."""
    from ptttool.cli.options.analyzing import PAGE
    from ptttool.cli.recordings import end_with
    from ptttool.cli.views.shown.results import ResultView

    with read.opened() as recording:
        transaction, failure = read.followed(recording, index)
        if form == "json":
            print_json(structs.replace(transaction, error=None if failure is None else ErrorBody.of(failure)))
        else:
            ResultView(form == "md", None, PAGE).show(transaction, (), recording.machine)
        end_with([failure], is_printed=form == "json")


def _refuse_missing(files: Sequence[str]) -> None:
    """Raise the error for a recording that does not exist before others are decoded: it may be the output, without its -o."""
    from ptttool.exporters.contract import EXPORTERS
    from ptttool.files.remote import is_remote

    if len(files) < 2:
        return
    for path in files:
        if path == "-" or is_remote(path) or os.path.lexists(path):
            continue
        suffixes = {suffix for exporter in EXPORTERS for suffix in exporter.suffixes}
        output = path == files[-1] and Path(path).suffix in suffixes
        raise InputError(path, "no such file", hint=f"to write it: -o {path}" if output else None, code="no-such-file", is_output=output)


def _one(option: str, files: Sequence[str]) -> None:
    """Raise a UsageError where an option that shows a part of one recording is combined with several."""
    if len(files) > 1:
        raise UsageError(f"{option} is for one recording", hint="name the recording that holds it", code="one-recording")
