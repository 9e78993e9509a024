"""``ptttool tune export``: make a profile permanent."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ptttool.cli.app import DemoOption, JsonOption, SysfsOption
from ptttool.cli.commands.tune.group import tune
from ptttool.cli.help.about import Example, KeptFile, Stage
from ptttool.cli.options.given import refuse_beside
from ptttool.cli.terminal.talk import note, outlive_reader, print_diagnostics, print_json
from ptttool.errors import UsageError

if TYPE_CHECKING:
    from ptttool.machine.sources.contract import Source
    from ptttool.tune.persist.export import Export
    from ptttool.tune.profiles.profile import Profile

_EXAMPLES = (
    Example("ptttool tune export storage --to udev", "The rule of udev that sets the profile at every start.", on_demo=True),
    Example("ptttool tune export raid.toml --to systemd", "The same as a service.", on_demo=True),
    Example("ptttool tune export raid.toml --to udev --install --yes --root image", "Write it below the folder of an image.", on_demo=True),
)
_FILES = (KeptFile("/var/lib/ptttool/installed", "What was installed, so that --uninstall removes exactly that."),)


@tune.command("export", stage=Stage.TUNE, rank=64, examples=_EXAMPLES, files=_FILES)
def export(
    context: typer.Context,
    profile: Annotated[
        str | None,
        typer.Argument(
            help="The profile: a file, the name of one of 'tune profiles', or - for standard input. Without it: the values that the "
            "machine has now.",
            metavar="PROFILE",
        ),
    ] = None,
    to: Annotated[
        str, typer.Option("--to", help="What sets the values: udev, systemd, tmpfiles, tuned or ansible.", metavar="TARGET")
    ] = "udev",
    install: Annotated[bool, typer.Option("--install", help="Write the files, after showing them and asking.")] = False,
    uninstall: Annotated[
        bool, typer.Option("--uninstall", help="Remove what --install has written, if nobody has changed it since.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    root: Annotated[
        Path,
        typer.Option(
            "--root", help="Install below this folder: the root of another system, such as an image.", metavar="DIR", readable=False
        ),
    ] = Path("/"),
    program: Annotated[
        str | None,
        typer.Option(
            "--program",
            help="For systemd: the absolute path of ptttool on the system that this is for. By default that of this command; below --root, "
            "where it is found there.",
            metavar="PATH",
        ),
    ] = None,
    ignore_missing: Annotated[
        bool, typer.Option("--ignore-missing", help="Leave out devices and attributes of the profile that this machine does not have.")
    ] = False,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Print or install what makes a profile permanent.

    What is set by "tune set" and "tune apply" is gone after a restart. A rule of udev (the default) sets it again whenever the driver is
    loaded. Without --install nothing is written: the text goes to standard output, and what to do with it to standard error.

    A profile of another machine is refused. --install writes each file whole or not at all, follows no link, and does not touch a file that
    it did not write itself.
    """
    outlive_reader(is_result=json or not (install or uninstall))
    if uninstall:
        refuse_beside("--uninstall", context, takes=("uninstall", "to", "root", "yes", "json"))
        _uninstall(to, root, yes=yes, json=json)
        return
    if not install:
        refuse_beside("the text alone: without --install nothing is written", context, refused=("root", "yes"))
    from ptttool.machine.discovery import open_source, require_devices
    from ptttool.tune.persist.export import export_profile

    source = open_source(sysfs, demo)
    devices = require_devices(source)
    profile_export = export_profile(to, _profile(profile, source), devices, ignore_missing=ignore_missing, root=root, program=program)
    if install:
        if not source.live and root == Path("/"):
            message = f"these are values for {source.origin}, not for this machine"
            raise UsageError(message, hint="--root names the folder of its system", code="other-machine")
        _install(profile_export, root, yes=yes, json=json)
        return
    print_diagnostics(profile_export.diagnostics)
    if json:
        print_json(profile_export)
        return
    sys.stdout.write(profile_export.files[0].text)
    if profile_export.installable:
        note(f"nothing was written: this is for {profile_export.files[0].path}; --install writes it there")
    note(profile_export.limits)


def _profile(name: str | None, source: Source) -> Profile:
    from ptttool.tune.profiles.named import find_profile

    if name is not None:
        return find_profile(name, source)
    from ptttool.machine.discovery import require_machine
    from ptttool.tune.profiles.profile import Profile as Values
    from ptttool.tune.profiles.snapshot import take_snapshot
    from ptttool.tune.session import tuning

    machine = require_machine(source, tune=False)
    with tuning(source, "tune export", reads=True) as session:
        print_diagnostics(session.diagnostics)
        snapshot = take_snapshot(machine)
    print_diagnostics(snapshot.diagnostics)
    return Values(f"values-of-{snapshot.hostname}" if snapshot.hostname else "values", snapshot.devices)


def _install(profile_export: Export, root: Path, *, yes: bool, json: bool) -> None:
    from ptttool.cli.views.tune.export import print_plan
    from ptttool.tune.persist.install import install, installing, plan_install

    with installing(root):
        plan = plan_install(profile_export, root)
        print_diagnostics((*profile_export.diagnostics, *plan.diagnostics))
        if not json:
            print_plan(plan)
        if plan.is_needed:
            _ask("write this?", yes)
        install(plan)
    if json:
        from msgspec.structs import replace

        print_json(replace(profile_export, root=root, diagnostics=(*profile_export.diagnostics, *plan.diagnostics)))
        return
    note("installed" if plan.is_needed else "installed already: nothing was written")
    note(profile_export.limits)
    if root == Path("/"):
        note(f"they are set at the next start; now: {'; '.join(profile_export.activation)}")


def _uninstall(target: str, root: Path, *, yes: bool, json: bool) -> None:
    from ptttool.cli.views.tune.export import print_removal
    from ptttool.tune.persist.install import installing, plan_uninstall, uninstall

    with installing(root):
        plan = plan_uninstall(target, root)
        if not json:
            print_removal(plan)
        _ask("remove this?", yes or not plan.remove)
        uninstall(plan)
    if json:
        print_json(plan)
        return
    note("removed; values that are set now stay until the next restart")


def _ask(question: str, yes: bool) -> None:
    """Go on only if the user says yes; without a terminal there is nobody to ask."""
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("there is no terminal to ask on; nothing was written", hint="--yes goes on without asking", code="needs-yes")
    sys.stdout.flush()
    sys.stderr.write(f"ptttool: {question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("not confirmed; nothing was written", code="not-confirmed")
