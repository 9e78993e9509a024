"""``ptttool view``: a recording on the screen, row by row."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ptttool.cli.app import app
from ptttool.cli.help.about import Example, KeptFile, Stage
from ptttool.cli.options import reading
from ptttool.cli.terminal.interrupts import tidy_end
from ptttool.errors import InputError, UsageError
from ptttool.wording import clean

if TYPE_CHECKING:
    from ptttool.api.viewing.view import View

EXAMPLES = (
    Example("ptttool view nvme.data", "Look at a recording; ? lists the keys, q ends it.", needs_terminal=True),
    Example("ptttool view nvme.data --at 1233", "Begin at TLP 1233, which an analysis has named.", needs_terminal=True),
)
FILES = (
    KeptFile("FILE.notes.json", "Bookmarks with notes, where the key w has written them."),
    KeptFile("FILE.view-index", "The index of a recording of TLPs, with --index: 16 bytes for each 64 Ki records."),
)


@app.command("view", stage=Stage.READ, rank=25, examples=EXAMPLES, files=FILES, related=("decode", "analyze"))
def view(
    command: typer.Context,
    file: Annotated[str | None, typer.Argument(metavar="FILE", help="The recording.")] = None,
    protocol: reading.Protocol = reading.Protocol(),
    at: Annotated[int | None, typer.Option("--at", metavar="INDEX", min=0, help="Begin at the row of this number.")] = None,
    index: Annotated[
        bool, typer.Option("--index", help="Keep the index beside the recording, so that it is there at once the next time.")
    ] = False,
    timing: reading.Time = reading.Time(),
    input: reading.Input = reading.Input(),
    origin: reading.OriginOrFile = reading.OriginOrFile(),
) -> None:
    """Look at a recording on the screen: rows, transactions, fields.

    Only the rows that are seen are decoded, so that a recording of any size is there at once, also over ssh. In the background, one pass
    sums it up: the strip at the top shows bytes and open requests over the whole recording, and a click in it goes there.

    Keys: arrows, PgUp, PgDn, Home and End go; / searches by a condition (that of --where), n and N go on; g goes to a row or a time; x
    lists what analyses name; 1, 2 and 3 choose TLPs, transactions or commands of NVMe drives; f marks a transaction; m and M measure; d
    shows a row bit by bit; b keeps a note; y shows the command line that shows the same; ? lists all keys; q quits.

    Packets are decoded in order, once, and kept in a temporary file meanwhile.
    """
    files, _ = origin.files(command, None if file is None else [file], hint="see 'ptttool view --help'")
    request = reading.request_of(files[0], protocol, input)
    hint = f"ptttool decode {clean(files[0]) if file is not None else '--demo'}"
    if not (sys.stdout.isatty() and sys.stdin.isatty()) or os.environ.get("TERM", "dumb") in ("", "dumb", "unknown"):
        raise UsageError("view needs a terminal", hint=hint, code="no-terminal")
    from ptttool.api.viewing.view import View
    from ptttool.cli.recordings import Recordings
    from ptttool.pipeline.workers.pool import ALONE

    read = Recordings(request, ALONE, origin, time=timing.options, details=True)  # for names of registers
    with tidy_end(), read.opened() as recording:
        machine = read.machine(recording)
        with View(recording, machine, timing.options, _options(protocol, input, timing, origin)) as state:
            if at is not None:
                while not state.pages.is_whole and state.pages.size <= at:
                    state.grow(64)
                state.go(state.find(str(at), lambda _: None))
            _on_screen(state, keep_index=index)


def _on_screen(state: View, *, keep_index: bool) -> None:
    from ptttool.cli.views.view.screen import ViewScreen

    name = os.path.basename(state.recording.path)  # noqa: PTH119
    screen = ViewScreen(state, clean(f"ptttool view  {name}  {state.recording.title}"), keep_index=keep_index)
    try:
        state.load_notes()
    except InputError as error:
        screen.message = f"warning: {error}"
    screen.run()
    screen.end()


def _options(protocol: reading.Protocol, input: reading.Input, timing: reading.Time, origin: reading.Origin) -> list[str]:
    """Return the options by which another command reads the recording in the same way."""
    given = {
        "--protocol": protocol.protocol,
        "-p": protocol.parameter,
        "--params": protocol.params,
        "--input": input.input_format,
        "--pattern": input.pattern,
        "--downstream": input.downstream,
        "--channel": input.channel,
        "--sysfs": origin.sysfs,
        "--tick-ns": timing.tick_ns,
        "--time-model": None if timing.time_model == "auto" else timing.time_model,
    }
    words = []
    for option, value in given.items():
        for one in value if isinstance(value, list) else [] if value is None else [value]:
            words += [option, str(one)]
    return words + ["--strict"] * input.strict
