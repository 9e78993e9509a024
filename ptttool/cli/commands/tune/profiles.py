"""``ptttool tune save``, ``apply``, ``diff`` and ``profiles``: all tune attributes of a machine at once."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ptttool.cli.app import DemoOption, ForceOption, JsonOption, SysfsOption
from ptttool.cli.commands.tune.group import JOURNAL, DryRunOption, NoJournalOption, ProfileArgument, carry_out, tune
from ptttool.cli.help.about import Example, Stage
from ptttool.cli.terminal.interrupts import tidy_end
from ptttool.cli.terminal.talk import note, outlive_reader, print_diagnostics, print_json
from ptttool.errors import UsageError
from ptttool.wording import clean

_SAVE = (Example("ptttool tune save before.toml", "Keep the values of all devices before a change.", on_demo=True),)


@tune.command("save", stage=Stage.TUNE, rank=40, examples=_SAVE)
def save(
    file: Annotated[str, typer.Argument(help="The profile to write; - is standard output.", metavar="FILE")],
    force: ForceOption = False,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Save the values of all devices as a profile, a TOML file.

    The power-on values are not documented: save a profile before the first change. If one tune attribute cannot be read, nothing is
    saved.
    """
    from ptttool.machine.discovery import open_source, require_machine
    from ptttool.tune.profiles.snapshot import take_snapshot, write_profile
    from ptttool.tune.session import tuning

    if file == "-" and json:
        raise UsageError("--json and the profile cannot both go to standard output", hint="give a file's name instead of -")
    source = open_source(sysfs, demo)
    machine = require_machine(source, tune=False)
    # Alone: a profile of half a change is of no use.
    with tuning(source, f"tune save {file}", reads=True) as session:
        print_diagnostics(session.diagnostics)
        snapshot = take_snapshot(machine)
    print_diagnostics(snapshot.diagnostics)
    if file == "-":
        sys.stdout.write(snapshot.text)
        return
    with tidy_end():
        write_profile(file, snapshot, force=force)
    if json:
        from ptttool.tune.documents import TuneSaveDocument

        print_json(TuneSaveDocument(file, snapshot.devices))
    else:
        count = sum(len(attributes) for attributes in snapshot.devices.values())
        note(f"{count} tune attributes of {len(snapshot.devices)} devices saved in {clean(file)}")


_APPLY = (
    Example("ptttool tune apply raid.toml", "Set what a profile says, all or none.", on_demo=True),
    Example("ptttool tune apply --dry-run raid.toml", "What would be written.", on_demo=True),
)


@tune.command("apply", stage=Stage.TUNE, rank=60, examples=_APPLY, files=JOURNAL)
def apply(
    file: ProfileArgument,
    dry_run: DryRunOption = False,
    ignore_missing: Annotated[
        bool, typer.Option("--ignore-missing", help="Skip devices and attributes of the profile that this machine does not have.")
    ] = False,
    no_journal: NoJournalOption = False,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Set tune attributes to the values of a profile, all or none.

    Everything is checked and read first; only what differs is written, and read back. If a write fails, the tune attributes of all
    devices are restored. Devices and attributes that the profile does not name are left alone.

    One process at a time changes the tune attributes of a machine, and each change is in a journal: see "tune set".
    """
    from ptttool.cli.views.tune.attributes import note_result, print_applied
    from ptttool.cli.views.unfinished import print_unfinished
    from ptttool.machine.discovery import open_source, require_devices
    from ptttool.tune.profiles.match import plan_profile
    from ptttool.tune.profiles.named import find_profile
    from ptttool.tune.session import tuning

    outlive_reader(is_result=json or dry_run)
    source = open_source(sysfs, demo)
    profile = find_profile(file, source)
    devices = require_devices(source)
    if dry_run:
        print_unfinished(source)
        plan = plan_profile(profile, devices, ignore_missing=ignore_missing)
        print_diagnostics(plan.diagnostics)
    else:
        with tuning(source, f"tune apply {file}", journal=not no_journal) as session:
            plan = carry_out(session, plan_profile(profile, devices, ignore_missing=ignore_missing))
    if json:
        print_json(plan)
    else:
        print_applied(plan)
    note_result(source, plan, journal=not no_journal)


_DIFF = (
    Example("ptttool tune diff raid.toml", "What a profile would change; exit code 1 if anything.", on_demo=True, exit_code=1),
    Example("ptttool tune diff storage network", "In what two profiles differ.", on_demo=True, exit_code=1),
)


@tune.command("diff", stage=Stage.TUNE, rank=50, examples=_DIFF)
def diff(
    file: ProfileArgument,
    other: Annotated[
        str | None, typer.Argument(help="A second profile to compare with, instead of the machine.", metavar="[OTHER]")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show also the tune attributes that do not differ.")] = False,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Show in what a profile differs from the machine, or from another one.

    Exit code 0: the machine has every value of the profile. 1: a value differs, or a device or attribute of the profile is missing on
    the machine. Others: the comparison was not possible. Attributes that the profile does not name are not compared.

    Of two profiles, an attribute that only one of them names is a difference. Values for every device ("*") stand for the devices of the
    machine, if it has any.
    """
    from ptttool.cli.views.tune.attributes import note_left_alone, print_rows
    from ptttool.cli.views.unfinished import print_unfinished
    from ptttool.machine.discovery import list_devices, open_source, require_devices
    from ptttool.tune.profiles.match import diff_profile, diff_profiles
    from ptttool.tune.profiles.named import find_profile

    source = open_source(sysfs, demo)
    profile = find_profile(file, source)
    if other is not None:
        difference = diff_profiles(profile, find_profile(other, source), list_devices(source))
    else:
        devices = require_devices(source)
        print_unfinished(source)
        difference = diff_profile(profile, devices)
    print_diagnostics(difference.diagnostics)
    if json:
        print_json(difference)
    else:
        print_rows(difference, every=every)
        note_left_alone(difference.left_alone)
    raise typer.Exit(0 if difference.equal else 1)


_PROFILES = (
    Example("ptttool tune profiles", "The profiles that come with ptttool, and the reasons for their values."),
    Example("ptttool tune profiles storage", "The text of one, to make one of your own of it."),
)


@tune.command("profiles", stage=Stage.TUNE, rank=65, examples=_PROFILES)
def profiles(
    name: Annotated[str | None, typer.Argument(help="Print this one's text, to make one of your own of it.", metavar="NAME")] = None,
    json: JsonOption = False,
) -> None:
    """List the profiles that come with ptttool.

    Each is shown with its values and the reasons. "tune apply", "tune diff" and "tune export" take their names. A file of the same name
    is ./NAME.
    """
    from ptttool.tune.profiles.named import TuneProfilesDocument, built_in_names, built_in_profile, built_in_text

    if json:
        print_json(TuneProfilesDocument.of([built_in_profile(one) for one in ([name] if name else built_in_names())]))
    elif name is not None:
        sys.stdout.write(built_in_text(name))
    else:
        from ptttool.cli.views.tune.history import print_profiles

        print_profiles([built_in_profile(one) for one in built_in_names()])
