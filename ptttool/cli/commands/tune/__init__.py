"""``ptttool tune``: show, get, set, save, apply, compare and recover the tune attributes of PTT devices."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ptttool.cli.app import DemoOption, ForceOption, JsonOption, SysfsOption, app
from ptttool.cli.help.about import Example, KeptFile, Stage
from ptttool.cli.options.device import DEVICE_HELP, DeviceArgument, OneDeviceArgument, choose_device
from ptttool.cli.terminal.interrupts import tidy_end
from ptttool.cli.terminal.streams import CLOSED
from ptttool.cli.terminal.talk import PrintedError, note, print_diagnostics, print_json, print_line
from ptttool.errors import DeviceError, UsageError
from ptttool.wording import clean

if TYPE_CHECKING:
    from ptttool.machine.model import Machine, PttDevice
    from ptttool.tune.driver import TunePlan
    from ptttool.tune.session import Session

tune = app.group(
    "tune",
    """Show and set the tune attributes of PTT devices.

    They are QoS weights and buffer levels, from 0 to 2, each for a whole PCIe core.
    """,
    stage=Stage.TUNE,
    rank=10,
)

DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Check and read everything, print what would be written, write nothing.")]
NoJournalOption = Annotated[
    bool, typer.Option("--no-journal", help="Do not note the change in the journal: if it is cut off, it cannot be recovered.")
]
ProfileArgument = Annotated[str, typer.Argument(help="The profile; - is standard input.", metavar="FILE")]


_JOURNAL = (KeptFile("/var/lib/ptttool", "The journal of changes: how a change that was cut off is repaired."),)

_SHOW = (
    Example("ptttool tune show", "All tune attributes with values, meaning and the root ports they act on.", on_demo=True),
    Example("ptttool tune show hisi_ptt0_0", "Those of one PCIe core.", on_demo=True),
)


@tune.command("show", stage=Stage.TUNE, rank=10, examples=_SHOW)
def show(
    device: OneDeviceArgument = None,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Show every tune attribute: value, meaning, root ports it acts on.

    Only root can read values. Without them the rest is shown, and the exit code is 4.
    """
    from ptttool.cli.views.tune import print_readings
    from ptttool.cli.views.unfinished import print_unfinished
    from ptttool.machine.discovery import open_source, require_machine
    from ptttool.tune.values import read_attributes

    source = open_source(sysfs, demo)
    machine = require_machine(source, tune=False)
    print_unfinished(source)
    chosen = machine.devices if device is None else (choose_device(machine, device, quiet=json),)
    readings = [(one, read_attributes(one)) for one in chosen]
    failure = next((one.error for _, found in readings for one in found if one.error is not None), None)
    if json:
        from ptttool.tune.documents import TuneShowDocument

        print_json(TuneShowDocument.of(machine, readings))
        if failure is not None:
            raise PrintedError(failure)
        return
    for number, (one, found) in enumerate(readings):
        if number:
            print_line("")
        print_readings(machine, one, found)
    if failure is not None:
        raise failure


_GET = (
    Example("ptttool tune get hisi_ptt0_0 qos_tx_cpl", "One number, for a script.", on_demo=True),
    Example("ptttool tune get hisi_ptt0_0", "Lines that 'ptttool tune set' takes.", on_demo=True),
)


@tune.command("get", stage=Stage.TUNE, rank=20, examples=_GET)
def get(
    device: DeviceArgument,
    attributes: Annotated[list[str] | None, typer.Argument(help="The tune attributes; without any, all.", metavar="ATTRIBUTE")] = None,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Print values for scripts.

    Of one attribute it is the bare number, of several they are lines ATTRIBUTE=VALUE.

    The lines are what "tune set" takes. All values are read before the first is printed.
    """
    from ptttool.cli.views.unfinished import print_unfinished
    from ptttool.machine.discovery import open_source, require_machine
    from ptttool.tune.attributes import resolve_attributes
    from ptttool.tune.values import attribute_names, read_value

    source = open_source(sysfs, demo)
    chosen = choose_device(require_machine(source, tune=False), device, quiet=json)
    print_unfinished(source)
    names = attribute_names(chosen)
    values = {name: read_value(chosen, name) for name in resolve_attributes(chosen.name, names, attributes or names)}
    if json:
        from ptttool.tune.documents import TuneGetDocument

        print_json(TuneGetDocument(chosen.name, values))
    elif attributes is not None and len(attributes) == 1:
        print_line(str(next(iter(values.values()))))
    else:
        for name, value in values.items():
            print_line(clean(f"{name}={value}"))


_SET = (
    Example("ptttool tune set hisi_ptt0_0 qos_tx_p=2 qos_tx_np=0", "Two attributes, both or none.", on_demo=True),
    Example("ptttool tune set --dry-run hisi_ptt0_0 qos_tx_p=2", "What would be written.", on_demo=True),
)


@tune.command("set", stage=Stage.TUNE, rank=30, examples=_SET, files=_JOURNAL)
def set_(
    device: Annotated[str | None, typer.Argument(help=f"{DEVICE_HELP} Not with --all.", metavar="DEVICE", show_default=False)] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Argument(help="A tune attribute and its new value, from 0 to 2.", metavar="ATTRIBUTE=VALUE", show_default=False),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Set them on every PTT device of the machine.")] = False,
    dry_run: DryRunOption = False,
    no_journal: NoJournalOption = False,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Set tune attributes of one device, or with --all of every device: all or none.

    Values are decimal numbers; one above 2 becomes 2, as in the hardware. Anything else is refused before anything is written. Every
    write is read back. If one fails, or on Ctrl-C or another signal, those already written are restored. A tune attribute that has the
    value already is not written again.

    One process at a time changes the tune attributes of a machine: another one waits, and after some seconds says who changes them. Each
    change is in a journal before its first write: "tune recover" finds one that was cut off.

    A tune attribute acts on all root ports of its PCIe core. Nothing set here outlives a reboot or a reload of the driver.
    """
    from ptttool.cli.views.tune import note_target, print_changes, print_ports
    from ptttool.cli.views.unfinished import print_unfinished
    from ptttool.machine.discovery import open_source, require_machine
    from ptttool.tune.driver import plan_values
    from ptttool.tune.session import tuning

    name, texts = _device_and_assignments(device, assignments or [], every)
    source = open_source(sysfs, demo)
    machine = require_machine(source, tune=False)
    chosen = machine.devices if name is None else (_device_to_set(machine, name, quiet=json),)
    if dry_run:
        print_unfinished(source)
        plan = plan_values(chosen, texts)
        print_diagnostics(plan.diagnostics)
    else:
        with tuning(source, f"tune set {'--all' if name is None else name} {' '.join(texts)}", journal=not no_journal) as session:
            plan = _apply(session, plan_values(chosen, texts))
    if json:
        from ptttool.tune.documents import TuneSetAllDocument, TuneSetDocument

        print_json(TuneSetAllDocument.of(machine, plan) if every else TuneSetDocument.of(machine, chosen[0], plan))
    elif dry_run or _is_read():
        print_changes(plan.changes, dry_run=dry_run)
        for one in chosen:
            print_ports(machine, one)
    note_target(source, plan)


def _device_and_assignments(device: str | None, assignments: list[str], every: bool) -> tuple[str | None, list[str]]:
    """Tell the device, which comes first, from the assignments; None for all devices."""
    usage = "ptttool tune set DEVICE ATTRIBUTE=VALUE..., or ptttool tune set --all ATTRIBUTE=VALUE..."
    if every and device is not None and "=" not in device:
        raise UsageError(f"--all stands for every device, and {device!r} for one", hint="leave one of them out", code="device-and-all")
    if device is not None and "=" in device:
        if not every:
            raise UsageError(f"{device!r} is not a device", hint=f"the device comes first: {usage}", code="device-needed")
        assignments = [device, *assignments]
        device = None
    if device is None and not every:
        raise UsageError("which PTT device, and which values?", hint=usage, code="device-needed")
    if not assignments:
        raise UsageError("no tune attribute is given", hint=usage, code="assignment-needed")
    return device, assignments


def _device_to_set(machine: Machine, name: str, *, quiet: bool) -> PttDevice:
    try:
        return choose_device(machine, name, quiet=quiet)
    except DeviceError as error:
        if name.strip().lower() in ("all", "*"):
            error.hint = "--all sets every device; a profile can have other values for each: ptttool tune apply FILE"
        raise


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

        print_json(TuneSaveDocument.of(file, snapshot))
    else:
        count = sum(len(attributes) for attributes in snapshot.devices.values())
        note(f"{count} tune attributes of {len(snapshot.devices)} devices saved in {clean(file)}")


_APPLY = (
    Example("ptttool tune apply raid.toml", "Set what a profile says, all or none.", on_demo=True),
    Example("ptttool tune apply --dry-run raid.toml", "What would be written.", on_demo=True),
)


@tune.command("apply", stage=Stage.TUNE, rank=60, examples=_APPLY, files=_JOURNAL)
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
    from ptttool.cli.views.tune import note_target, print_applied
    from ptttool.cli.views.unfinished import print_unfinished
    from ptttool.machine.discovery import open_source, require_devices
    from ptttool.tune.profiles.match import plan_profile
    from ptttool.tune.profiles.profile import load_profile
    from ptttool.tune.session import tuning

    profile = load_profile(file)
    source = open_source(sysfs, demo)
    devices = require_devices(source)
    if dry_run:
        print_unfinished(source)
        plan = plan_profile(profile, devices, ignore_missing=ignore_missing)
        print_diagnostics(plan.diagnostics)
    else:
        with tuning(source, f"tune apply {file}", journal=not no_journal) as session:
            plan = _apply(session, plan_profile(profile, devices, ignore_missing=ignore_missing))
    if json:
        from ptttool.tune.documents import TuneApplyDocument

        print_json(TuneApplyDocument.of(profile.path, plan))
    elif dry_run or _is_read():
        print_applied(plan)
    note_target(source, plan)


_DIFF = (Example("ptttool tune diff raid.toml", "What a profile would change; exit code 1 if anything.", on_demo=True, exit_code=1),)


@tune.command("diff", stage=Stage.TUNE, rank=50, examples=_DIFF)
def diff(
    file: ProfileArgument,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Compare a profile with the machine, attribute by attribute.

    Exit code 0: the machine has every value of the profile. 1: a value differs, or a device or attribute of the profile is missing on
    the machine. Others: the comparison was not possible. Attributes that the profile does not name are not compared.
    """
    from ptttool.cli.views.tune import note_left_alone, print_rows
    from ptttool.cli.views.unfinished import print_unfinished
    from ptttool.machine.discovery import open_source, require_devices
    from ptttool.tune.profiles.match import diff_profile
    from ptttool.tune.profiles.profile import load_profile

    profile = load_profile(file)
    source = open_source(sysfs, demo)
    devices = require_devices(source)
    print_unfinished(source)
    found = diff_profile(profile, devices)
    print_diagnostics(found.diagnostics)
    if json:
        from ptttool.tune.documents import TuneDiffDocument

        print_json(TuneDiffDocument.of(found))
    else:
        print_rows(found.rows)
        note_left_alone(found.left_alone)
    raise typer.Exit(0 if found.equal else 1)


_RECOVER = (Example("ptttool tune recover", "Changes that were cut off, by kill -9 or a reset.", on_demo=True),)


@tune.command("recover", stage=Stage.TUNE, rank=70, examples=_RECOVER, files=_JOURNAL)
def recover(
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
    from ptttool.cli.views.tune_recovery import print_recovery
    from ptttool.machine.discovery import open_source
    from ptttool.tune.repair.recovery import RecoverAction, recover

    actions = [action for action, asked in zip(RecoverAction, (restore, complete, keep), strict=True) if asked]
    if len(actions) > 1:
        raise UsageError("--restore, --complete and --keep exclude each other")
    source = open_source(sysfs, demo)
    done = recover(source, actions[0] if actions else None, force=force, dry_run=dry_run, journal=not no_journal)
    if json:
        from ptttool.tune.documents import TuneRecoverDocument

        print_json(TuneRecoverDocument.of(done))
    elif not done.done or _is_read():
        print_recovery(done)
        if actions and dry_run:
            note("dry run: nothing was written")
    raise typer.Exit(0 if done.settled else 1)


def _is_read() -> bool:
    """Tell whether standard output is open. If not, a change that was made stays a success: only its report is lost."""
    return "stdout" not in CLOSED


def _apply(session: Session, plan: TunePlan) -> TunePlan:
    """Carry a plan out; print what was odd before and after it."""
    print_diagnostics((*session.diagnostics, *plan.diagnostics))
    session.diagnostics.clear()
    done = plan.apply(session=session)
    print_diagnostics(session.diagnostics)
    return done
