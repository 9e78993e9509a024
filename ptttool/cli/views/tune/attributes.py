"""Show tune attributes and the root ports that they act on, for ``ptttool tune``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ptttool.cli.terminal.talk import console, note, plain_table, print_line, print_wrapped
from ptttool.machine.model import Machine, PttDevice
from ptttool.machine.sources.contract import Source
from ptttool.machine.topology import UNKNOWN, endpoints_behind, words_behind
from ptttool.tune.attributes import meaning
from ptttool.tune.driver import Change, TunePlan
from ptttool.tune.profiles.match import ProfileDiff, RowState
from ptttool.tune.values import Reading
from ptttool.wording import clean, counted, in_words

NUMBERS = ("Value", "Profile", "Machine", "Old", "New", "Now")
# Columns that a narrow terminal does not break.
WHOLE = (*NUMBERS, "PTT device", "Attribute", "Root port")


def print_readings(machine: Machine, device: PttDevice, readings: Sequence[Reading]) -> None:
    """Print a device's attributes, then the root ports they act on."""
    print_line(clean(device.name))
    if readings:
        heads = ["Attribute", "Value", "Meaning"]
        rows = [[one.attribute, value_text(one.value), meaning(one.attribute) or ""] for one in readings]
        if any(one.error is not None for one in readings):
            heads.append("Why there is no value")
            for row, one in zip(rows, readings, strict=True):
                # The attribute's name is in the same row.
                row.append("" if one.error is None else one.error.message.removeprefix(f"{device.name}/{one.attribute}: "))
        print_table(heads, rows)
    else:
        print_line("no tune attributes")
    print_line("")
    reach = _reach(device)
    print_line(f"{reach[0].upper()}{reach[1:]}{':' if device.root_ports else ''}")
    if not device.root_ports:
        return
    ports: list[tuple[str, str]] = []
    for port in device.root_ports:
        behind = [f"{function.address}  {function.names}" for function in endpoints_behind(machine, port.address)]
        behind = behind or [words_behind(machine, port.address)]
        ports += [(str(port.address) if not line else "", words) for line, words in enumerate(behind)]
    print_table(("Root port", "Behind it"), ports)


def print_changes(changes: Iterable[Change], *, dry_run: bool) -> None:
    """Print one line for each attribute: old → new, or that it already has the value."""
    for change in changes:
        arrow = f"{change.old} → {change.new}{' (not written)' if dry_run else ''}"
        print_line(clean(f"{change.label}: {arrow if change.differs else f'already {change.new}'}"))


def print_ports(machine: Machine, device: PttDevice) -> None:
    """Print the root ports that a device's attributes act on, in one line."""
    ports = [f"{port.address} ({words_behind(machine, port.address).strip('()')})" for port in device.root_ports]
    print_wrapped(f"{device.name}: {_reach(device)}{': ' if ports else ''}{', '.join(ports)}")


def print_applied(plan: TunePlan) -> None:
    """Print what applying a profile changed."""
    differing = [change for change in plan.changes if change.differs]
    print_changes(differing, dry_run=not plan.done)
    note_left_alone(plan.left_alone)
    if not plan.changes:
        note("the profile names no tune attribute of this machine: nothing to do")
    elif len(differing) < len(plan.changes):
        note(f"{len(plan.changes) - len(differing)} of {len(plan.changes)} tune attributes already have the profile's values")


def print_rows(diff: ProfileDiff, *, every: bool) -> None:
    """Print a profile beside the machine, or beside another profile: what differs first, the rest only if ``every`` is true."""
    rows, absent = diff.rows, UNKNOWN if diff.other is None else ""
    same = [row for row in rows if row.state is RowState.SAME]
    shown = [row for row in rows if row.state is not RowState.SAME] + (same if every else [])
    if shown:
        cells = []
        for row in shown:
            values = (absent if each is None else str(each) for each in (row.profile, row.machine))
            cells.append((row.device, row.attribute or "(none)", *values, row.state))
        print_table(("PTT device", "Attribute", *map(clean, diff.heads), "Result"), cells)
    if same and not every:
        which = "all" if len(same) == len(rows) else f"{len(same)} of"
        whose = "the profile's values" if diff.other is None else "the same value in both"
        note(f"{which} {counted(len(rows), 'tune attribute')} {'has' if len(same) == 1 else 'have'} {whose}: --all shows them")
    elif not rows:
        note("the profile names no tune attribute")


def note_left_alone(pairs: Sequence[tuple[str, str | None]]) -> None:
    """Print which devices and attributes a profile does not name, on standard error; devices with the same ones together."""
    attributes: dict[str, list[str]] = {}
    for device, attribute in pairs:
        attributes.setdefault(device, []).extend([] if attribute is None else [attribute])
    alike: dict[str, list[str]] = {}
    for device, names in attributes.items():
        alike.setdefault(", ".join(names), []).append(device)
    if alike:
        groups = "; ".join(in_words(devices) + (f": {names}" if names else "") for names, devices in alike.items())
        note(clean(f"not in the profile, left alone: {groups}"))


def note_result(source: Source, plan: TunePlan, *, journal: bool) -> None:
    """Print what to know after a change on standard error: that nothing was written, or not to this machine, and how it is undone."""
    if not plan.done:
        note("dry run: nothing was written")
        return
    note_target(source, plan.changes)
    if any(change.differs for change in plan.changes) and source.identity is not None:
        note(f"to undo it: {_undo_command(source, plan, journal)}")


def note_target(source: Source, changes: Sequence[Change]) -> None:
    """Print on standard error that changes were not written to this machine."""
    if not source.live and any(change.differs for change in changes):
        lost = ", and lost when this command ends" if source.identity is None else ""
        note(f"written to {clean(source.origin)}, not to this machine{lost}")


# States of a profile's rows that are pointed out.
_ODD = {state for state in RowState if state is not RowState.SAME}


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, folded to the terminal's width, with numbers aligned to the right; where it has no room, each row as a sentence."""
    from rich.cells import cell_len
    from rich.text import Text

    shown = console()
    # Columns that are not broken take what they need, the others this much at the least.
    least = [max(map(cell_len, (head, *cells))) if head in WHOLE else 8 for head, *cells in zip(heads, *rows, strict=True)]
    if sum(least) + 2 * (len(least) - 1) > shown.width:
        for row in rows:
            print_wrapped(", ".join(f"{head}: {cell}" for head, cell in zip(heads, row, strict=True) if cell))
        return
    table = plain_table(heads, right=NUMBERS, whole=WHOLE)
    for row in rows:
        table.add_row(*[Text(clean(cell), "bold yellow" if cell in _ODD else "") for cell in row])
    shown.print(table)


def value_text(value: int | None) -> str:
    """Return a value as a cell of a table."""
    return UNKNOWN if value is None else str(value)


def _undo_command(source: Source, plan: TunePlan, journal: bool) -> str:
    import shlex

    where = "" if source.live else f" --sysfs {shlex.quote(clean(source.origin))}"
    if journal:
        return f"ptttool tune undo{where}"
    old: dict[str, list[str]] = {}
    for change in plan.changes:
        if change.differs:
            old.setdefault(change.device, []).append(f"{change.attribute}={change.old}")
    return clean("; ".join(f"ptttool tune set{where} {device} {' '.join(values)}" for device, values in old.items()))


def _reach(device: PttDevice) -> str:
    """Describe which root ports a device's attributes act on; the list of ports follows."""
    if not device.root_ports:
        return "no root port belongs to its PCIe core" if device.ports_known else "which root ports belong to its PCIe core is unknown"
    which = "" if device.ports_known else ", which can be any of these (the kernel does not say which)"
    return f"a tune attribute acts on all root ports of the PCIe core{which}"
