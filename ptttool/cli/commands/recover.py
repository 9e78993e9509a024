"""``ptttool recover``: give recordings that were not finished their names."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ptttool.cli.app import JsonOption, app
from ptttool.cli.help.about import Example, Stage
from ptttool.cli.terminal.talk import PrintedError, note, outlive_reader, print_json, print_line, warn
from ptttool.errors import InputError, OutputError
from ptttool.wording import clean

if TYPE_CHECKING:
    from ptttool.capture.unfinished.leftovers import Leftover
    from ptttool.capture.unfinished.recover import RecoveredRecording


EXAMPLES = (Example("ptttool recover --dry-run", "What 'ptttool trace' left in this folder when it was killed."),)


@app.command("recover", stage=Stage.TRACE, rank=60, examples=EXAMPLES)
def recover(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="The recording's name as it was to be, its unfinished file (FILE.….part), or a folder. By default the current folder.",
            show_default=False,
            readable=False,
        ),
    ] = Path(),
    force: Annotated[
        bool,
        typer.Option("--force", help="Take the name even if a file has it, which becomes FILE.old. By default FILE.1, FILE.2, …"),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what is there and do nothing.")] = False,
    json: JsonOption = False,
) -> None:
    """Find and name recordings that 'ptttool trace' could not finish.

    While perf records, the recording is in an unfinished file beside FILE. It stays there if ptttool or perf is killed, memory runs out
    or power is lost. The trace in it can be read up to where perf had written it: perf writes in steps of half the AUX area.
    """
    from ptttool.api.capture import find_unfinished
    from ptttool.capture.unfinished.recover import RecoverDocument, tidy

    outlive_reader(is_result=json or dry_run)
    if not dry_run:
        tidy(file)
    leftovers = find_unfinished(file)
    if not leftovers and not file.is_dir():
        raise InputError(file, "there is no unfinished recording of that name", code="nothing-unfinished")
    failures: list[OutputError] = []
    done = [_recovered(one, failures, several=len(leftovers) > 1, force=force, dry_run=dry_run) for one in leftovers]
    if json:
        print_json(RecoverDocument(tuple(done)))
        if failures:
            raise PrintedError(failures[0])
        return
    if not leftovers:
        note(f"there is no unfinished recording in {clean(str(file.absolute()))}")
    for leftover, one in zip(leftovers, done, strict=True):
        print_line(clean(f"{one.unfinished}: {leftover}"))
        if one.recording is not None:
            old = "" if one.old is None else f"; the recording before is now {one.old}"
            print_line(clean(f"now {one.recording}{old}; ptttool info {shlex.quote(one.recording)} sums it up"))
    if failures:
        raise failures[0]


def _recovered(one: Leftover, failures: list[OutputError], *, several: bool, force: bool, dry_run: bool) -> RecoveredRecording:
    """Recover one recording. Of several, one that is still being recorded, or that cannot get its name, does not stop the others."""
    from ptttool.api.capture import recover_recording
    from ptttool.capture.unfinished.recover import RecoveredRecording

    if dry_run:
        return RecoveredRecording.of(one)
    try:
        return recover_recording(one, force=force)
    except InputError as error:
        if not several:
            raise
        warn(clean(error.message))
    except OutputError as error:
        if not several:
            raise
        if failures:  # the first one is raised at the end
            warn(clean(error.message))
        failures.append(error)
    return RecoveredRecording.of(one)
