"""How ``ptttool tune`` shows attributes and the root ports they act on: for people, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ptttool.cli.terminal.talk import clean, console, print_line
from ptttool.machine.model import Machine, PciFunction, PttDevice
from ptttool.machine.topology import endpoints_behind, names_behind
from ptttool.tune.attributes import Assignment, Change, meaning

if TYPE_CHECKING:
    from ptttool.tune.driver import Reading
    from ptttool.tune.profile import Row

NUMBERS = ("Value", "Profile", "Machine")
# Columns that a narrow terminal does not break.
WHOLE = (*NUMBERS, "PTT device", "Attribute", "Root port")
UNKNOWN = "?"


def number(value: int | None) -> str:
    """A value in a table."""
    return UNKNOWN if value is None else str(value)


def attribute_name(device: str, attribute: str | None) -> str:
    """A tune attribute, or a whole device."""
    return device if attribute is None else f"{device}/{attribute}"


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns apart by two blanks, folded to the terminal's width; numbers stand on the right."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for head in heads:
        table.add_column(head, justify="right" if head in NUMBERS else "left", no_wrap=head in WHOLE, overflow="fold")
    for row in rows:
        table.add_row(*[clean(cell) for cell in row])
    console().print(table)


def print_changes(changes: Sequence[Change], dry_run: bool) -> None:
    """One line a tune attribute: old → new, or that it held the value already."""
    for change in changes:
        arrow = f"{change.old} → {change.new}{' (not written)' if dry_run else ''}"
        print_line(clean(f"{change.label}: {arrow if change.changes else f'already {change.new}'}"))


def print_comparison(rows: Sequence[Row]) -> None:
    """A profile beside the machine."""
    print_table(
        ("PTT device", "Attribute", "Profile", "Machine", "Result"),
        [(row.device, row.attribute or "(none)", number(row.profile), number(row.machine), row.state) for row in rows],
    )


def print_device(machine: Machine, device: PttDevice, readings: Sequence[Reading]) -> None:
    """A device's attributes, then the ports they act on."""
    print_line(clean(device.name))
    if readings:
        problems = any(reading.error is not None for reading in readings)
        heads = ("Attribute", "Value", "Meaning", *(["Why there is no value"] if problems else []))
        rows = [(r.attribute, number(r.value), meaning(r.attribute) or "", *([_problem(device, r)] if problems else [])) for r in readings]
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
        behind = [_function_words(function) for function in endpoints_behind(machine, port.address)] or ["(empty)"]
        ports += [(str(port.address) if not line else "", words) for line, words in enumerate(behind)]
    print_table(("Root port", "Behind it"), ports)


def ports_sentence(machine: Machine, device: PttDevice) -> str:
    """Which ports a device's attributes act on, in one line."""
    ports = [f"{port.address} ({names_behind(machine, port.address) or 'empty'})" for port in device.root_ports]
    return f"{device.name}: {_reach(device)}{': ' if ports else ''}{', '.join(ports)}"


def _reach(device: PttDevice) -> str:
    """How far a device's attributes act; its ports are to follow."""
    if not device.root_ports:
        return "no root port belongs to its PCIe core" if device.ports_known else "which root ports belong to its PCIe core is unknown"
    which = "" if device.ports_known else ", which may be any of these (the kernel does not tell)"
    return f"a tune attribute acts on all root ports of the PCIe core{which}"


def device_json(machine: Machine, device: PttDevice, readings: Sequence[Reading]) -> dict[str, Any]:
    """A device's attributes and ports."""
    return {
        "name": device.name,
        "attributes": [
            {
                "name": reading.attribute,
                "value": reading.value,
                "meaning": meaning(reading.attribute),
                "problem": None if reading.error is None else reading.error.message,
            }
            for reading in readings
        ],
        **ports_json(machine, device),
    }


def ports_json(machine: Machine, device: PttDevice) -> dict[str, Any]:
    """The ports that a device's attributes act on; ``ports_known`` false: some of them are another device's."""
    return {
        "ports_known": device.ports_known,
        "root_ports": [
            {
                "address": str(port.address),
                "behind": [
                    {"address": str(f.address), "name": f.name, "kernel_names": list(f.kernel_names)}
                    for f in endpoints_behind(machine, port.address)
                ],
            }
            for port in device.root_ports
        ],
    }


def changes_json(changes: Sequence[Change], asked: Sequence[Assignment] = ()) -> list[dict[str, Any]]:
    """What became of each tune attribute; with ``asked`` also the value as it was given."""
    texts = {assignment.attribute: assignment.asked for assignment in asked}
    return [
        {
            "device": change.device.name,
            "attribute": change.attribute,
            "old": change.old,
            "new": change.new,
            "changed": change.changes,
            **({"asked": texts[change.attribute]} if asked else {}),
        }
        for change in changes
    ]


def pairs_json(pairs: Sequence[tuple[str, str | None]]) -> list[dict[str, str | None]]:
    """Tune attributes, or whole devices (``attribute`` null)."""
    return [{"device": device, "attribute": attribute} for device, attribute in pairs]


def _problem(device: PttDevice, reading: Reading) -> str:
    """The error without the tune attribute's name, which stands in the same row."""
    return "" if reading.error is None else reading.error.message.removeprefix(f"{device.name}/{reading.attribute}: ")


def _function_words(function: PciFunction) -> str:
    return "  ".join(filter(None, [str(function.address), ", ".join(function.kernel_names), function.name]))
