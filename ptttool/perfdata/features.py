"""The header's feature sections: who recorded, where, with what. Each is optional, and a damaged one costs only itself.

Layouts: ``tools/perf/Documentation/perf.data-file-format.txt`` and the writers in ``tools/perf/util/header.c`` of the Linux sources.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptttool.perfdata import layout
from ptttool.perfdata.attributes import parse_attribute
from ptttool.perfdata.budget import MAX_FEATURE_BYTES, MAX_LIST, OverBudgetError


class Cursor:
    """Reads a section from its start; ValueError where it ends too early."""

    def __init__(self, section: memoryview) -> None:
        self._section = section
        self._at = 0

    def take(self, size: int) -> memoryview:
        """Return the next ``size`` bytes."""
        start, self._at = self._at, self._at + size
        if self._at > len(self._section):
            raise ValueError(f"ends {self._at - len(self._section)} bytes early")
        return self._section[start : self._at]

    def u32(self) -> int:
        """Return the next 32-bit number."""
        return int(layout.U32.unpack(self.take(4))[0])

    def u64(self) -> int:
        """Return the next 64-bit number."""
        return int(layout.U64.unpack(self.take(8))[0])

    def string(self) -> str:
        """Return the next perf_header_string: its length, then that many bytes, of which the text ends at the first zero."""
        return text_of(self.take(self.u32()))

    def count(self) -> int:
        """Return the number of entries that follow."""
        number = self.u32()
        if layout.U32.size * number > len(self._section) - self._at:  # an entry has a length or a number, at least
            raise ValueError(f"states {number} entries and ends {len(self._section) - self._at} bytes later")
        if number > MAX_LIST:
            raise OverBudgetError(f"states {number} entries; {MAX_LIST} are allowed", MAX_LIST)
        return number


def text_of(raw: memoryview) -> str:
    """Return the bytes up to the first zero as text; bytes that are not UTF-8 are replaced."""
    return bytes(raw).split(b"\0", 1)[0].decode(errors="replace")


def _strings(section: Cursor) -> list[str]:
    return [section.string() for _ in range(section.count())]


def _event_desc(section: Cursor) -> list[dict[str, Any]]:
    events = []
    count, size = section.count(), section.u32()
    for _ in range(count):
        body = section.take(size)
        ids = section.u32()
        name = section.string()
        attribute = parse_attribute(body)
        numbers = section.take(layout.U64.size * ids).cast("Q").tolist()
        events.append({"name": name, "type": attribute.type, "config": attribute.config, "ids": numbers})
    return events


def _numa_topology(section: Cursor) -> list[dict[str, object]]:
    return [
        {"node": section.u32(), "mem_total": section.u64(), "mem_free": section.u64(), "cpus": section.string()}
        for _ in range(section.count())
    ]


_PARSERS: dict[str, Callable[[Cursor], object]] = {
    **dict.fromkeys(("hostname", "osrelease", "version", "arch", "cpudesc", "cpuid"), Cursor.string),
    # header.c writes the available ones first, whatever the format document says.
    "nrcpus": lambda section: {"available": section.u32(), "online": section.u32()},
    "total_mem": Cursor.u64,
    "cmdline": _strings,
    "event_desc": _event_desc,
    "numa_topology": _numa_topology,
    "pmu_mappings": lambda section: {section.u32(): section.string() for _ in range(section.count())},
    "sample_time": lambda section: {"first": section.u64(), "last": section.u64()},
    "dir_format": Cursor.u64,
    "compressed": lambda section: {name: section.u32() for name in ("version", "type", "level", "ratio", "mmap_len")},
}


def parse_feature(number: int, section: memoryview) -> tuple[str, object] | None:
    """Parse a feature section.

    Parameters
    ----------
    number : int
        Number of the feature bit.
    section : memoryview
        The section.

    Returns
    -------
    tuple of str and object, or None
        Name and value; None for a section that is not understood. Values: text for ``hostname`` ``osrelease`` ``version`` ``arch``
        ``cpudesc`` ``cpuid``; a number for ``total_mem`` (KiB) and ``dir_format``; ``nrcpus`` {available, online}; ``cmdline`` list of
        text; ``event_desc`` list of {name, type, config, ids}; ``numa_topology`` list of {node, mem_total, mem_free (KiB), cpus};
        ``pmu_mappings`` {PMU type: name}; ``sample_time`` {first, last} (ns); ``compressed`` {version, type, level, ratio, mmap_len}.

    Raises
    ------
    ValueError
        If the section is damaged.
    """
    name = layout.FEATURES.get(number)
    if name is None:
        return None
    if len(section) > MAX_FEATURE_BYTES:
        raise OverBudgetError(f"holds {len(section)} bytes; {MAX_FEATURE_BYTES} are allowed", MAX_FEATURE_BYTES)
    return name, _PARSERS[name](Cursor(section))
