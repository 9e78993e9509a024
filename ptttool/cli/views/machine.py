"""Show a machine as tables and trees. ``clean`` removes control characters from all text that comes from devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptttool.cli.terminal.talk import note, plain_table
from ptttool.machine.budget import MAX_BUSES_ABOVE
from ptttool.machine.cpus import format_cpus
from ptttool.machine.model import REQUESTER, ROOT_PORT, Machine, PciFunction, PttDevice, Untraceable
from ptttool.machine.topology import UNKNOWN, all_diagnostics, device_groups, endpoints_behind, link_words, port_link, words_behind
from ptttool.pci import PciAddress
from ptttool.wording import clean, in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rich.table import Table
    from rich.tree import Tree

# From WIDE columns on, links are shown and the PCI address has its own column; from FULL columns on, the drivers have theirs.
# Below NARROW columns, NUMA node and CPUs are left out.
NARROW, WIDE, FULL = 56, 80, 110
COMBINE = {True: "several may be combined", False: "one at a time"}
# What older kernels lack, by the code of the diagnostic that explains it.
LACKS = {"pci-unknown": "no link from a PTT device to its PCI function", "filters-computed": "no lists of filters"}
_LATE = "no trace longer than the AUX area"
PORTS_UNKNOWN = "the kernel does not say which root ports belong to which device"


def print_diagnostics(machine: Machine) -> None:
    """Print notes about unknown and computed values on standard error."""
    for one in all_diagnostics(machine):
        note(clean(one.message))


def _text(value: object) -> str:
    return UNKNOWN if value is None else clean(str(value))


def device_table(machine: Machine, width: int, *, verbose: bool = False) -> Table:
    """Make a table with one row for each root port; the columns of the device are filled in its first row."""
    narrow, wide, full = width < NARROW, width >= WIDE, width >= FULL
    own = [
        "PTT device",
        *(["SICL", "Core", "PMU type"] if verbose else []),
        *(["PCI"] if wide else []),
        *([] if narrow else ["NUMA", "CPUs"]),
    ]
    table = plain_table(
        [*own, "Root port", *(["Link"] if wide else []), "Behind it", *(["Driver"] if full else [])],
        right=("SICL", "Core", "NUMA", "PMU type"), whole=("PTT device", "PCI", "Root port", "SICL", "Core", "NUMA", "PMU type"),
    )  # fmt: skip

    def rows(device: PttDevice) -> list[list[str]]:
        name, pci = clean(device.name), _text(device.pci)
        numbers = [_text(device.sicl), _text(device.core), _text(device.pmu_type)] if verbose else []
        first = [name, *numbers, *([pci] if wide else []), *([] if narrow else [_text(device.numa_node), cpu_text(device)])]
        return [first] if wide else [first, [pci]]

    def port(address: PciAddress) -> list[str]:
        cells = [str(address), *([port_link(machine, address)] if wide else []), clean(words_behind(machine, address))]
        return [*cells, clean(_drivers(machine, address))] if full else cells

    for group in device_groups(machine):
        ports = [port(one.address) for one in group[0].root_ports]
        if group[0].ports_known:
            _add_side_by_side(table, rows(group[0]), ports or [["none"]], len(own))
        else:
            for device in group:
                _add_side_by_side(table, rows(device), [["unknown"]], len(own))
            _add_side_by_side(table, [["any of these"]], ports, len(own))
    return table


def untraceable_table(functions: Iterable[Untraceable]) -> Table:
    """Make a table of the functions that no PTT device can trace."""
    table = plain_table(("Function", "Name", "Driver", "Why"), whole=("Function",))
    for one in functions:
        table.add_row(str(one.address), clean(one.name), clean(one.driver or "none"), clean(one.text))
    return table


def _drivers(machine: Machine, port: PciAddress) -> str:
    """Name the drivers of the endpoints behind a port."""
    names = [function.driver or "none" for function in endpoints_behind(machine, port)]
    return ", ".join(dict.fromkeys(names))


def _add_side_by_side(table: Table, left: list[list[str]], right: list[list[str]], columns: int) -> None:
    for number in range(max(len(left), len(right))):
        cells = left[number] if number < len(left) else []
        table.add_row(*cells, *[""] * (columns - len(cells)), *(right[number] if number < len(right) else []))


def common_lines(machine: Machine, *, verbose: bool = False) -> Iterator[str]:
    """Yield lines with the kernel, the number of requesters and the tune attributes; devices with equal values share a line."""
    lacks = {one.code: text for device in machine.devices for one in device.diagnostics for code, text in LACKS.items() if one.code == code}
    words = [*lacks.values(), *([_LATE] if machine.driver is not None and machine.driver.commits_early is False else [])]
    yield clean(f"Kernel: {_text(machine.kernel)}{f' ({in_words(words)})' if words else ''}")
    counts = ", ".join(f"{device.name} {len(device.requesters) or 'none'}" for device in machine.devices if device.ports_known)
    if counts:
        yield clean(f"Requesters: {counts} (ptttool filters lists them)")
    terms = {device.name: ", ".join(f"{name} {term}" for name, term in sorted(device.format.items())) for device in machine.devices}
    attributes = {device.name: ", ".join(attribute.name for attribute in device.tune) for device in machine.devices}
    for what, texts in (("Event terms", terms), ("Tune attributes", attributes)) if verbose else (("Tune attributes", attributes),):
        owners: dict[str, list[str]] = {}
        for name, text in texts.items():
            owners.setdefault(text or "none", []).append(name)
        for text, names in owners.items():
            owner = f" of {', '.join(names)}" if len(owners) > 1 else ""
            yield clean(f"{what}{owner}: {text}")


def device_details(machine: Machine, device: PttDevice, *, verbose: bool = False) -> Table:
    """Make a table of everything about one device."""
    table = plain_table(("Fact", "Value"), whole=("Fact",))
    table.show_header = False
    function = machine.functions.get(device.pci) if device.pci is not None else None
    facts: list[tuple[str, str]] = [("PTT device", clean(device.name))]
    if verbose:
        facts += [("SICL", _text(device.sicl)), ("Core", _text(device.core)), ("PMU type", _text(device.pmu_type))]
    facts += [
        ("PCI address", _text(device.pci)),
        ("PCI name", _text(function.name if function is not None else None)),
        ("NUMA node", _text(device.numa_node)),
        ("CPUs", cpu_text(device)),
        ("Kernel", _text(machine.kernel)),
    ]
    if verbose:
        facts.append(("In sysfs", clean(device.sysfs)))
        facts += _listed("Event terms", (f"{name} {term}" for name, term in sorted(device.format.items())))
    facts += _listed(
        "Tune attributes",
        (f"{attribute.name} {_text(attribute.problem if attribute.value is None else attribute.value)}" for attribute in device.tune),
    )
    ports = []
    for port in (one.address for one in device.root_ports):
        drivers = _drivers(machine, port)
        ports.append(f"{port}  {port_link(machine, port)}  {words_behind(machine, port)}{f'  driver {drivers}' if drivers else ''}")
    facts += _listed("Root ports", ports)
    functions = [(one.address, machine.functions.get(one.address)) for one in device.requesters]
    facts += _listed("Requesters", (f"{address}  {UNKNOWN if one is None else one.called}" for address, one in functions))
    for name, value in facts:
        table.add_row(name, value)
    return table


def _listed(name: str, values: Iterable[str]) -> list[tuple[str, str]]:
    lines = [clean(value) for value in values] or ["none"]
    return [(name, lines[0]), *(("", line) for line in lines[1:])]


def device_tree(machine: Machine) -> list[Tree]:
    """Make a tree for each group of devices: root ports, switches, endpoints, each function with its names and its link."""
    from rich.tree import Tree

    trees = []
    children = machine.children
    for group in device_groups(machine):
        titles = []
        for device in group:
            facts = (("PCI", device.pci), ("NUMA node", device.numa_node), ("CPUs", cpu_text(device)))
            titles.append(f"{clean(device.name)}  {', '.join(f'{name} {_text(value)}' for name, value in facts)}")
        tree = Tree("\n".join(titles) + ("" if group[0].ports_known else f"\n({PORTS_UNKNOWN})"))
        for one in group[0].root_ports:
            function = machine.functions.get(one.address)
            if function is None:
                tree.add(str(one.address))
            else:
                _branch(machine, children, tree, function, {one.address})
        if not group[0].root_ports:
            tree.add("no root ports")
        trees.append(tree)
    return trees


def cpu_text(device: PttDevice) -> str:
    """Describe the CPUs that can record a device; where all of them are offline, say so."""
    if device.offline_cpus and not device.cpus:
        return f"{format_cpus(device.offline_cpus)} (offline)"
    return format_cpus(device.cpus) or UNKNOWN


def _branch(
    machine: Machine, children: Mapping[PciAddress, list[PciFunction]], tree: Tree, function: PciFunction, above: set[PciAddress]
) -> None:
    lines = [f"{function.address}  {function.names}"]
    if function.physical is not None:
        lines[0] += f"  (virtual function of {function.physical})"
    link = link_words(machine, function)
    below = [child for child in children.get(function.address, []) if child.address not in above and len(above) <= MAX_BUSES_ABOVE]
    empty = "nothing behind it" if not below and function.secondary is not None else None
    if link or empty:
        lines.append("; ".join(filter(None, (link, empty))))
    branch = tree.add("\n".join(clean(line) for line in lines))
    for child in below:
        _branch(machine, children, branch, child, above | {child.address})


def filter_sections(machine: Machine) -> Iterator[tuple[str, Table | None]]:
    """Yield a heading and a table for each device and kind of filter; no table where there are no filters."""
    width = max((len(", ".join(function.kernel_names)) for function in machine.functions.values()), default=0)
    for group in device_groups(machine):
        *most, last = [clean(device.name) for device in group]
        names = f"{', '.join(most)} or {last}" if most else last
        for kind, filters in ((ROOT_PORT, group[0].root_ports), (REQUESTER, group[0].requesters)):
            multiselect = COMBINE[group[0].multiselect.of(kind, unknown=kind == ROOT_PORT)]
            computed = "; computed from the PCI addresses" if filters and all(one.computed for one in filters) else ""
            heading = f"{names}: {kind}s ({multiselect}{computed})"
            if not filters:
                yield f"{heading}: none", None
                continue
            heads = ("Value", "Address", "Behind it" if kind == ROOT_PORT else "Names", "PCI name")
            table = plain_table(heads, whole=heads[:2])
            table.columns[2].min_width = min(width, 14)
            for one in filters:
                function = machine.functions.get(one.address)
                behind = words_behind(machine, one.address)
                called = behind if kind == ROOT_PORT else ", ".join(function.kernel_names) if function is not None else UNKNOWN
                table.add_row(
                    f"{one.value:#07x}", str(one.address), clean(called), clean(function.name) if function is not None else UNKNOWN
                )
            yield heading, table
