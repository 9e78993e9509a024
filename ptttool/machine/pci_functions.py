"""The PCI functions of a machine: their place in the tree, what they are, and the kernel's names for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from ptttool.diagnostics import Diagnostic, Severity
from ptttool.machine import pci_names
from ptttool.machine.model import Link, PciFunction
from ptttool.machine.sources.contract import Source
from ptttool.machine.topology import is_bridge
from ptttool.pci import PciAddress

# Subsystems with names that people use, in the order in which the names are shown.
NAMED = ("net", "nvme", "block", "infiniband", "scsi_host")
# Offsets in a bridge's configuration space (PCIe Base Specification, type 1 header).
SECONDARY_BUS, SUBORDINATE_BUS = 0x19, 0x1A
# sysfs writes this where a function has no link at all.
NO_WIDTH = 255


def readable(text: str) -> str:
    """Replace bytes that are not UTF-8 in text from sysfs. Control characters stay: what prints the text guards the terminal."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def read_functions(source: Source) -> tuple[dict[PciAddress, PciFunction], list[Diagnostic]]:
    """Read all PCI functions of a machine.

    Returns
    -------
    functions : dict
        The functions by address; one that goes away meanwhile is left out.
    diagnostics : list of Diagnostic
        What is missing.
    """
    functions: dict[PciAddress, PciFunction] = {}
    names: dict[PciAddress, tuple[str | None, str | None]] = {}
    gone: list[str] = []
    for path in source.devices("pci"):
        address = PciAddress.try_parse(_last(path))
        if address is None:
            continue
        properties = source.properties(path)
        function = _read_function(source, path, address, properties)
        if function.vendor is None:
            gone.append(str(address))
            continue
        functions[address] = function
        names[address] = (properties.get("ID_VENDOR_FROM_DATABASE"), properties.get("ID_MODEL_FROM_DATABASE"))
    _name(functions, names)
    _find_parents(functions)
    _add_kernel_names(source, functions)
    if not gone:
        return functions, []
    message = f"{', '.join(gone)}: listed among the PCI functions, but gone (or not recorded)"
    return functions, [Diagnostic(Severity.WARNING, "functions-gone", message, details={"functions": gone})]


def _read_function(source: Source, path: str, address: PciAddress, properties: Mapping[str, str]) -> PciFunction:
    def text(name: str) -> str | None:
        try:
            return readable(source.read(f"{path}/{name}"))
        except OSError:
            return None

    vendor, device = _number(text("vendor"), 16), _number(text("device"), 16)
    class_code = _number(text("class"), 16)
    if vendor is None:
        vendor, _, device = (_number(part or None, 16) for part in properties.get("PCI_ID", "").partition(":"))
    if class_code is None:
        class_code = _number(properties.get("PCI_CLASS"), 16)
    node = _number(text("numa_node"), 10)
    function = PciFunction(
        address=address,
        vendor=vendor,
        device=device,
        class_code=class_code,
        name="",
        driver=_driver(source, path, properties),
        numa_node=None if node is None or node < 0 else node,
        link=_link(text("current_link_speed"), text("current_link_width"), text("max_link_speed"), text("max_link_width")),
        parent=PciAddress.try_parse(path.split("/")[-2]),
    )
    if not is_bridge(function):
        return function
    secondary, subordinate = _number(text("secondary_bus_number"), 10), _number(text("subordinate_bus_number"), 10)
    if secondary is None or subordinate is None:
        try:
            config = source.read(f"{path}/config").encode("utf-8", "surrogateescape")
        except OSError:
            config = b""
        if len(config) > SUBORDINATE_BUS:
            secondary, subordinate = config[SECONDARY_BUS], config[SUBORDINATE_BUS]
    return replace(function, secondary=secondary, subordinate=subordinate)


def _last(path: str) -> str:
    return path.rsplit("/", 1)[1]


def _number(text: str | None, base: int) -> int | None:
    try:
        return None if text is None else int(text, base)
    except ValueError:
        return None


def _driver(source: Source, path: str, properties: Mapping[str, str]) -> str | None:
    if properties.get("DRIVER"):
        return readable(properties["DRIVER"])
    try:
        target = source.resolve(f"{path}/driver")
    except OSError:
        return None
    return None if target == f"{path}/driver" else readable(_last(target))


def _link(speed: str | None, width: str | None, max_speed: str | None, max_width: str | None) -> Link | None:
    link = Link(speed, _number(width, 10), max_speed, _number(max_width, 10))
    if link.max_width == NO_WIDTH or link == Link(None, None, None, None):
        return None
    return link


def _name(functions: dict[PciAddress, PciFunction], names: Mapping[PciAddress, tuple[str | None, str | None]]) -> None:
    """Name vendor and device: in the words of udev, else of pci.ids, else by numbers, as lspci does."""
    pairs = {address: (f.vendor, f.device) for address, f in functions.items() if f.vendor is not None and f.device is not None}
    listed = pci_names.look_up({pair for address, pair in pairs.items() if None in names[address]})
    for address, function in functions.items():
        vendor, model = names[address]
        pair = pairs.get(address)
        if pair is not None:
            vendor = vendor or listed.vendors.get(pair[0])
            model = model or listed.devices.get(pair)
        numbers = f"[{function.vendor or 0:04x}:{'????' if function.device is None else f'{function.device:04x}'}]"
        name = f"{vendor} {model}" if vendor and model else " ".join(filter(None, (vendor, f"Device {numbers}")))
        functions[address] = replace(function, name=readable(name))


def _find_parents(functions: dict[PciAddress, PciFunction]) -> None:
    """Keep the parents of the sysfs paths; where a recording lost the links, take those of the bridges' bus numbers."""
    bridges = {(f.address.domain, f.secondary): address for address, f in functions.items() if f.secondary}
    for address, function in functions.items():
        parent = function.parent if function.parent in functions else bridges.get((address.domain, address.bus))
        if parent != function.parent and parent != address:
            functions[address] = replace(function, parent=parent)


def _add_kernel_names(source: Source, functions: dict[PciAddress, PciFunction]) -> None:
    """Give each function the names of the devices on it: a device is on the nearest PCI function above it in sysfs."""
    found: dict[PciAddress, list[str]] = {}
    for subsystem in NAMED:
        paths = source.devices(subsystem)
        folders = set(paths)
        for path in paths:
            name = readable(_last(path))
            is_partition = subsystem == "block" and path.rsplit("/", 1)[0] in folders
            # nvme0c0n1 is one path of a multipath disk, hidden; nvme0n1 is the disk.
            if is_partition or re.fullmatch(r"nvme\d+c\d+n\d+", name):
                continue
            for owner in _owners(source, path):
                if owner in functions and name not in found.setdefault(owner, []):
                    found[owner].append(name)
    for address, names in found.items():
        functions[address] = replace(functions[address], kernel_names=tuple(names))


def _owners(source: Source, path: str) -> list[PciAddress]:
    """Find the PCI function that a device is on; several for an NVMe disk with more than one controller."""
    above = [address for part in path.split("/") if (address := PciAddress.try_parse(part)) is not None]
    if above:
        return above[-1:]
    folder, _, _ = path.rpartition("/")
    if "/nvme-subsystem/" not in f"{folder}/":
        return []
    owners: list[PciAddress] = []
    try:
        for controller in source.names(folder):
            if re.fullmatch(r"nvme\d+", controller):
                owners += _owners(source, source.resolve(f"{folder}/{controller}"))
    except OSError:  # gone meanwhile
        return owners
    return owners
