"""Show the history of tune attributes, what was undone or cut off, and the profiles that come with ptttool."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ptttool.cli.terminal.talk import note, print_diagnostics, print_labelled, print_line, print_wrapped, warn
from ptttool.cli.views.tune.attributes import print_changes, print_table, value_text
from ptttool.tune.journal.history import NO_JOURNAL, REHEARSAL, History
from ptttool.tune.journal.records import ChangeRecord, Outcome, Step
from ptttool.tune.journal.unfinished import HALF_DONE, ValueState, describe
from ptttool.tune.profiles.named import FROM_JOURNAL
from ptttool.tune.profiles.profile import EVERY_DEVICE, Profile
from ptttool.tune.repair.recovery import RecoverAction, Recovery
from ptttool.wording import as_root, clean, counted, in_words

ENDS = {
    Outcome.DONE: "",
    Outcome.RESTORED: "failed or was interrupted, and was undone at once",
    Outcome.UNTOUCHED: "was cut off before it changed anything",
    Outcome.COMPLETE: "was cut off after its last write",
    Outcome.RECOVERED: "was cut off, and then recovered",
    Outcome.SUPERSEDED: "was cut off; later changes have set its tune attributes",
    Outcome.REBOOT: "was cut off, and the machine was started again",
    Outcome.KEPT: "was cut off, and its values were kept as they were",
}


def print_history(history: History, limit: int) -> None:
    """Print the last changes, the last first: a line for each, and below it what was changed."""
    undone, boot = history.undone, history.boot
    earlier = False
    for change in history.changes[::-1][:limit]:
        if change.author.boot_id != boot and not earlier:
            earlier = True
            print_line("before the machine was started:")
        print_wrapped(f"{change.number}  {change.author.started}  {change.author.who}  {change.author.command}{_end(change, undone)}")
        for step in change.steps:
            print_line(clean(f"    {step.device}/{step.attribute}: {_values(step)}"))
    if len(history.changes) > limit:
        note(f"{counted(len(history.changes) - limit, 'earlier change')} not shown: --limit {len(history.changes)} shows all")
    if not history.changes:
        note(NO_JOURNAL if history.folder is None else clean(f"there is no change in the journal {history.folder}"))
        if history.folder is None:
            note(REHEARSAL)
        if os.geteuid() != 0 and history.folder is not None:
            note(f"root has a journal of its own: {as_root()}")
    for problem in history.damaged:
        warn(clean(problem.message))


def note_undone(undone: Sequence[ChangeRecord], *, dry_run: bool) -> None:
    """Print which changes were undone, on standard error."""
    names = in_words(f"{change.number} ({change.author.command!r}, {change.author.started})" for change in undone)
    note(clean(f"{'would undo' if dry_run else 'undone'}: change {names}"))


def print_recovery(recovery: Recovery) -> None:
    """Print what recovering changed, or what there is to recover."""
    unfinished = recovery.unfinished
    print_diagnostics(one for one in recovery.diagnostics if one.code != HALF_DONE)
    if recovery.action is None:
        for change in unfinished.changes:
            failed = " and could not be undone" if change.failed else ""
            print_line(clean(f"{describe(change)} was cut off{failed}"))
        if unfinished.attributes:
            rows = [
                (one.device, one.attribute, str(one.old), str(one.new), value_text(one.now), one.state) for one in unfinished.attributes
            ]
            print_table(("PTT device", "Attribute", "Old", "New", "Now", "Now has"), rows)
            note("--restore writes the old values, --complete the new ones, --keep takes the values as they are now")
        elif not unfinished.changes and not unfinished.damaged:
            note("nothing is half done")
        return
    print_changes(recovery.changes, dry_run=not recovery.done)
    if recovery.action is RecoverAction.KEEP and recovery.done:
        note(f"{counted(len(unfinished.changes), 'change')} taken as they are: nothing was written")
    elif unfinished.damaged:
        note(f"{counted(len(unfinished.damaged), 'change')} in the journal cannot be read: what was noted there is not recovered")
    elif not recovery.changes and not recovery.left:
        note("nothing to do")
    for one in recovery.left:
        reason = {ValueState.GONE: "it is not on this machine now", ValueState.UNREADABLE: "it cannot be read now"}.get(
            one.state, f"it is {one.now} now, which somebody else has set: --force overwrites it, --keep takes it as it is"
        )
        note(clean(f"{one.label} (was {one.old}, to be {one.new}) is left alone: {reason}"))


def print_profiles(profiles: Sequence[Profile]) -> None:
    """Print profiles, each with its values and the reasons."""
    for number, profile in enumerate(profiles):
        if number:
            print_line("")
        print_wrapped(f"{profile.path}: {profile.description}")
        values = [f"{attribute}={value}" for attribute, value in profile.devices.get(EVERY_DEVICE, {}).items()]
        print_line(f"    {' '.join(values) if values else 'values from the journal' if profile.path == FROM_JOURNAL else 'no value'}")
        print_labelled("", " ".join(profile.why.split()), at=4)


def _end(change: ChangeRecord, undone: dict[int, int]) -> str:
    if change.number in undone:
        return f" (undone by {undone[change.number]})"
    if change.undoes:
        return f" (undid {in_words(change.undoes)})"
    if change.outcome is None:
        return " (cut off: see 'ptttool tune recover')"
    end = ENDS[change.outcome]
    return f" ({end})" if end else ""


def _values(step: Step) -> str:
    if step.between:
        return f"{step.old} → {', '.join(map(str, step.between))} for a time → {step.new}"
    return f"{step.old} → {step.new}"
