"""Show changes of tune attributes that were cut off, for ``ptttool tune recover``."""

from __future__ import annotations

from ptttool.cli.terminal.talk import note, print_diagnostics, print_line
from ptttool.cli.views.tune import print_changes, print_table, value_text
from ptttool.tune.journal.unfinished import HALF_DONE, ValueState, describe
from ptttool.tune.repair.recovery import RecoverAction, Recovery
from ptttool.wording import clean, counted


def print_recovery(recovery: Recovery) -> None:
    """Print what recovering changed, or what there is to recover."""
    found = recovery.unfinished
    print_diagnostics(one for one in recovery.diagnostics if one.code != HALF_DONE)
    if recovery.action is None:
        for change in found.changes:
            failed = " and could not be undone" if change.failed else ""
            print_line(clean(f"{describe(change)} was cut off{failed}"))
        if found.attributes:
            rows = [(one.device, one.attribute, str(one.old), str(one.new), value_text(one.now), one.state) for one in found.attributes]
            print_table(("PTT device", "Attribute", "Old", "New", "Now", "Now has"), rows)
            note("--restore writes the old values, --complete the new ones, --keep takes the values as they are now")
        elif not found.changes and not found.damaged:
            note("nothing is half done")
        return
    print_changes(recovery.changes, dry_run=not recovery.done)
    if recovery.action is RecoverAction.KEEP and recovery.done:
        note(f"{counted(len(found.changes), 'change')} taken as they are: nothing was written")
    elif found.damaged:
        note(f"{counted(len(found.damaged), 'change')} in the journal cannot be read: what was noted there is not recovered")
    elif not recovery.changes and not recovery.left:
        note("nothing to do")
    for one in recovery.left:
        reason = {ValueState.GONE: "it is not on this machine now", ValueState.UNREADABLE: "it cannot be read now"}.get(
            one.state, f"it is {one.now} now, which somebody else has set: --force overwrites it, --keep takes it as it is"
        )
        note(clean(f"{one.label} (was {one.old}, to be {one.new}) is left alone: {reason}"))
