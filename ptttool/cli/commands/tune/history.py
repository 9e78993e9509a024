"""``ptttool tune history`` and ``ptttool tune undo``: what was changed by whom, and back again."""

from __future__ import annotations

from typing import Annotated

import typer

from ptttool.cli.app import DemoOption, JsonOption, SysfsOption
from ptttool.cli.commands.tune.group import JOURNAL, DryRunOption, tune
from ptttool.cli.help.about import Example, Stage
from ptttool.cli.terminal.talk import note, outlive_reader, print_diagnostics, print_json

_HISTORY = (Example("ptttool tune history --limit 3", "The last three changes: when, by whom, from which value to which.", on_demo=True),)


@tune.command("history", stage=Stage.TUNE, rank=66, examples=_HISTORY, files=JOURNAL)
def history(
    limit: Annotated[int, typer.Option("--limit", min=1, help="Show at most this many changes, the last ones.", metavar="N")] = 20,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Show who changed what, the last change first.

    Each change has its number, when it was made and by whom, the command, and the old and the new value of every tune attribute.

    The journal is in /var/lib/ptttool and has the last 500 changes. Changes of other programs are not in it.
    """
    from ptttool.cli.views.tune.history import print_history
    from ptttool.cli.views.unfinished import print_unfinished
    from ptttool.machine.discovery import open_source
    from ptttool.tune.journal.history import read_history

    source = open_source(sysfs, demo)
    print_unfinished(source)
    journal = read_history(source)
    if json:
        from ptttool.tune.journal.documents import TuneHistoryDocument

        print_json(TuneHistoryDocument.of(journal, limit))
    else:
        print_history(journal, limit)


_UNDO = (
    Example("ptttool tune undo --dry-run", "What undoing the last change would write.", on_demo=True, exit_code=2),
    Example("ptttool tune undo 2", "Write the values from before the last two changes.", on_demo=True, exit_code=2),
)


@tune.command("undo", stage=Stage.TUNE, rank=67, examples=_UNDO, files=JOURNAL)
def undo(
    count: Annotated[int, typer.Argument(min=1, help="How many changes, counted from the last one.", metavar="N")] = 1,
    force: Annotated[
        bool,
        typer.Option("--force", help="Overwrite values that somebody else has set since; leave out what the machine does not have now."),
    ] = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Write the values from before the last changes.

    The changes are those of "tune history" since the machine was started. Undoing is a change of its own, all or nothing. To undo once
    more goes further back. If somebody else has set one of the tune attributes since, nothing is written.
    """
    from ptttool.cli.views.tune.attributes import note_target, print_changes
    from ptttool.machine.discovery import open_source
    from ptttool.tune.repair.undo import undo as undo_changes

    outlive_reader(is_result=json or dry_run)
    source = open_source(sysfs, demo)
    done = undo_changes(source, count, force=force, dry_run=dry_run)
    print_diagnostics(done.diagnostics)
    if json:
        print_json(done)
    else:
        from ptttool.cli.views.tune.history import note_undone

        print_changes(done.changes, dry_run=dry_run)
        note_undone(done.undone, dry_run=dry_run)
    if dry_run:
        note("dry run: nothing was written")
    else:
        note_target(source, done.changes)
