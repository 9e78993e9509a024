"""``ptttool collect``: what support needs to know of a machine, in one archive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ptttool.cli.app import DemoOption, ForceOption, JsonOption, SysfsOption, app
from ptttool.cli.help.about import Example, Stage
from ptttool.cli.terminal.interrupts import tidy_end
from ptttool.cli.terminal.talk import note, outlive_reader, print_json, print_line
from ptttool.errors import UsageError
from ptttool.wording import clean

if TYPE_CHECKING:
    from ptttool.api.collect import Collection

EXAMPLES = (
    Example("ptttool collect --dry-run", "List what an archive of this machine would hold.", on_demo=True),
    Example("ptttool collect -o machine.tar.gz", "Write it. The other side reads it: ptttool list --sysfs machine.tar.gz.", on_demo=True),
)
# Of files that could not be read, so many are named.
_NAMED = 5


@app.command("collect", stage=Stage.FIND, rank=40, examples=EXAMPLES)
def collect(
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="The archive; - is standard output. By default ptttool-DATE.tar.gz."),
    ] = None,
    hostname: Annotated[bool, typer.Option("--hostname", help="Collect the host name, too.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List every file that would be in the archive; write nothing.")] = False,
    force: ForceOption = False,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Collect what support needs to know of this machine in an archive.

    It has what ptttool itself reads: the PTT devices with their filters and tune attributes, the PCI functions with their links and the
    first 256 bytes of their configuration space, CPUs, kernel release and configuration, the driver's parameters, the lines of /proc/iomem
    that name memory and PCI windows, and perf's version. No serial numbers, no MAC addresses, and no host name are in it.

    What went in is listed; --dry-run lists what would. The archive is for its owner alone (mode 0600). Every command reads it with --sysfs.
    Reading everything needs root; without, what could not be read is listed, and the archive says so, too.
    """
    import sys
    import time

    from ptttool.api.collect import Collected
    from ptttool.machine.discovery import open_source

    to_output = output == "-" and not dry_run
    if to_output and json:
        raise UsageError("--json and the archive cannot both go to standard output", hint="give a file's name instead of -")
    if to_output and sys.stdout.isatty():
        raise UsageError("an archive is not written to a terminal", hint="give a file's name instead of -, or a pipe", code="terminal")
    if not to_output:
        outlive_reader(is_result=json or dry_run)
    collected = Collected(open_source(sysfs, demo), hostname=hostname)
    collection = collected.described()
    if to_output:
        note(f"{len(collection.files):,} files; left out: {'; '.join(collection.left_out)}")
        collected.write_to(sys.stdout.buffer)
        return
    if not dry_run:
        file = output or time.strftime("ptttool-%Y%m%d-%H%M%S.tar.gz")
        with tidy_end():
            collection = collected.write(file, force=force)
    if not json:
        _print_contents(collection, every=dry_run)
    if json:
        print_json(collection)
    elif collection.file is not None:
        size = "" if collection.bytes is None else f", {collection.bytes:,} bytes"
        note(clean(f"wrote {collection.file}{size}, readable by its owner alone; ptttool list --sysfs {collection.file} reads it"))
    else:
        note("dry run: nothing was written")


def _print_contents(collection: Collection, *, every: bool) -> None:
    from ptttool.cli.views.tune.attributes import print_table

    print_table(("Part", "Files", "Bytes"), [(part.name, f"{part.files:,}", f"{part.bytes:,}") for part in collection.parts])
    if every:
        print_line("")
        for one in collection.files:
            print_line(clean(f"{one.bytes:>9,}  {one.path}"))
    print_line("")
    print_line(f"Left out: {'; '.join(collection.left_out)}")
    if collection.refused:
        print_line(f"Could not be read: {len(collection.refused):,} files; as root they can be")
        for refused in collection.refused if every else collection.refused[:_NAMED]:
            print_line(clean(f"  {refused.path}: {refused.reason}"))
        if len(collection.refused) > _NAMED and not every:
            print_line("  … (--dry-run lists all)")
