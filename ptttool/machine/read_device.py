"""Read one PTT device from sysfs. What cannot be read is left out, and a diagnostic says so."""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping
from typing import Final

from ptttool.diagnostics import Diagnostic, Severity
from ptttool.machine.cpus import parse_cpu_list
from ptttool.machine.functions.read import nearest_function, readable
from ptttool.machine.model import REQUESTER, ROOT_PORT, Filter, FilterKind, FormatTerm, Multiselect, PciFunction, PttDevice, TuneAttribute
from ptttool.machine.pmu import device_numbers, requester_value, root_port_value
from ptttool.machine.sources.contract import Source, or_none
from ptttool.pci import PciAddress
from ptttool.wording import shortened

FOLDERS: Final = {ROOT_PORT: "root_port_filters", REQUESTER: "requester_filters"}
"""Folders of a device's filters, since Linux 6.5."""

# What the driver's files say, and all documents: root ports can be or-ed, a requester stands alone.
_DOCUMENTED_MULTISELECT = {ROOT_PORT: True, REQUESTER: False}


def read_device(source: Source, path: str, functions: Mapping[PciAddress, PciFunction], *, tune: bool) -> PttDevice:
    """Read one device.

    Parameters
    ----------
    source : Source
        The machine.
    path : str
        The device's folder in sysfs.
    functions : Mapping[PciAddress, PciFunction]
        The machine's PCI functions.
    tune : bool
        Read the values of the tune attributes.

    Raises
    ------
    OSError
        The folder is gone.
    """
    inside = source.names(path)
    folder = _Folder(source, path)
    sicl, core = device_numbers(folder.name) or (None, None)
    if sicl is None:
        folder.report("odd-name", "the name does not give SICL and core")
    cpumask = folder.text("cpumask")
    try:
        cpus = parse_cpu_list(cpumask or "")
    except ValueError as error:
        cpus = ()
        folder.report("bad-cpumask", f"cpumask: {error}")
    pmu_type = folder.text("type")
    pci = nearest_function(path)
    function = functions.get(pci) if pci is not None else None
    filters = {kind: _read_filters(folder, kind) for kind in FOLDERS if FOLDERS[kind] in inside}
    return PttDevice(
        name=folder.name,
        sicl=sicl,
        core=core,
        sysfs=readable(path),
        pci=pci,
        numa_node=function.numa_node if function is not None else None,
        cpus=cpus,
        pmu_type=int(pmu_type) if pmu_type is not None and re.fullmatch("[0-9]{1,10}", pmu_type) else None,
        format=_read_format(folder),
        root_ports=filters.get(ROOT_PORT, ()),
        requesters=filters.get(REQUESTER, ()),
        multiselect=_read_multiselect(folder, filters),
        tune=_read_tune(folder, values=tune),
        diagnostics=tuple(folder.diagnostics),
    )


def filter_value(kind: FilterKind, address: PciAddress) -> int:
    """Compute a filter's value as the driver does."""
    return root_port_value(address) if kind == ROOT_PORT else requester_value(address)


def explain_refusal(error: OSError) -> str:
    """Put an error of the system into words; one of permission says what is needed."""
    words = error.strerror or str(error)
    return f"{words} (needs root)" if isinstance(error, PermissionError) else words


def first_line(source: Source, path: str) -> str | None:
    """Read the first line of a file; None where there is none."""
    return readable(or_none(source.read, path) or "").partition("\n")[0] or None


class _Folder:
    """A device's folder in sysfs, and the diagnostics of reading it."""

    def __init__(self, source: Source, path: str) -> None:
        self.source = source
        self.path = path
        self.name = readable(path.rpartition("/")[2])
        self.diagnostics: list[Diagnostic] = []

    def report(self, code: str, message: str, **details: object) -> None:
        self.diagnostics.append(Diagnostic(Severity.WARNING, code, message, where=self.name, details=details))

    def read(self, name: str) -> str:
        return readable(self.source.read(f"{self.path}/{name}")).strip()

    def text(self, name: str) -> str | None:
        """Read an attribute; None and a diagnostic where that fails."""
        try:
            return self.read(name)
        except OSError as error:
            self.report("unreadable", f"{name}: {explain_refusal(error)}", file=name)
            return None

    def names(self, name: str) -> list[str]:
        """List a folder; nothing and a diagnostic where that fails."""
        try:
            return self.source.names(f"{self.path}/{name}")
        except OSError as error:
            self.report("unreadable", f"{name}: {explain_refusal(error)}", file=name)
            return []


def _read_format(folder: _Folder) -> dict[str, FormatTerm]:
    terms: dict[str, FormatTerm] = {}
    for name in folder.names("format"):
        text = folder.text(f"format/{name}")
        if text is None:
            continue
        shown = readable(name)
        match = re.fullmatch(r"(config\d?):(\d{1,2})(?:-(\d{1,2}))?", text)
        if match is None or not int(match[2]) <= int(match[3] or match[2]) <= 63:
            text = shortened(text)
            folder.report("unknown-format", f"format/{shown}: {text!r} is not understood, the term is left out", term=shown, text=text)
            continue
        terms[shown] = FormatTerm(match[1], int(match[2]), int(match[3] or match[2]))
    return terms


def _read_filters(folder: _Folder, kind: FilterKind) -> tuple[Filter, ...]:
    """Read the filters of a folder. The name of a file that cannot be read gives the value, too."""
    filters: list[Filter] = []
    refusals: dict[str, int] = {}
    for name in folder.names(FOLDERS[kind]):
        path = f"{FOLDERS[kind]}/{name}"
        address = PciAddress.try_parse(name)
        if address is None:
            if name != "multiselect":
                folder.report("bad-filter-name", f"{readable(path)}: not a PCI address", file=readable(path))
            continue
        try:
            text = folder.read(path)
            value = int(text, 16)
            if value >> 20:
                raise ValueError("more than the 20 bits of a filter")
            filters.append(Filter(address, value))
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENODEV):
                continue  # the function was removed meanwhile
            reason = explain_refusal(error)
            refusals[reason] = refusals.get(reason, 0) + 1
            filters.append(Filter(address, filter_value(kind, address), computed=True))
        except ValueError:
            text = shortened(text)
            folder.report(
                "bad-filter-value", f"{path}: {text!r} is not a filter value; computed from the PCI address", file=path, text=text
            )
            filters.append(Filter(address, filter_value(kind, address), computed=True))
    for reason, count in refusals.items():
        files = f"{count} {'file' if count == 1 else 'files'}"
        message = f"{FOLDERS[kind]}: {reason} ({files}); values computed from the PCI addresses"
        folder.report("unreadable-filters", message, file=FOLDERS[kind], count=count)
    return tuple(sorted(filters, key=lambda one: one.address))


def _read_multiselect(folder: _Folder, kinds: Mapping[FilterKind, object]) -> Multiselect:
    multiselect = dict(_DOCUMENTED_MULTISELECT)
    for kind in kinds:
        path = f"{FOLDERS[kind]}/multiselect"
        try:
            multiselect[kind] = folder.read(path) == "1"
        except OSError as error:
            folder.report("unreadable-multiselect", f"{path}: {explain_refusal(error)}; taken from the kernel documentation", file=path)
    return Multiselect(multiselect.get(ROOT_PORT), multiselect.get(REQUESTER))


def _read_tune(folder: _Folder, *, values: bool) -> tuple[TuneAttribute, ...]:
    attributes: list[TuneAttribute] = []
    silent: str | None = None
    for name in folder.names("tune"):
        shown = readable(name)
        value = problem = None
        try:
            if not values:
                problem = "not read"
            elif silent is not None:
                # All attributes go through the same registers: if one hangs, all hang, a second each.
                problem = f"not read, since the device did not answer for {silent}"
            else:
                text = folder.read(f"tune/{name}")
                value = int(text)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENODEV):
                continue
            problem = explain_refusal(error)
            if error.errno == errno.ETIMEDOUT:
                silent, problem = shown, "the device did not answer within a second (ETIMEDOUT)"
        except ValueError:
            problem = f"not a number: {shortened(text)!r}"
        attributes.append(TuneAttribute(shown, value, problem))
    return tuple(attributes)
