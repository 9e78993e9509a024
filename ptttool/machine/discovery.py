"""Find the PTT devices of a machine and everything sysfs says about them.

Sources: the driver's sysfs ABI (Documentation/ABI/testing/sysfs-bus-event_source-devices-hisi_ptt) and its kernel document
(Documentation/trace/hisi-ptt.rst).
"""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping
from dataclasses import replace

from ptttool.errors import DeviceError
from ptttool.machine.model import REQUESTER, ROOT_PORT, Filter, FormatTerm, Machine, PciFunction, PttDevice, TuneAttribute
from ptttool.machine.pci_functions import read_functions, readable
from ptttool.machine.pmu import PMU_PREFIX, device_numbers, requester_value, root_port_value
from ptttool.machine.sources.contract import Source
from ptttool.machine.topology import is_bridge
from ptttool.pci import PciAddress

PTT_ID = (0x19E5, 0xA12E)
FOLDERS = {ROOT_PORT: "root_port_filters", REQUESTER: "requester_filters"}
# What the driver's files say, and all documents: root ports may be or-ed, a requester stands alone.
DOCUMENTED_MULTISELECT = {ROOT_PORT: True, REQUESTER: False}


def read_machine(source: Source, *, tune: bool = True) -> Machine:
    """All PTT devices and PCI functions of a machine.

    What cannot be read is left out and said in the notes; a machine without PTT devices gives an empty one. ``tune``: read the
    values of the tune attributes too (a device that does not answer takes a second).
    """
    functions, notes = read_functions(source)
    if not functions:
        notes.append("no PCI functions are recorded" if not source.live else "no PCI functions were found")
    devices: list[PttDevice] = []
    for path in source.devices("event_source"):
        if path.rsplit("/", 1)[1].startswith(PMU_PREFIX):
            try:
                devices.append(_read_device(source, path, functions, tune=tune))
            except OSError as error:
                reason = "gone" if error.errno in (errno.ENOENT, errno.ENODEV) else _reason(error)
                notes.append(f"{readable(path)}: listed, but {reason}: left out")
    devices = _match_pci(source, devices, functions)
    devices = [device if _has_filters(source, device) else _compute_filters(device, functions) for device in devices]
    devices.sort(key=lambda device: (device.sicl is None, device.sicl, device.core, device.name))
    kernel = _first_line(source, "/proc/sys/kernel/osrelease")
    hostname = _first_line(source, "/proc/sys/kernel/hostname")
    return Machine(readable(source.origin), tuple(devices), functions, kernel, hostname, tuple(notes))


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """A kernel CPU list (``0-1,4``). Raises ValueError for anything else."""
    cpus: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part)
        if match is None:
            raise ValueError(f"no list of CPUs: {text!r}")
        cpus.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return tuple(sorted(cpus))


def explain_absence(source: Source, machine: Machine) -> DeviceError:
    """Why there is no PTT device, as far as the machine tells: no such hardware, no driver, or a driver that refused."""
    found = [function for _, function in sorted(machine.functions.items()) if (function.vendor, function.device) == PTT_ID]
    where = machine.origin
    if not found:
        return DeviceError(
            f"no PTT device on {where}: no PCI function has the ID 19e5:a12e",
            hint="PTT is a part of Kunpeng 930 processors; --demo shows a recorded one",
        )
    listed = ", ".join(str(function.address) for function in found)
    domains = {_first_line(source, f"/sys/bus/pci/devices/{function.address}/iommu_group/type") for function in found}
    if any(domain is not None and domain.startswith("DMA") for domain in domains):
        return DeviceError(
            f"no PTT device is usable on {where}: the IOMMU translates for {listed}, and the driver hisi_ptt requires direct DMA mappings",
            hint="boot with iommu.passthrough=1, then modprobe hisi_ptt",
            code="iommu-translates",
        )
    return DeviceError(
        f"no PTT device is usable on {where}: {listed} is there (19e5:a12e), but the driver hisi_ptt registered no PMU",
        hint="modprobe hisi_ptt; if the kernel log then says 'requires direct DMA mappings', boot with iommu.passthrough=1",
        code="no-driver",
    )


def _read_device(source: Source, path: str, functions: Mapping[PciAddress, PciFunction], *, tune: bool) -> PttDevice:
    """One device. Raises OSError where its folder is gone."""
    inside = source.names(path)
    name = readable(path.rsplit("/", 1)[1])
    notes: list[str] = []
    numbers = device_numbers(name)
    if numbers is None:
        notes.append("the name does not tell SICL and core")
    cpumask = _attribute(source, path, "cpumask", notes)
    try:
        cpus = parse_cpu_list(cpumask or "")
    except ValueError as error:
        cpus = ()
        notes.append(f"cpumask: {error}")
    pmu_type = _attribute(source, path, "type", notes)
    pci = next((found for part in path.split("/")[::-1] if (found := PciAddress.try_parse(part)) is not None), None)
    function = functions.get(pci) if pci is not None else None
    filters = {kind: _read_filters(source, path, kind, notes) for kind in FOLDERS if FOLDERS[kind] in inside}
    return PttDevice(
        name=name,
        sicl=numbers[0] if numbers else None,
        core=numbers[1] if numbers else None,
        sysfs=readable(path),
        pci=pci,
        numa_node=function.numa_node if function is not None else None,
        cpus=cpus,
        pmu_type=int(pmu_type) if pmu_type is not None and re.fullmatch("[0-9]{1,10}", pmu_type) else None,
        format=_read_format(source, path, notes),
        root_ports=filters.get(ROOT_PORT, ()),
        requesters=filters.get(REQUESTER, ()),
        multiselect=_read_multiselect(source, path, filters, notes),
        tune=_read_tune(source, path, notes, values=tune),
        notes=tuple(notes),
    )


def _reason(error: OSError) -> str:
    words = error.strerror or str(error)
    return f"{words} (needs root)" if isinstance(error, PermissionError) else words


def _first_line(source: Source, path: str) -> str | None:
    try:
        return readable(source.read(path)).partition("\n")[0] or None
    except OSError:
        return None


def _attribute(source: Source, path: str, name: str, notes: list[str]) -> str | None:
    try:
        return readable(source.read(f"{path}/{name}")).strip()
    except OSError as error:
        notes.append(f"{name}: {_reason(error)}")
        return None


def _list(source: Source, path: str, name: str, notes: list[str]) -> list[str]:
    try:
        return source.names(f"{path}/{name}")
    except OSError as error:
        notes.append(f"{name}: {_reason(error)}")
        return []


def _read_format(source: Source, path: str, notes: list[str]) -> dict[str, FormatTerm]:
    terms: dict[str, FormatTerm] = {}
    for name in _list(source, path, "format", notes):
        text = _attribute(source, f"{path}/format", name, notes)
        if text is None:
            continue
        match = re.fullmatch(r"(config\d?):(\d{1,2})(?:-(\d{1,2}))?", text)
        if match is None or not int(match[2]) <= int(match[3] or match[2]) <= 63:
            notes.append(f"format/{readable(name)}: {text!r} is not understood, the term is left out")
            continue
        terms[readable(name)] = FormatTerm(readable(name), match[1], int(match[2]), int(match[3] or match[2]))
    return terms


def _value_of(kind: str, address: PciAddress) -> int:
    """The filter value as the driver computes it."""
    return root_port_value(address) if kind == ROOT_PORT else requester_value(address)


def _read_filters(source: Source, path: str, kind: str, notes: list[str]) -> tuple[Filter, ...]:
    """The filters a folder names; a file that may not be read does not hide its name, and the name gives the value."""
    filters: list[Filter] = []
    problems: dict[str, int] = {}
    for name in _list(source, path, FOLDERS[kind], notes):
        address = PciAddress.try_parse(name)
        if address is None:
            if name != "multiselect":
                notes.append(f"{FOLDERS[kind]}/{readable(name)}: no PCI address")
            continue
        try:
            text = readable(source.read(f"{path}/{FOLDERS[kind]}/{name}")).strip()
            value = int(text, 16)
            if value >> 20:
                raise ValueError("more than the 20 bits of a filter")
            filters.append(Filter(kind, address, value))
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENODEV):
                continue  # the device was removed meanwhile
            problems[_reason(error)] = problems.get(_reason(error), 0) + 1
            filters.append(Filter(kind, address, _value_of(kind, address), computed=True))
        except ValueError:
            notes.append(f"{FOLDERS[kind]}/{name}: {text!r} is no filter value; computed from the PCI address")
            filters.append(Filter(kind, address, _value_of(kind, address), computed=True))
    for reason, count in problems.items():
        notes.append(f"{FOLDERS[kind]}: {reason} ({count} {'file' if count == 1 else 'files'}); values computed from the PCI addresses")
    return tuple(sorted(filters, key=lambda one: one.address))


def _read_multiselect(source: Source, path: str, kinds: Mapping[str, object], notes: list[str]) -> dict[str, bool]:
    multiselect = dict(DOCUMENTED_MULTISELECT)
    for kind in kinds:
        try:
            multiselect[kind] = source.read(f"{path}/{FOLDERS[kind]}/multiselect").strip() == "1"
        except OSError as error:
            notes.append(f"{FOLDERS[kind]}/multiselect: {_reason(error)}; taken from the kernel's document")
    return multiselect


def _read_tune(source: Source, path: str, notes: list[str], *, values: bool) -> tuple[TuneAttribute, ...]:
    attributes: list[TuneAttribute] = []
    silent: str | None = None
    for name in _list(source, path, "tune", notes):
        shown = readable(name)
        if not values:
            attributes.append(TuneAttribute(shown, problem="not read"))
            continue
        if silent is not None:
            # All attributes go through the same registers: one that hangs has them all hang, a second each.
            attributes.append(TuneAttribute(shown, problem=f"not read, since the device did not answer for {silent}"))
            continue
        try:
            text = readable(source.read(f"{path}/tune/{name}")).strip()
            attributes.append(TuneAttribute(shown, int(text)))
        except OSError as error:
            if error.errno == errno.ETIMEDOUT:
                silent = shown
                attributes.append(TuneAttribute(shown, problem="the device did not answer within a second (ETIMEDOUT)"))
            elif error.errno not in (errno.ENOENT, errno.ENODEV):
                attributes.append(TuneAttribute(shown, problem=_reason(error)))
        except ValueError:
            attributes.append(TuneAttribute(shown, problem=f"holds no number: {text!r}"))
    return tuple(attributes)


def _match_pci(source: Source, devices: list[PttDevice], functions: Mapping[PciAddress, PciFunction]) -> list[PttDevice]:
    """PCI addresses for devices whose sysfs path does not tell (kernels before 6.5 or so).

    The driver sets a PMU's cpumask to the CPUs of its PCI function's NUMA node, and sysfs gives each function's too: where one free
    function and one such device share them, they belong together.
    """
    taken = {device.pci for device in devices}
    if None not in taken:
        return devices
    paths = {PciAddress.try_parse(path.rsplit("/", 1)[1]): path for path in source.devices("pci")}
    free: dict[PciAddress, tuple[int, ...]] = {}
    for address, function in functions.items():
        if (function.vendor, function.device) == PTT_ID and address not in taken:
            try:
                free[address] = parse_cpu_list(_first_line(source, f"{paths.get(address)}/local_cpulist") or "")
            except ValueError:
                free[address] = ()
    alike = [device.cpus for device in devices if device.pci is None]
    return [device if device.pci is not None else _match_one(device, free, alike, functions) for device in devices]


def _match_one(
    device: PttDevice,
    free: Mapping[PciAddress, tuple[int, ...]],
    alike: list[tuple[int, ...]],
    functions: Mapping[PciAddress, PciFunction],
) -> PttDevice:
    candidates = sorted(address for address, cpus in free.items() if cpus and cpus == device.cpus)
    nodes = {functions[address].numa_node for address in candidates}
    node = nodes.pop() if len(nodes) == 1 else None
    if len(candidates) == 1 and alike.count(device.cpus) == 1:
        note = f"this kernel does not link the PMU to its PCI function: {candidates[0]} is the only one with the same CPUs"
        return replace(device, pci=candidates[0], numa_node=node, notes=(*device.notes, note))
    which = f": one of {', '.join(map(str, candidates))}" if candidates else ""
    note = f"this kernel does not link the PMU to its PCI function, so that its PCI address is unknown{which}"
    return replace(device, numa_node=node, notes=(*device.notes, note))


def _has_filters(source: Source, device: PttDevice) -> bool:
    if device.filters:
        return True
    try:
        return bool(set(FOLDERS.values()) & set(source.names(device.sysfs)))
    except OSError:
        return True


def _compute_filters(device: PttDevice, functions: Mapping[PciAddress, PciFunction]) -> PttDevice:
    """Filters on a kernel without filter files (before 6.5).

    Which root ports belong to a device, the driver reads from a device register that sysfs does not show. It takes root ports of
    the PTT's PCI domain only, and a PCIe core lies on one NUMA node: what is neither of another domain nor of another node may be its.
    """
    domains = {
        address.domain
        for address, f in functions.items()
        if (f.vendor, f.device) == PTT_ID and device.pci in (None, address) and f.numa_node in (None, device.numa_node)
    }
    ports = [
        address
        for address, f in sorted(functions.items())
        if address.domain in domains
        and is_bridge(f)
        and f.parent is None
        and (f.numa_node is None or device.numa_node is None or f.numa_node == device.numa_node)
    ]
    wanted = set(ports)
    machine = Machine("", functions=functions)
    below = [address for address in sorted(functions) if machine.root_port_of(address) in wanted]
    note = (
        "this kernel has no filter files: filters are computed from the PCI addresses, and which root ports are this device's is not told; "
        "the kernel refuses those that are not"
    )
    return replace(
        device,
        root_ports=tuple(Filter(ROOT_PORT, address, _value_of(ROOT_PORT, address), computed=True) for address in ports),
        requesters=tuple(Filter(REQUESTER, address, _value_of(REQUESTER, address), computed=True) for address in below),
        ports_known=False,
        notes=(*device.notes, note),
    )
