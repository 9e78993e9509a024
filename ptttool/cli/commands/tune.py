"""``ptttool tune``: show, get, set, save, apply and compare the tune attributes of PTT devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ptttool.cli.app import DemoOption, ForceOption, JsonOption, SysfsOption, app
from ptttool.cli.options.machine import find_device, load_machine, open_source
from ptttool.cli.terminal.talk import PrintedError, clean, note, print_json, print_line, warn
from ptttool.cli.views.tune import (
    attribute_name,
    changes_json,
    device_json,
    pairs_json,
    ports_json,
    ports_sentence,
    print_changes,
    print_comparison,
    print_device,
)
from ptttool.errors import PtttoolError, UsageError
from ptttool.machine.model import DEMO, Machine
from ptttool.tune.attributes import LARGEST, Change, Setting, parse_assignments, resolve_attributes

if TYPE_CHECKING:
    from ptttool.machine.sources.contract import Source
    from ptttool.tune.profile import Profile

tune = typer.Typer(
    name="tune",
    help="Show and set the tune attributes of PTT devices: QoS weights and buffer levels, from 0 to 2, each for a whole PCIe core.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(tune)

DeviceArgument = Annotated[str, typer.Argument(help="The PTT device, for example hisi_ptt0_2.", metavar="DEVICE")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Check and read everything, say what would be written, write nothing.")]
ProfileArgument = Annotated[str, typer.Argument(help="The profile; - is standard input.", metavar="FILE")]


@tune.command("show")
def show(
    device: Annotated[str | None, typer.Argument(help="One PTT device only, for example hisi_ptt0_2.", metavar="DEVICE")] = None,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Show every tune attribute with its value and meaning, and the root ports it acts on.

    Values can be read by root alone. Without them the rest is shown, and the exit code is 4.
    """
    from ptttool.tune.driver import read_all

    source = open_source(sysfs, demo)
    machine = load_machine(source, tune=False)
    chosen = machine.devices if device is None else (find_device(machine, device),)
    readings = {d.name: read_all(source, d) for d in chosen}
    failure = next((r.error for rows in readings.values() for r in rows if r.error is not None), None)
    if json:
        document: dict[str, Any] = {"devices": [device_json(machine, d, readings[d.name]) for d in chosen]}
        if failure is not None:
            document["error"] = failure.as_json()
        print_json(document)
    else:
        for number, d in enumerate(chosen):
            if number:
                print_line("")
            print_device(machine, d, readings[d.name])
    _fail(failure, said=json)


@tune.command("get")
def get(
    device: DeviceArgument,
    attributes: Annotated[list[str] | None, typer.Argument(help="The tune attributes; all without any.", metavar="ATTRIBUTE")] = None,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Print values for scripts: the bare number of one attribute, lines ATTRIBUTE=VALUE of several.

    The lines are what "tune set" takes. All values are read before the first is printed.
    """
    from ptttool.tune.driver import attribute_names, read_value

    source = open_source(sysfs, demo)
    chosen = find_device(load_machine(source, tune=False), device)
    names = attribute_names(source, chosen)
    wanted = resolve_attributes(chosen, names, attributes or names)
    values = {attribute: read_value(source, chosen, attribute) for attribute in wanted}
    if json:
        print_json({"device": chosen.name, "values": values})
    elif attributes is not None and len(attributes) == 1:
        print_line(str(values[wanted[0]]))
    else:
        for attribute in wanted:
            print_line(clean(f"{attribute}={values[attribute]}"))


@tune.command("set")
def set_(
    device: DeviceArgument,
    assignments: Annotated[list[str], typer.Argument(help="A tune attribute and its new value, from 0 to 2.", metavar="ATTRIBUTE=VALUE")],
    dry_run: DryRunOption = False,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Set tune attributes of one device, all or none.

    Values are decimal numbers; one above 2 becomes 2, as in the hardware. Anything else is refused before anything is written. Every
    write is read back. If one fails, or on Ctrl-C, SIGTERM or SIGHUP, those already written are restored. A tune attribute that
    holds the value already is not written again.

    A tune attribute acts on all root ports of its PCIe core. Nothing set here outlives a reboot or a reload of the driver.
    """
    from ptttool.tune.driver import attribute_names, carry_out, plan

    if "=" in device:
        raise UsageError(f"{device!r} is no device", hint="the device comes first: ptttool tune set DEVICE ATTRIBUTE=VALUE...")
    source = open_source(sysfs, demo)
    machine = load_machine(source, tune=False)
    chosen = find_device(machine, device)
    wanted = parse_assignments(chosen, attribute_names(source, chosen), assignments)
    for assignment in wanted:
        if assignment.clamped:
            _say_clamped(assignment.attribute, assignment.asked)
    changes = plan(source, [Setting(chosen, assignment.attribute, assignment.value) for assignment in wanted])
    if not dry_run:
        changes = carry_out(source, changes)
    if json:
        document = {
            "device": chosen.name,
            "dry_run": dry_run,
            "changes": changes_json(changes, wanted),
            **ports_json(machine, chosen),
        }
        print_json(document)
    else:
        print_changes(changes, dry_run)
        print_line(clean(ports_sentence(machine, chosen)))
    _say_where(source, dry_run, changes)


@tune.command("save")
def save(
    file: Annotated[str, typer.Argument(help="The profile to write; - is standard output.", metavar="FILE")],
    force: ForceOption = False,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Save the tune attributes of all devices as a profile, a TOML file.

    The power-on values are documented nowhere: save a profile before the first change. If one tune attribute cannot be read,
    nothing is saved.
    """
    import sys

    from ptttool.cli.terminal.interrupts import tidy_end
    from ptttool.files.atomic import output_file
    from ptttool.tune.driver import attribute_names, read_value
    from ptttool.tune.profile import dumps

    if file == "-" and json:
        raise UsageError("--json and the profile cannot both go to standard output", hint="give a file's name instead of -")
    source = open_source(sysfs, demo)
    machine = load_machine(source, tune=False)
    values: dict[str, dict[str, int]] = {}
    for device in machine.devices:
        names = attribute_names(source, device)
        if names:
            values[device.name] = {attribute: read_value(source, device, attribute) for attribute in names}
        else:
            note(f"{clean(device.name)} has no tune attributes: it is not in the profile")
    text = dumps(values, hostname=machine.hostname, kernel=machine.kernel)
    if file == "-":
        sys.stdout.write(text)
        return
    with tidy_end(), output_file(file, force=force) as output:
        output.write(text.encode())
    if json:
        print_json({"file": file, "devices": values})
    else:
        count = sum(len(attributes) for attributes in values.values())
        note(f"{count} tune attributes of {len(values)} devices saved in {clean(file)}")


@tune.command("apply")
def apply(
    file: ProfileArgument,
    dry_run: DryRunOption = False,
    ignore_missing: Annotated[
        bool, typer.Option("--ignore-missing", help="Pass over devices and attributes of the profile that this machine has not.")
    ] = False,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Bring the machine's tune attributes to a profile's values, all or none.

    Everything is checked and read first; only what differs is written, and read back. If a write fails, the tune attributes of all devices
    are restored. Devices and attributes that the profile does not speak of are left alone.
    """
    from ptttool.tune.driver import carry_out, plan
    from ptttool.tune.profile import load, match

    profile = load(file)
    source = open_source(sysfs, demo)
    machine = load_machine(source, tune=False)
    matched = match(profile, machine, _attributes(source, machine), ignore_missing=ignore_missing)
    _say_profile_clamped(profile)
    for name, attribute in matched.missing:
        warn(clean(f"{attribute_name(name, attribute)} is not on this machine: passed over"))
    changes = plan(source, matched.settings)
    if not dry_run:
        changes = carry_out(source, changes)
    if json:
        document = {
            "profile": profile.path,
            "dry_run": dry_run,
            "changes": changes_json(changes),
            "missing": pairs_json(matched.missing),
            "left_alone": pairs_json(matched.left_alone),
        }
        print_json(document)
    else:
        differing = [change for change in changes if change.changes]
        print_changes(differing, dry_run)
        _say_left_alone(matched.left_alone)
        if not changes:
            note("the profile names no tune attribute of this machine: nothing to do")
        elif len(differing) < len(changes):
            note(f"{len(changes) - len(differing)} of {len(changes)} tune attributes hold the profile's values already")
    _say_where(source, dry_run, changes)


@tune.command("diff")
def diff(
    file: ProfileArgument,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Compare a profile with the machine, attribute by attribute.

    Exit code 0: the machine holds every value of the profile; 1: it does not, or has not every device and attribute of it. Others: no
    comparison was possible. What the profile does not speak of is no difference.
    """
    from ptttool.tune.driver import plan
    from ptttool.tune.profile import SAME, compare, load, match

    profile = load(file)
    source = open_source(sysfs, demo)
    machine = load_machine(source, tune=False)
    matched = match(profile, machine, _attributes(source, machine), ignore_missing=True)
    _say_profile_clamped(profile)
    rows = compare(profile, matched, plan(source, matched.settings))
    equal = all(row.state == SAME for row in rows)
    if json:
        document = {
            "profile": profile.path,
            "equal": equal,
            "rows": [vars(row) for row in rows],
            "left_alone": pairs_json(matched.left_alone),
        }
        print_json(document)
    else:
        print_comparison(rows)
        _say_left_alone(matched.left_alone)
    raise typer.Exit(0 if equal else 1)


def _attributes(source: Source, machine: Machine) -> dict[str, list[str]]:
    from ptttool.tune.driver import attribute_names

    return {device.name: attribute_names(source, device) for device in machine.devices}


def _fail(error: PtttoolError | None, *, said: bool) -> None:
    """End with an error whose document, where one was asked for, is already on standard output (``said``)."""
    if error is None:
        return
    raise PrintedError(error) if said else error


def _say_clamped(attribute: str, asked: str) -> None:
    shown = asked if len(asked) <= 24 else f"{asked[:20]}…"
    note(clean(f"{attribute}: {shown} is above {LARGEST}, the largest value: {LARGEST} is taken, as the hardware does"))


def _say_profile_clamped(profile: Profile) -> None:
    for key, value in profile.clamped.items():
        _say_clamped(f"{profile.path}: {key}", str(value) if value < 10**24 else "a number of more than 24 digits")


def _say_where(source: Source, dry_run: bool, changes: Sequence[Change]) -> None:
    if dry_run:
        note("dry run: nothing was written")
    elif not source.live and any(change.changes for change in changes):
        note(
            f"written to {clean(source.origin)}, not to the machine this runs on"
            + (", and forgotten with this command" if source.origin == DEMO else "")
        )


def _say_left_alone(pairs: Sequence[tuple[str, str | None]]) -> None:
    if pairs:
        note(clean(f"not in the profile, left alone: {', '.join(attribute_name(*pair) for pair in pairs)}"))
