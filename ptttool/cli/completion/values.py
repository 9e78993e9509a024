"""The values that complete an option or an argument: what ptttool itself defines, and what there is on the machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ptttool.cli.completion.words import values as words

if TYPE_CHECKING:
    from ptttool.machine.model import Machine, PciFunction, PttDevice
    from ptttool.machine.sources.contract import Source

Values = Iterable[tuple[str, str]]

# A larger archive takes too long for a Tab.
_LARGEST_ARCHIVE: Final = 4 << 20


@dataclass
class Asked:
    """What a shell asks for.

    Parameters
    ----------
    start : str
        What is there already of the value.
    known : sequence of str
        The arguments that are there already.
    sysfs : str or None
        ``--sysfs``.
    demo : bool
        ``--demo``.
    device : str or None
        The PTT device.
    """

    start: str
    known: Sequence[str] = ()
    sysfs: str | None = None
    demo: bool = False
    device: str | None = None

    @cached_property
    def source(self) -> Source | None:
        """The machine's source; None where there is none."""
        from ptttool.machine.discovery import open_source

        path = None if self.sysfs is None else os.path.expanduser(self.sysfs)  # noqa: PTH111 - the shell has not done it yet
        with suppress(Exception):  # whatever is wrong, the command says it
            if path is None or not os.path.isfile(path) or os.stat(path).st_size <= _LARGEST_ARCHIVE:  # noqa: PTH113, PTH116
                return open_source(path, self.demo)
        return None

    @cached_property
    def machine(self) -> Machine | None:
        """The machine; None where there is none."""
        from ptttool.machine.discovery import read_machine

        with suppress(Exception):
            return None if self.source is None else read_machine(self.source, tune=False)
        return None

    @cached_property
    def devices(self) -> Sequence[PttDevice]:
        """The device that the line names; all of the machine where it names none, or none that there is."""
        if self.machine is None:
            return ()
        from ptttool.machine.resolve import find_device

        with suppress(Exception):
            return self.machine.devices if self.device is None else (find_device(self.machine, self.device),)
        return self.machine.devices


def of_kind(kind: str, asked: Asked) -> Values:
    """Return the values of a kind, as the files of words have it: ``=a|b`` for a choice."""
    if kind.startswith("="):
        return [(value, "") for value in kind[1:].split("|")]
    if kind in _LISTS:
        return _in_list(asked.start, _words(kind.removesuffix(",")))
    if kind in _MACHINE:
        return _MACHINE[kind](asked)
    return _words(kind)


def _words(kind: str) -> Values:
    values: Values = words().get(kind, {}).items()
    return values


def _in_list(start: str, values: Values) -> Values:
    """Complete the last of several values with commas, without those that are there."""
    done, comma, _ = start.rpartition(",")
    present = set(done.split(","))
    return [(f"{done}{comma}{value}", text) for value, text in values if value not in present]


def _devices(asked: Asked) -> Values:
    machine = asked.machine
    if machine is None:
        return []
    from ptttool.machine.topology import names_behind

    devices = []
    for device in machine.devices:
        names = ", ".join(filter(None, (names_behind(machine, port.address) for port in device.root_ports))) if device.ports_known else ""
        devices.append((device.name, names))
    short = [(name.removeprefix("hisi_ptt"), text) for name, text in devices]
    functions = list(_functions(machine.functions.values()))
    return _first(asked.start, devices, list(_first(asked.start, short, functions if asked.start else [])))


def _first(start: str, first: list[tuple[str, str]], others: list[tuple[str, str]]) -> Values:
    """Return the first values that fit, or the others where none does."""
    return first if any(value.startswith(start) for value, _ in first) else others


def _functions(functions: Iterable[PciFunction]) -> Values:
    """Yield the kernel's names and the addresses of functions."""
    for function in functions:
        for name in function.kernel_names:
            yield name, f"{function.address} {function.name}"
    for function in functions:
        yield str(function.address), function.called
        yield function.address.short, function.called


def _ports(asked: Asked) -> Values:
    machine = asked.machine
    if machine is None:
        return []
    from ptttool.machine.topology import endpoints_behind, words_behind

    addresses = sorted({port.address for device in asked.devices for port in device.root_ports})
    # Without parentheses: fish puts its own around a description.
    ports = [(str(address), words_behind(machine, address).strip("()")) for address in addresses]
    names = [
        (name, f"behind {address}")
        for address in addresses
        for function in endpoints_behind(machine, address)
        for name in function.kernel_names
    ]
    short = [(address.short, text) for address, (_, text) in zip(addresses, ports, strict=True)]
    last = asked.start.rpartition(",")[2]
    return _in_list(asked.start, [*names, *ports] if any(value.startswith(last) for value, _ in (*names, *ports)) else short)


def _requesters(asked: Asked) -> Values:
    machine = asked.machine
    if machine is None:
        return []
    addresses = sorted({one.address for device in asked.devices for one in device.requesters})
    functions = list(_functions([machine.functions[address] for address in addresses if address in machine.functions]))
    return _first(asked.start, [(value, text) for value, text in functions if value.count(":") != 1], functions)


def _attribute_names(asked: Asked) -> dict[str, str]:
    texts = words().get("attributes", {})
    source = asked.source
    names: dict[str, str] = {}
    for device in asked.devices:
        with suppress(OSError):
            if source is not None:
                names |= {name: texts.get(name, "") for name in source.names(f"{device.sysfs}/tune") if name.isidentifier()}
    return names or texts


def _assignments(asked: Asked) -> Values:
    name, equals, _ = asked.start.partition("=")
    if equals:
        return [(f"{name}={value}", "") for value in words().get("attribute values", ())]
    attributes = {word.partition("=")[0] for word in asked.known}
    return [(f"{name}=", text) for name, text in _attribute_names(asked).items() if name not in attributes]


def _parameters(asked: Asked) -> Values:
    name, equals, _ = asked.start.partition("=")
    if equals:
        return [(f"{name}={value}", "") for value in words().get("parameter values", {}).get(f"{name}=", ())]
    return _words("parameters")


_LISTS: Final = frozenset({"types", "columns", "partitions", "analyses,", "attribute values,"})
_MACHINE: Final[dict[str, Callable[[Asked], Values]]] = {
    "device": _devices,
    "ports": _ports,
    "requester": _requesters,
    "cpu": lambda asked: [(str(cpu), device.name) for device in asked.devices for cpu in device.cpus],
    "attribute": lambda asked: [(name, text) for name, text in _attribute_names(asked).items() if name not in asked.known],
    "attributes": lambda asked: _in_list(asked.start, _attribute_names(asked).items()),
    "assignment": _assignments,
    "parameters": _parameters,
}
