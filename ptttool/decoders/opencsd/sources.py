"""Descriptions of CoreSight trace sources for libopencsd: the kind of trace unit, its registers, the program's memory.

Sources: OpenCSD, ``include/opencsd/*/trc_pkt_types_*.h`` (the configurations), ``docs/specs/ARM Trace and Debug Snapshot file format``.
"""

from __future__ import annotations

import re
import stat
from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from ptttool.decoders.opencsd.library import Library
from ptttool.decoders.opencsd.tree import Tree
from ptttool.decoders.opencsd.worker import ANY_SPACE
from ptttool.errors import AccessError, InputError, UsageError


class UnitKind(NamedTuple):
    """A kind of trace unit.

    Parameters
    ----------
    decoder : str
        Name of its decoder in the library.
    registers : Mapping[str, int or None]
        Registers in the order of its configuration, with their defaults; None for one that must be given.
    trace_id : tuple of (str, int)
        The register with the trace ID, and its lowest bit.
    core : bool
        Whether it traces a core; its configuration then ends with architecture and profile.
    more : tuple of int
        Further values of its configuration.
    """

    decoder: str
    registers: Mapping[str, int | None]
    trace_id: tuple[str, int]
    core: bool = True
    more: tuple[int, ...] = ()


_ETM3 = {"ETMIDR": None, "ETMCR": None, "ETMCCER": None, "ETMTRACEIDR": None}
# Defaults are those of OpenCSD, for registers that old descriptions leave out.
UNITS: dict[str, UnitKind] = {
    "etm4": UnitKind(
        "ETMV4I",
        {
            "TRCIDR0": None, "TRCIDR1": 0x4100_F403, "TRCIDR2": None, "TRCIDR8": 0, "TRCIDR9": 0, "TRCIDR10": 0, "TRCIDR11": 0,
            "TRCIDR12": 0, "TRCIDR13": 0, "TRCCONFIGR": None, "TRCTRACEIDR": None,
        },
        ("TRCTRACEIDR", 0),
    ),
    "ete": UnitKind(
        "ETE",
        {
            "TRCIDR0": None, "TRCIDR1": 0x4100_F403, "TRCIDR2": None, "TRCIDR8": 0, "TRCDEVARCH": 0x4770_5A13, "TRCCONFIGR": None,
            "TRCTRACEIDR": None,
        },
        ("TRCTRACEIDR", 0),
    ),
    "etm3": UnitKind("ETMV3", _ETM3, ("ETMTRACEIDR", 0)),
    "ptm": UnitKind("PTM", _ETM3, ("ETMTRACEIDR", 0)),
    # Numbers of masters and channels, hardware events (state unknown).
    "stm": UnitKind(
        "STM", {"STMTCSR": None, "STMSPFEAT3R": 0x1_0000, "STMDEVID": 0xFF, "STMSPFEAT1R": 0}, ("STMTCSR", 16), core=False, more=(0, 0)
    ),
    "itm": UnitKind("ITM", {"ITMTCR": None}, ("ITMTCR", 16), core=False),
}  # fmt: skip
REGISTERS = tuple(dict.fromkeys(name for unit in UNITS.values() for name in unit.registers))

# ocsd_arch_version_t, ocsd_core_profile_t.
_V7, _V8, _V8_3, _NEWER = 0x0700, 0x0800, 0x0803, 0x0864
_PROFILES = {"M": 1, "R": 2, "A": 3}
_V7_CORES = "A5 A7 A8 A9 A12 A15 A17 R4 R5 R7 R8 M0 M0+ M1 M3 M4 M7".split()
_V8_CORES = "A32 A34 A35 A53 A57 A72 A73 R52 M23 M33".split()
_CORE = re.compile(r"Cortex-(([AMR])[0-9]+\+?)")
_ARCHITECTURE = re.compile(r"ARMv([1-9][0-9]?)(?:\.([0-9]+))?(?:-([AMR]))?", re.IGNORECASE)
# ocsd_mem_space_acc_t; unknown names mean any, as in OpenCSD.
_SPACES = {
    "EL1S": 0x01, "SP": 0x01, "EL1N": 0x02, "P": 0x02, "NP": 0x02, "EL2": 0x04, "EL2N": 0x04, "H": 0x04, "EL3": 0x08, "EL2S": 0x10,
    "EL1R": 0x20, "EL2R": 0x40, "ROOT": 0x80, "S": 0x19, "N": 0x06, "R": 0x60,
}  # fmt: skip
# Smallest image that the library accepts, in bytes.
_SMALLEST = 4


class Memory(Struct, frozen=True):
    """An image of memory.

    Parameters
    ----------
    path : Path
        File with its bytes.
    address : int
        Address of the first byte.
    offset, size : int
        Part of the file; without a size, everything after the offset.
    space : str
        Memory space of the image; empty for all spaces.
    """

    path: Path
    address: int
    offset: int = 0
    size: int | None = None
    space: str = ""


class Source(Struct, frozen=True):
    """One trace source.

    Parameters
    ----------
    name : str
        Name for messages.
    unit : str
        Kind of trace unit, one of :data:`UNITS`.
    registers : Mapping[str, int]
        Registers of the trace unit.
    core : str
        ``Cortex-A53``, ``ARMv8.3-A``, or empty.
    memory : tuple of Memory
        Memory of the program.
    cpu, sink : int or None
        Numbers of its CPU and sink, or None.
    """

    name: str
    unit: str
    registers: Mapping[str, int]
    core: str = ""
    memory: tuple[Memory, ...] = ()
    cpu: int | None = None
    sink: int | None = None

    @property
    def trace_id(self) -> int:
        """The trace ID in its registers; 0 for none."""
        name, bit = UNITS[self.unit].trace_id
        return self.registers.get(name, 0) >> bit & 0x7F

    def words(self) -> list[int]:
        """Return its configuration for the library.

        Raises
        ------
        UsageError
            Registers are missing; the message names them (code ``missing-parameter``).
        """
        unit = UNITS[self.unit]
        missing = [name for name, default in unit.registers.items() if default is None and name not in self.registers]
        if missing:
            raise UsageError(
                f"{self.name}: a trace unit of kind {self.unit} needs {', '.join(missing)}",
                hint=f"registers: -p {missing[0]}=0x…, or in the snapshot's file of the unit",
                code="missing-parameter",
            )
        words = [self.registers.get(name, default or 0) & 0xFFFF_FFFF for name, default in unit.registers.items()]
        return [*words, *unit.more, *(architecture_of(self.core) if unit.core else ())]

    def tree(self, library: Library) -> Tree:
        """Return a decode tree for its bytes."""
        return Tree(library, UNITS[self.unit].decoder, self.words(), _images(self.memory), self.name)


def is_core(text: str) -> bool:
    """Return whether :func:`architecture_of` knows a core."""
    return _CORE.fullmatch(text) is not None or _ARCHITECTURE.fullmatch(text) is not None


def architecture_of(core: str) -> tuple[int, int]:
    """Return architecture and profile of a core; for an unknown core the newest one, which has all instructions of older ones."""
    match = _CORE.fullmatch(core)
    if match is not None:
        version = _V7 if match[1] in _V7_CORES else _V8 if match[1] in _V8_CORES else _NEWER
        return version, _PROFILES[match[2]]
    match = _ARCHITECTURE.fullmatch(core)
    if match is not None:
        major, minor = int(match[1]), int(match[2] or 0)
        version = _V7 if major <= 7 else _V8 if (major, minor) < (8, 3) else _V8_3 if (major, minor) == (8, 3) else _NEWER
        return version, _PROFILES[(match[3] or "A").upper()]
    return _NEWER, _PROFILES["A"]


def _images(memory: Sequence[Memory]) -> list[tuple[int, int, str, int, int]]:
    """Return address, memory space, path, offset and size of each image; of overlapping images, only the first is used."""
    taken: list[tuple[int, int, str, int, int]] = []
    spaces: list[list[tuple[int, int]]] = [[] for _ in range(ANY_SPACE.bit_length())]
    for image in memory:
        held = _size(image.path) - image.offset
        size = (held if image.size is None else min(held, image.size)) & ~1  # the library does not accept half an instruction
        if size < _SMALLEST:
            raise InputError(image.path, f"memory image: no code in {max(size, 0)} bytes from offset {image.offset:#x} on")
        if image.address % 2 or image.address + size > 1 << 64:
            raise InputError(
                image.path, f"memory image: {image.address:#x} is not a possible address", hint="addresses are even and have 64 bits"
            )
        space = _SPACES.get(image.space.upper(), ANY_SPACE)
        own = [ranges for bit, ranges in enumerate(spaces) if space >> bit & 1]
        if not any(_overlaps(ranges, image.address, image.address + size) for ranges in own):
            for ranges in own:
                insort(ranges, (image.address, image.address + size))
            taken.append((image.address, space, str(image.path.absolute()), image.offset, size))
    return taken


def _overlaps(ranges: list[tuple[int, int]], start: int, end: int) -> bool:
    """Return whether any of ascending ranges of addresses, which do not overlap, overlaps another one."""
    at = bisect_left(ranges, (end,))
    return at > 0 and ranges[at - 1][1] > start


def _size(path: Path) -> int:
    try:
        held = path.stat()
        if not stat.S_ISREG(held.st_mode):
            raise InputError(path, "memory image: not a regular file")
        with path.open("rb"):
            return held.st_size
    except PermissionError as error:
        raise AccessError(f"{path}: {error.strerror}") from None
    except OSError as error:
        raise InputError(
            path, f"memory image: {error.strerror or error}", hint="to do without, leave it out of memory= or the snapshot"
        ) from None
    except ValueError:  # a file can name such a path
        raise InputError(path, "memory image: the path holds a zero byte", code="bad-path") from None
