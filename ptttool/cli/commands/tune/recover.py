"""``ptttool tune recover``: repair changes that were cut off."""

from __future__ import annotations

from typing import Annotated

import typer

from ptttool.cli.app import DemoOption, JsonOption, SysfsOption
from ptttool.cli.commands.tune.group import JOURNAL, DryRunOption, NoJournalOption, tune
from ptttool.cli.help.about import Example, Stage
from ptttool.cli.options.given import refuse_beside
from ptttool.cli.terminal.talk import note, outlive_reader, print_json
from ptttool.errors import UsageError

_RECOVER = (Example("ptttool tune recover", "Changes that were cut off, by kill -9 or a reset.", on_demo=True),)


@tune.command("recover", stage=Stage.TUNE, rank=70, examples=_RECOVER, files=JOURNAL)
def recover(
    context: typer.Context,
    restore: Annotated[bool, typer.Option("--restore", help="Write the values from before the changes that were cut off.")] = False,
    complete: Annotated[bool, typer.Option("--complete", help="Write the values that these changes were to set.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Take the values as they are now; put aside a damaged journal.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite values that somebody else has set since.")] = False,
    dry_run: DryRunOption = False,
    no_journal: NoJournalOption = False,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Show and repair changes that were cut off.

    SIGKILL cuts a change off, or a device that does not answer.

    Without an option, show for each tune attribute the value before the change, the value to be set, and the value now. --restore is the
    usual repair. It is all or nothing, as "tune set" is. A tune attribute that somebody else has set since is left alone.

    Exit code 0: nothing is half done, or not any more. 1: something is. After a reboot nothing is half done: the hardware has its
    power-on values.
    """
    from ptttool.cli.views.tune.history import print_recovery
    from ptttool.machine.discovery import open_source
    from ptttool.tune.repair.recovery import RecoverAction, recover

    actions = [action for action, asked in zip(RecoverAction, (restore, complete, keep), strict=True) if asked]
    if len(actions) > 1:
        raise UsageError("--restore, --complete and --keep exclude each other")
    if not actions:
        refuse_beside("the list of changes: --restore, --complete and --keep write", context, refused=("force", "no_journal"))
    outlive_reader(is_result=json or dry_run or not actions)
    source = open_source(sysfs, demo)
    done = recover(source, actions[0] if actions else None, force=force, dry_run=dry_run, journal=not no_journal)
    if json:
        print_json(done)
    else:
        print_recovery(done)
        if actions and dry_run:
            note("dry run: nothing was written")
    raise typer.Exit(0 if done.settled else 1)
