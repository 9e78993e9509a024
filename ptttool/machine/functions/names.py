"""Names of PCI vendors and devices, from the system's copy of the pci.ids list (https://pci-ids.ucw.cz/).

The file is sorted by vendor: a line ``19e5  Name``, then that vendor's devices, one tab in, ``a12e  Name``; deeper lines and ``#``
comments do not matter here.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from ptttool.machine.budget import MAX_NAMES_BYTES

# Paths of the distributions; update-pciids of pciutils writes the first.
FILES = tuple(
    Path(folder) / name
    for folder in ("/usr/share/misc", "/usr/share/hwdata", "/usr/share/pci.ids.d", "/usr/local/share")
    for name in ("pci.ids", "pci.ids.gz")
)

# A vendor's section: ID, name, lines.
_SECTION = rb"^(%b)  ([^\n]*)\n((?:[\t#][^\n]*\n|\n)*)"
# Up to so many vendors, a search for each is faster than reading every line.
_FEW = 32


def look_up(ids: Iterable[tuple[int, int]], files: Iterable[Path] | None = None) -> tuple[dict[int, str], dict[tuple[int, int], str]]:
    """Look names up in the first list that can be read; none are found without a list.

    Parameters
    ----------
    ids : Iterable of (int, int)
        Pairs of vendor and device ID.
    files : Iterable of Path, optional
        The lists; the system's by default.

    Returns
    -------
    vendors : dict of int to str
        Vendors by their ID.
    devices : dict of (int, int) to str
        Devices by vendor and device ID.
    """
    vendors: dict[int, str] = {}
    devices: dict[tuple[int, int], str] = {}
    pairs = set(ids)
    text = _read_first(FILES if files is None else files) if pairs else None
    if text is None:
        return vendors, devices
    for vendor, section in _sections(text, {vendor for vendor, _ in pairs}):
        vendors[vendor] = section[2].decode("utf-8", "replace").strip()
        for line in re.finditer(rb"^\t([0-9a-f]{4})  ([^\n]*)$", section[3], re.MULTILINE):
            pair = (vendor, int(line[1], 16))
            if pair in pairs:
                devices[pair] = line[2].decode("utf-8", "replace").strip()
    return vendors, devices


def _sections(text: bytes, vendors: set[int]) -> Iterator[tuple[int, re.Match[bytes]]]:
    """Yield the sections of vendors: their ID, name and lines are the groups."""
    if len(vendors) <= _FEW:
        for vendor in vendors:
            section = re.search(_SECTION % (b"%04x" % vendor), text, re.MULTILINE)
            if section is not None:
                yield vendor, section
        return
    missing = set(vendors)
    for section in re.finditer(_SECTION % b"[0-9a-f]{4}", text, re.MULTILINE):
        vendor = int(section[1], 16)
        if vendor in missing:
            missing.discard(vendor)
            yield vendor, section


def _read_first(files: Iterable[Path]) -> bytes | None:
    for file in files:
        try:
            with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as opened:
                data = opened.read(MAX_NAMES_BYTES + 1)
        except (OSError, EOFError, zlib.error):
            continue
        if len(data) <= MAX_NAMES_BYTES:
            return data + b"\n"
    return None
