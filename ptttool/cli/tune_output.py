"""How ``ptttool tune`` shows knobs and the root ports they act on: for people, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ptttool.cli.talk import clean, console, print_line
from ptttool.knobs import Assignment, Change, meaning
from ptttool.machine import Machine, PciFunction, PttDevice
from ptttool.pci import PciAddress

if TYPE_CHECKING:
    from ptttool.host.tune import Reading
    from ptttool.tune_profile import Row

NUMBERS = ("value", "profile", "machine")


def number(value: int | None) -> str:
    """A value in a table."""
    return "–" if value is None else str(value)


def knob_name(device: str, event: str | None) -> str:
    """A knob, or a whole device."""
    return device if event is None else f"{device}/{event}"


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns apart by two blanks, folded to the terminal's width; numbers stand on the right."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for head in heads:
        table.add_column(head, justify="right" if head in NUMBERS else "left", overflow="fold")
    for row in rows:
        table.add_row(*[clean(cell) for cell in row])
    console().print(table)


def print_changes(changes: Sequence[Change], dry_run: bool) -> None:
    """One line a knob: old → new, or that it held the value already."""
    for change in changes:
        arrow = f"{change.old} → {change.new}{' (not written)' if dry_run else ''}"
        print_line(clean(f"{change.knob}: {arrow if change.changes else f'already {change.new}'}"))


def print_comparison(rows: Sequence[Row]) -> None:
    """A profile beside the machine."""
    print_table(
        ("device", "event", "profile", "machine", "result"),
        [(row.device, row.event or "–", number(row.profile), number(row.machine), row.state) for row in rows],
    )


def print_device(machine: Machine, device: PttDevice, readings: Sequence[Reading], told: bool) -> None:
    """A device's knobs, then the ports they act on. ``told``: the kernel says which root ports are the device's own."""
    print_line(clean(device.name))
    if readings:
        problems = any(reading.error is not None for reading in readings)
        heads = ("event", "value", "meaning", *(["why there is no value"] if problems else []))
        rows = [(r.event, number(r.value), meaning(r.event) or "", *([_problem(device, r)] if problems else [])) for r in readings]
        print_table(heads, rows)
    else:
        print_line("no tune events")
    print_line("")
    if not device.root_ports:
        print_line("no root port belongs to this PCIe core" if told else "its root ports are unknown")
        return
    print_line(
        "The knobs act on the whole PCIe core:"
        if told
        else "The knobs act on a whole PCIe core; which of these ports are its own, this kernel does not tell:"
    )
    ports: list[tuple[str, str]] = []
    for port in device.root_ports:
        behind = [_function_words(function) for function in _endpoints(machine, port.address)] or ["nothing"]
        ports += [(str(port.address) if not line else "", words) for line, words in enumerate(behind)]
    print_table(("root port", "behind it"), ports)


def ports_sentence(machine: Machine, device: PttDevice, told: bool) -> str:
    """Which ports a device's knobs act on, in one line."""
    if not device.root_ports:
        return f"{device.name}: no root port belongs to this PCIe core" if told else f"{device.name}: its root ports are unknown"
    ports = []
    for port in device.root_ports:
        behind = [f.kernel_names[0] if f.kernel_names else f.address.short for f in _endpoints(machine, port.address)]
        ports.append(f"{port.address} ({', '.join(behind) or 'nothing behind it'})")
    which = "acts on the whole PCIe core" if told else "acts on a whole PCIe core, this kernel does not tell which of these ports"
    return f"{device.name} {which}: {', '.join(ports)}"


def device_json(machine: Machine, device: PttDevice, readings: Sequence[Reading], told: bool) -> dict[str, Any]:
    """A device's knobs and ports."""
    return {
        "name": device.name,
        "events": [
            {
                "name": reading.event,
                "value": reading.value,
                "meaning": meaning(reading.event),
                "problem": None if reading.error is None else reading.error.message,
            }
            for reading in readings
        ],
        **ports_json(machine, device, told),
    }


def ports_json(machine: Machine, device: PttDevice, told: bool) -> dict[str, Any]:
    """The ports that a device's knobs act on; ``root_ports_certain`` false: some of them are another device's."""
    return {
        "root_ports_certain": told,
        "root_ports": [
            {
                "address": str(port.address),
                "behind": [
                    {"address": str(f.address), "name": f.name, "kernel_names": list(f.kernel_names)}
                    for f in _endpoints(machine, port.address)
                ],
            }
            for port in device.root_ports
        ],
    }


def changes_json(changes: Sequence[Change], asked: Sequence[Assignment] = ()) -> list[dict[str, Any]]:
    """What became of each knob; with ``asked`` also the value as it was given."""
    texts = {assignment.event: assignment.asked for assignment in asked}
    return [
        {
            "device": change.device.name,
            "event": change.event,
            "old": change.old,
            "new": change.new,
            "changed": change.changes,
            **({"asked": texts[change.event]} if asked else {}),
        }
        for change in changes
    ]


def pairs_json(pairs: Sequence[tuple[str, str | None]]) -> list[dict[str, str | None]]:
    """Knobs, or whole devices (``event`` null)."""
    return [{"device": device, "event": event} for device, event in pairs]


def _problem(device: PttDevice, reading: Reading) -> str:
    """The error without the knob's name, which stands in the same row."""
    return "" if reading.error is None else reading.error.message.removeprefix(f"{device.name}/{reading.event}: ")


def _endpoints(machine: Machine, address: PciAddress) -> Iterator[PciFunction]:
    """The functions behind a bridge that are no bridges themselves."""
    for function in machine.children(address):
        if function.secondary is None:
            yield function
        else:
            yield from _endpoints(machine, function.address)


def _function_words(function: PciFunction) -> str:
    return "  ".join(filter(None, [str(function.address), ", ".join(function.kernel_names), function.name]))
