"""The files of a fake machine, as the kernel and udev lay them out."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ptttool.machine.cpus import format_cpus, parse_cpu_list
from ptttool.machine.model import Link
from ptttool.machine.pmu import requester_value, root_port_value
from ptttool.testing.attribute import Attribute, Constant, FakeTuneAttribute
from ptttool.testing.description import FakeFunction, FakePort, FakePtt, MachineDescription, idle

# Modes of files; the recorded machines have the same (modes.txt).
TUNE_MODE, FILTER_MODE, PLAIN_MODE = 0o600, 0o400, 0o444


@dataclass
class Tree:
    """Absolute path to what is there.

    Attributes
    ----------
    files : dict
        Path to attribute.
    links : dict
        Path to the target of a symbolic link.
    modes : dict
        Path to mode, of those files that not everybody reads.
    properties : dict
        Path of a device to its udev properties.
    """

    files: dict[str, Attribute] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    modes: dict[str, int] = field(default_factory=dict)
    properties: dict[str, dict[str, str]] = field(default_factory=dict)

    def put(self, path: str, text: str | bytes, mode: int = PLAIN_MODE) -> None:
        """Add a file that is only read; a text gets a final newline."""
        self.files[path] = Constant(text if isinstance(text, bytes) else f"{text}\n".encode() if text else b"")
        if mode != PLAIN_MODE:
            self.modes[path] = mode

    def link(self, path: str, target: str) -> None:
        """Add a link; ``target`` is absolute, the link relative as the kernel makes it."""
        self.links[path] = relative(path, target)

    def device(self, path: str, subsystem: str, properties: dict[str, str] | None = None) -> None:
        """Make a folder a device of a subsystem for udev."""
        shown = {"DEVPATH": path.removeprefix("/sys"), "SUBSYSTEM": subsystem, **(properties or {})}
        if "DEVNAME" in shown:
            shown["DEVNAME"] = f"/dev/{shown['DEVNAME']}"
        self.properties[path] = shown

    def database(self) -> str:
        """Return the text that ``udevadm info --export-db`` would print."""
        blocks = []
        for path, properties in sorted(self.properties.items()):
            lines = [f"P: {path.removeprefix('/sys')}", f"M: {path.rpartition('/')[2]}", f"U: {properties['SUBSYSTEM']}"]
            blocks.append("\n".join([*lines, *(f"E: {name}={value}" for name, value in properties.items())]))
        return "\n\n".join(blocks) + "\n"


def relative(path: str, target: str) -> str:
    """Return the target of a link in sysfs: up to a folder that is above both, then down."""
    here, there = path.split("/")[1:-1], target.split("/")[1:]
    common = 0
    while common < min(len(here), len(there) - 1) and here[common] == there[common]:
        common += 1
    return "/".join([".."] * (len(here) - common) + there[common:])


def render(machine: MachineDescription) -> Tree:
    """Return everything that the machine shows."""
    tree = Tree()
    tree.put("/proc/sys/kernel/hostname", machine.hostname)
    tree.put("/proc/sys/kernel/osrelease", machine.kernel.release)
    _put_system(tree, machine)
    for name, (number, folder) in machine.pmus.items():
        path = f"/sys/devices/{folder}"
        tree.put(f"{path}/type", str(number))
        _put_pmu(tree, path, name)
        if folder != name:
            tree.put(f"{path}/cpus", format_cpus(machine.cpus))
        for file, text in machine.pmu_files.get(name, {}).items():
            tree.put(f"{path}/{file}", text)
    free = _free_buses(machine)
    for function in machine.functions:
        _put_function(tree, machine, function, machine.bus_folder(function.address), free)
    if machine.driver_loaded:
        tree.put("/sys/module/hisi_ptt/initstate", "live")
        tree.put("/sys/module/hisi_ptt/refcnt", "0")
        for ptt in machine.ptts.values():
            _put_ptt(tree, machine, ptt)
    else:  # sysfs lists other modules, too
        tree.put("/sys/module/kernel/parameters/panic", "0")
    return tree


def _put_system(tree: Tree, machine: MachineDescription) -> None:
    for name in ("online", "possible", "present"):
        cpus = machine.online() if name == "online" else machine.cpus
        tree.put(f"/sys/devices/system/cpu/{name}", format_cpus(cpus))
    for name in ("online", "possible"):
        tree.put(f"/sys/devices/system/node/{name}", format_cpus(machine.nodes))
    for node, all_cpus in machine.nodes.items():
        folder = f"/sys/devices/system/node/node{node}"
        tree.put(f"{folder}/cpulist", format_cpus(machine.online(node)))
        for cpu in parse_cpu_list(all_cpus) if machine.offline_cpus else ():
            tree.link(f"{folder}/cpu{cpu}", f"/sys/devices/system/cpu/cpu{cpu}")
            tree.put(f"/sys/devices/system/cpu/cpu{cpu}/online", str(int(cpu not in machine.offline_cpus)))


def _put_pmu(tree: Tree, path: str, name: str) -> None:
    tree.put(f"{path}/uevent", "")
    tree.link(f"{path}/subsystem", "/sys/bus/event_source")
    tree.link(f"/sys/bus/event_source/devices/{name}", path)
    tree.device(path, "event_source")


def _free_buses(machine: MachineDescription) -> list[int]:
    """Buses for ports with nothing behind them, the last one first."""
    functions = machine.all_functions
    used = {function.address.bus for function in functions} | {f.bus for f in functions if isinstance(f, FakePort)}
    return [bus for bus in range(255, 0, -1) if bus not in used]


def _buses(port: FakePort, free: list[int]) -> tuple[int, int]:
    """First and last bus behind a port."""
    first = port.bus
    if first is None:
        first = min((function.address.bus for function in port.behind), default=0) or free.pop()
    inner = [_buses(function, free)[1] for function in port.behind if isinstance(function, FakePort)]
    return first, max([first, *(function.address.bus for function in port.behind), *inner])


def _put_function(tree: Tree, machine: MachineDescription, function: FakeFunction, above: str, free: list[int]) -> None:
    path = f"{above}/{function.address}"
    hardware = function.hardware
    if isinstance(function, FakePort) and not function.behind:
        hardware = idle(hardware)
    driver = None if isinstance(function, FakePtt) and not machine.driver_loaded else hardware.driver
    node = function.numa_node
    cpus = machine.online(node)
    link = hardware.link or Link(None, None, None, None)
    shown = {
        "vendor": f"0x{hardware.vendor:04x}",
        "device": f"0x{hardware.device:04x}",
        "class": f"0x{hardware.class_code:06x}",
        "revision": f"0x{hardware.revision:02x}",
        "subsystem_vendor": f"0x{hardware.subsystem_vendor:04x}",
        "subsystem_device": f"0x{hardware.subsystem_device:04x}",
        "modalias": hardware.modalias,
        "ari_enabled": 0,
        "numa_node": -1 if node is None else node,
        "local_cpulist": format_cpus(cpus),
        "local_cpus": cpu_mask(cpus, machine.cpus),
        "current_link_speed": link.speed,
        "current_link_width": link.width,
        "max_link_speed": link.max_speed,
        "max_link_width": link.max_width,
    }
    for name, value in shown.items():
        if value is not None:
            tree.put(f"{path}/{name}", str(value))
    uevent = {
        "PCI_CLASS": f"{hardware.class_code:X}",
        "PCI_ID": f"{hardware.vendor:04X}:{hardware.device:04X}",
        "PCI_SUBSYS_ID": f"{hardware.subsystem_vendor:04X}:{hardware.subsystem_device:04X}",
        "PCI_SLOT_NAME": str(function.address),
        "MODALIAS": hardware.modalias,
    }
    if driver is not None:
        uevent = {"DRIVER": driver, **uevent}
        tree.link(f"{path}/driver", f"/sys/bus/pci/drivers/{driver}")
    tree.put(f"{path}/uevent", "\n".join(f"{name}={value}" for name, value in uevent.items()))
    names = {"ID_VENDOR_FROM_DATABASE": hardware.vendor_name, "ID_MODEL_FROM_DATABASE": hardware.device_name}
    tree.device(path, "pci", uevent | {name: value for name, value in names.items() if value is not None})
    tree.link(f"{path}/subsystem", "/sys/bus/pci")
    tree.link(f"/sys/bus/pci/devices/{function.address}", path)
    if function.physical is not None:
        tree.link(f"{path}/physfn", path.replace(str(function.address), str(function.physical)))
    if isinstance(function, FakePtt) and machine.iommu is not None:
        tree.put(f"{path}/iommu_group/type", machine.iommu)
    _put_bridge(tree, machine, function, path, free)
    _put_class_devices(tree, function, path)
    for name, text in function.files.items():
        tree.put(f"{path}/{name}", text)


def _put_bridge(tree: Tree, machine: MachineDescription, function: FakeFunction, path: str, free: list[int]) -> None:
    """Bus numbers, the configuration space that holds them, and what is behind."""
    hardware = function.hardware
    config = bytearray(256 if hardware.link is None else 4096)
    config[0:4] = hardware.vendor.to_bytes(2, "little") + hardware.device.to_bytes(2, "little")
    config[8:12] = bytes([hardware.revision]) + hardware.class_code.to_bytes(3, "little")
    if isinstance(function, FakePort):
        first, last = _buses(function, free)
        tree.put(f"{path}/secondary_bus_number", str(first))
        tree.put(f"{path}/subordinate_bus_number", str(last))
        config[0x0E] = 1
        config[0x18:0x1B] = bytes([function.address.bus, first, last])
        for below in function.behind:
            _put_function(tree, machine, below, path, free)
    else:
        if hardware.is_integrated:  # a capability of PCI Express, version 2, type 9
            config[0x06], config[0x34], config[0x40:0x44] = 0x10, 0x40, bytes([0x10, 0, 0x92, 0])
        config[0x2C:0x30] = hardware.subsystem_vendor.to_bytes(2, "little") + hardware.subsystem_device.to_bytes(2, "little")
    tree.put(f"{path}/config", bytes(config), 0o644)


def _put_class_devices(tree: Tree, function: FakeFunction, path: str) -> None:
    for device in function.class_devices:
        folder = f"{path}/{device.folder}"
        for name, text in device.files.items():
            tree.put(f"{folder}/{name}", text)
        tree.files.setdefault(f"{folder}/uevent", Constant(b""))
        tree.link(f"{folder}/subsystem", f"/sys/class/{device.subsystem}")
        tree.link(f"{folder}/device", path if device.device == "." else f"{path}/{device.device}")
        tree.link(f"/sys/class/{device.subsystem}/{device.name}", folder)
        pairs = (line.partition("=") for line in device.files.get("uevent", "").split("\n") if line)
        tree.device(folder, device.subsystem, {name: value for name, _, value in pairs})


def _put_ptt(tree: Tree, machine: MachineDescription, ptt: FakePtt) -> None:
    path = ptt.folder
    _put_pmu(tree, path, ptt.name)
    tree.put(f"{path}/type", str(ptt.pmu_type))
    cpus = ptt.cpus if ptt.cpus is not None else format_cpus(machine.online(ptt.numa_node))
    tree.put(f"{path}/cpumask", cpus)
    tree.put(f"{path}/perf_event_mux_interval_ms", str(machine.kernel.mux_interval))
    for name, bits in ptt.format.items():
        tree.put(f"{path}/format/{name}", bits)
    for name, attribute in ptt.tune.items():
        tree.files[f"{path}/tune/{name}"] = attribute
        tree.modes[f"{path}/tune/{name}"] = TUNE_MODE
    if machine.kernel.has_filter_files:
        tree.put(f"{path}/root_port_filters/multiselect", "1", FILTER_MODE)
        tree.put(f"{path}/requester_filters/multiselect", "0", FILTER_MODE)
        for port in ptt.root_ports:
            tree.put(f"{path}/root_port_filters/{port.address}", f"0x{root_port_value(port.address):05x}", FILTER_MODE)
        for requester in ptt.requesters:
            tree.put(f"{path}/requester_filters/{requester.address}", f"0x{requester_value(requester.address):05x}", FILTER_MODE)


def cpu_mask(cpus: Iterable[int], possible: Iterable[int]) -> str:
    """Return CPUs as the kernel prints a mask: groups of eight hexadecimal digits, as many as the machine needs."""
    mask = sum(1 << cpu for cpu in cpus)
    width = max(possible, default=0) + 1
    groups = [f"{mask >> shift & 0xFFFFFFFF:08x}" for shift in range(0, width, 32)][::-1]
    groups[0] = groups[0][-max(1, -(-(width % 32 or 32) // 4)) :]
    return ",".join(groups)


def write_tree(tree: Tree, folder: str) -> str:
    """Write a tree into a real folder, as plain files and links with the modes of the machine."""
    root = Path(folder)
    for path, attribute in tree.files.items():
        file = root / path[1:]
        file.parent.mkdir(parents=True, exist_ok=True)
        content = f"{attribute.value}\n".encode() if isinstance(attribute, FakeTuneAttribute) else attribute.show()
        file.write_bytes(content)
        file.chmod(tree.modes.get(path, PLAIN_MODE))
    for path, target in tree.links.items():
        file = root / path[1:]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.symlink_to(target)
    (root / "udev.txt").write_text(tree.database(), encoding="utf-8")
    return os.fspath(root)


def read_attributes(machine: MachineDescription, folder: str) -> dict[str, str]:
    """Return the text of every tune attribute in a folder that :func:`write_tree` made."""
    return {
        f"{ptt.name}/{name}": Path(f"{folder}{ptt.folder}/tune/{name}").read_text(encoding="utf-8").removesuffix("\n")
        for ptt in machine.ptts.values()
        for name in ptt.tune
    }
