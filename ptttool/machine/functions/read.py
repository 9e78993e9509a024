"""The PCI functions of a machine: their place in the tree, what they are, and the kernel's names for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress

from msgspec.structs import replace

from ptttool.budget import over_budget
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.machine.budget import MAX_FUNCTIONS
from ptttool.machine.functions.names import look_up
from ptttool.machine.model import Hex16, Hex24, Link, PciFunction
from ptttool.machine.sources.contract import Source, or_none
from ptttool.machine.topology import FUNCTIONS_GONE, is_bridge
from ptttool.pci import PciAddress
from ptttool.wording import shortened

# Subsystems with names that people use, in the order in which the names are shown.
NAMED = ("net", "nvme", "block", "infiniband", "scsi_host")
# Offsets in a bridge's configuration space (PCIe Base Specification, type 1 header).
SECONDARY_BUS, SUBORDINATE_BUS = 0x19, 0x1A
# sysfs writes this where a function has no link at all.
NO_WIDTH = 255
# Digits of a number in sysfs: no value has more than 64 bits.
_LONGEST_NUMBER = 24
# Characters of a list in a message.
_MOST_LISTED = 400


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
        if len(functions) + len(gone) >= MAX_FUNCTIONS:
            raise over_budget(source.origin, "PCI functions", MAX_FUNCTIONS, "functions", hint="is it a copy of a real machine?")
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
    message = f"{shortened(', '.join(gone), _MOST_LISTED)}: listed among the PCI functions, but gone (or not recorded)"
    return functions, [Diagnostic(Severity.WARNING, FUNCTIONS_GONE, message, details={"functions": gone})]


def _read_function(source: Source, path: str, address: PciAddress, properties: Mapping[str, str]) -> PciFunction:
    def text(name: str) -> str | None:
        content = or_none(source.read, f"{path}/{name}")
        return None if content is None else readable(content)

    vendor, device = _number(text("vendor"), 16), _number(text("device"), 16)
    class_code = _number(text("class"), 16)
    if vendor is None:
        vendor, _, device = (_number(part or None, 16) for part in properties.get("PCI_ID", "").partition(":"))
    if class_code is None:
        class_code = _number(properties.get("PCI_CLASS"), 16)
    node = _number(text("numa_node"), 10)
    function = PciFunction(
        address=address,
        vendor=None if vendor is None else Hex16(vendor),
        device=None if device is None else Hex16(device),
        class_code=None if class_code is None else Hex24(class_code),
        name="",
        driver=_driver(source, path, properties),
        numa_node=None if node is None or node < 0 else node,
        link=_link(text("current_link_speed"), text("current_link_width"), text("max_link_speed"), text("max_link_width")),
        parent=PciAddress.try_parse(path.split("/")[-2]),
        physical=physical_of(source, path),
    )
    if not is_bridge(function):
        return function
    secondary, subordinate = _number(text("secondary_bus_number"), 10), _number(text("subordinate_bus_number"), 10)
    if secondary is None or subordinate is None:
        config = (or_none(source.read, f"{path}/config") or "").encode("utf-8", "surrogateescape")
        if len(config) > SUBORDINATE_BUS:
            secondary, subordinate = config[SECONDARY_BUS], config[SUBORDINATE_BUS]
    return replace(function, secondary=secondary, subordinate=subordinate)


def physical_of(source: Source, path: str) -> PciAddress | None:
    """Return the physical function that the link ``physfn`` of a virtual one names; None for other functions.

    Only the address is taken from it: the link of a hostile tree can lead anywhere.
    """
    target = or_none(source.resolve, f"{path}/physfn")
    address = None if target is None else PciAddress.try_parse(_last(f"/{target}"))
    return None if address == PciAddress.try_parse(_last(path)) else address


def _last(path: str) -> str:
    return path.rsplit("/", 1)[1]


def _number(text: str | None, base: int) -> int | None:
    try:
        return None if text is None or len(text) > _LONGEST_NUMBER else int(text, base)
    except ValueError:
        return None


def _driver(source: Source, path: str, properties: Mapping[str, str]) -> str | None:
    if properties.get("DRIVER"):
        return readable(properties["DRIVER"])
    target = or_none(source.resolve, f"{path}/driver")
    return None if target in (None, f"{path}/driver") else readable(_last(target))


def _link(speed: str | None, width: str | None, max_speed: str | None, max_width: str | None) -> Link | None:
    link = Link(speed, _number(width, 10), max_speed, _number(max_width, 10))
    if link.max_width == NO_WIDTH or link == Link(None, None, None, None):
        return None
    return link


def _name(functions: dict[PciAddress, PciFunction], names: Mapping[PciAddress, tuple[str | None, str | None]]) -> None:
    """Name vendor and device: in the words of udev, else of pci.ids, else by numbers, as lspci does."""
    pairs = {address: (f.vendor, f.device) for address, f in functions.items() if f.vendor is not None and f.device is not None}
    vendors, devices = look_up({pair for address, pair in pairs.items() if None in names[address]})
    for address, function in functions.items():
        vendor, model = names[address]
        pair = pairs.get(address)
        if pair is not None:
            vendor = vendor or vendors.get(pair[0])
            model = model or devices.get(pair)
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
    kernel_names: dict[PciAddress, dict[str, None]] = {}
    controllers: dict[str, list[PciAddress]] = {}  # by the folder of an NVMe disk
    for subsystem in NAMED:
        paths = source.devices(subsystem)
        folders = set(paths)
        for path in paths:
            name = readable(_last(path))
            is_partition = subsystem == "block" and path.rsplit("/", 1)[0] in folders
            # nvme0c0n1 is one path of a multipath disk, hidden; nvme0n1 is the disk.
            if is_partition or re.fullmatch(r"nvme\d+c\d+n\d+", name):
                continue
            for owner in _owners(source, path, controllers):
                if owner in functions:
                    kernel_names.setdefault(owner, {})[name] = None
    for address, names in kernel_names.items():
        functions[address] = replace(functions[address], kernel_names=tuple(names))


def _owners(source: Source, path: str, controllers: dict[str, list[PciAddress]]) -> list[PciAddress]:
    """Find the PCI function that a device is on; several for an NVMe disk with more than one controller.

    The folders of disks that have several controllers are kept in `controllers`: such a disk has a path for each of them.
    """
    above = nearest_function(path)
    if above is not None:
        return [above]
    folder, _, _ = path.rpartition("/")
    if "/nvme-subsystem/" not in f"{folder}/":
        return []
    if folder not in controllers:
        controllers[folder] = _controllers(source, folder)
    return controllers[folder]


def nearest_function(path: str) -> PciAddress | None:
    """Return the last PCI address in a path."""
    return next((address for part in reversed(path.split("/")) if (address := PciAddress.try_parse(part)) is not None), None)


def _controllers(source: Source, folder: str) -> list[PciAddress]:
    owners: list[PciAddress] = []
    with suppress(OSError):  # gone meanwhile
        for controller in source.names(folder):
            if re.fullmatch(r"nvme\d+", controller):
                owner = nearest_function(source.resolve(f"{folder}/{controller}"))
                owners += [] if owner is None else [owner]
    return owners
