"""Snapshots: folders of .ini files that describe CoreSight trace, its trace units and the memory of cores.

Arm's tools and OpenCSD write them. Source: ``ARM Trace and Debug Snapshot file format``, version 1.0, in the OpenCSD repository.
``snapshot.ini`` lists one file for each device and one for the trace. A device has a class, a type, registers and memory dumps.
``trace.ini`` assigns trace sources to cores and to trace buffers.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from ptttool.budget import over_budget
from ptttool.decoders.budget import MAX_IMAGES, MAX_SNAPSHOT_BYTES, MAX_SNAPSHOT_DEVICES
from ptttool.decoders.opencsd.sources import Memory, Source
from ptttool.decoders.parameters import number_of, read_text
from ptttool.errors import InputError
from ptttool.wording import shortened

# Kinds of trace unit by the first letters of a device's type, in lower case.
_UNITS = {"etm4": "etm4", "ete": "ete", "etm3": "etm3", "ptm": "ptm", "pft": "ptm", "stm": "stm", "itm": "itm"}
_SECTION = re.compile(r"\[([^\]]*)\]")
_REMARK = re.compile(r"(^|\s)[#;].*")
# A register's name may be followed by its number or size: TRCIDR0(0x078), PC(size:64).
_NAME = re.compile(r"[^(]*")
SOURCE_DATA = "source_data"


class Snapshot(NamedTuple):
    """A snapshot.

    Parameters
    ----------
    sources : tuple of Source
        Trace sources that can be decoded.
    framed : bool
        Whether any trace is in frames.
    """

    sources: tuple[Source, ...]
    framed: bool


def read_snapshot(path: str | Path) -> Snapshot:
    """Read the snapshot in a folder, or the one of a ``snapshot.ini``.

    Raises
    ------
    InputError
        A file is missing or wrong; the message names it.
    AccessError
        A file may not be read.
    """
    top = Path(path)
    top = top / "snapshot.ini" if top.is_dir() else top
    size = 0  # of all files so far: the files of a snapshot may name a file again and again

    def read(path: Path) -> _Ini:
        nonlocal size
        text = read_text(path, "a snapshot")
        size += len(text)
        if size > MAX_SNAPSHOT_BYTES:
            raise over_budget(path, "the files of the snapshot together", MAX_SNAPSHOT_BYTES, "bytes")
        return _parsed(path, text)

    ini = read(top)
    files = [file for _, file in ini.pairs("device_list")]
    if not files:
        raise InputError(top, "no [device_list]: this is not a snapshot.ini", code="bad-snapshot")
    if not all(files):
        raise InputError(top, "[device_list]: a device without a file", code="bad-snapshot")
    if len(files) > MAX_SNAPSHOT_DEVICES:
        raise over_budget(top, "[device_list]", MAX_SNAPSHOT_DEVICES, "devices")
    devices = [_device(top.parent / file, read(top.parent / file)) for file in files]
    metadata = ini.section("trace").get("metadata")
    trace = _Ini() if metadata is None else read(top.parent / metadata)
    cores = {device.name: device for device in devices if device.kind == "core"}
    # A core may have several sources, so this maps sources to cores.
    traced = {source: core for core, source in trace.pairs("core_trace_sources")}
    memory = _memory_of(top, cores.values())
    sources = []
    for device in devices:
        unit = _unit_of(device)
        if unit is not None:
            core = cores.get(traced.get(device.name, ""))
            source = Source(device.name, unit, device.registers)
            sources.append(source if core is None else replace(source, core=core.type, memory=memory[core.name]))
    buffers = [trace.section(name.strip()) for name in trace.section("trace_buffers").get("buffers", "").split(",")]
    formats = {buffer.get("format", "coresight") for buffer in buffers if buffer}
    return Snapshot(tuple(sources), formats != {SOURCE_DATA})


def _unit_of(device: _Device) -> str | None:
    """Return a device's kind of trace unit; None for other devices."""
    if device.kind != "trace_source":
        return None
    return next((unit for begin, unit in _UNITS.items() if device.type.lower().startswith(begin)), None)


def _memory_of(path: Path, cores: Collection[_Device]) -> dict[str, tuple[Memory, ...]]:
    """Return the memory of each core: its own, then that of the others, because a snapshot may list shared memory only once."""
    every = tuple(image for core in cores for image in core.memory)
    if len(every) > MAX_IMAGES:
        raise over_budget(path, "the memory of the cores", MAX_IMAGES, "images")
    memory: dict[str, tuple[Memory, ...]] = {}
    for core in cores:
        own = frozenset(core.memory)
        memory[core.name] = (*core.memory, *(image for image in every if image not in own)) if own else every
    return memory


class _Ini(list[tuple[str, list[tuple[str, str]]]]):
    """The sections of an .ini file, each with its pairs, because a key may occur twice."""

    def pairs(self, name: str) -> list[tuple[str, str]]:
        """Return all pairs of the sections with this name."""
        return [pair for section, pairs in self if section == name for pair in pairs]

    def section(self, name: str) -> dict[str, str]:
        """Return a section; if a key occurs twice, the last value counts."""
        return dict(self.pairs(name))


class _Device(NamedTuple):
    name: str
    kind: str
    type: str
    registers: dict[str, int]
    memory: tuple[Memory, ...]


def _device(path: Path, ini: _Ini) -> _Device:
    device = ini.section("device")
    if "name" not in device:
        raise InputError(path, "no [device] with a name", code="bad-snapshot")
    kind = device.get("class", "")
    registers = {}
    if kind == "trace_source":
        for name, text in ini.pairs("regs"):
            match = _NAME.match(name)
            assert match is not None
            registers[match[0].strip().upper()] = _number(path, name, text)
    memory = []
    for section, pairs in ini:
        if not section.lower().startswith("dump"):
            continue
        dump = dict(pairs)
        if "file" not in dump or "address" not in dump:
            raise InputError(path, f"[{section}] needs file and address", code="bad-snapshot")
        memory.append(
            Memory(
                path.parent / dump["file"],
                _number(path, "address", dump["address"]),
                _number(path, "offset", dump.get("offset", "0")),
                _number(path, "length", dump["length"]) if "length" in dump else None,
                dump.get("space", ""),
            )
        )
    return _Device(device["name"], kind, device.get("type", ""), registers, tuple(memory))


def _parsed(path: Path, text: str) -> _Ini:
    """Parse an .ini file."""
    ini = _Ini()
    for number, line in enumerate(text.splitlines(), 1):
        line = _REMARK.sub("", line).strip()
        section = _SECTION.fullmatch(line)
        name, equals, value = line.partition("=")
        if section is not None:
            ini.append((section[1].strip(), []))
        elif name and equals and ini:
            ini[-1][1].append((name.rstrip(), value.lstrip()))
        elif line:
            raise InputError(path, f"line {number} is neither [section] nor key=value", code="bad-snapshot")
    return ini


def _number(path: Path, name: str, text: str) -> int:
    number = number_of(text)
    if number is None or not 0 <= number < 1 << 64:
        raise InputError(path, f"{shortened(name)}={shortened(text)} is not a number of 64 bits", code="bad-snapshot")
    return number
