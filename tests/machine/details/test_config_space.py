"""BARs and the PCI Express capability: as lspci reads the same bytes, and nothing raises an exception, whatever the bytes are."""

from __future__ import annotations

import gzip
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

from ptttool.documents import Hex
from ptttool.machine.details.config_space import bars_of, limits_of, msix_of
from ptttool.machine.details.read import with_details
from ptttool.machine.discovery import read_machine
from ptttool.machine.model import AddressSpace, Bar, Machine, MsixTables, PcieLimits
from ptttool.machine.sources.tree import TreeSource
from ptttool.pci import PciAddress
from tests.support.machines import MACHINES, NEW

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@pytest.fixture(scope="module")
def machine() -> Machine:
    source = TreeSource(MACHINES / NEW)
    return with_details(source, read_machine(source))


@pytest.fixture(scope="module")
def lspci() -> dict[PciAddress, str]:
    text = gzip.decompress((MACHINES / f"{NEW}.lspci-vvnn.txt.gz").read_bytes()).decode()
    return {PciAddress.parse(block.split(" ", 1)[0]): block for block in text.split("\n\n") if block.strip()}


def test_bars_are_those_of_lspci(machine: Machine, lspci: dict[PciAddress, str]) -> None:
    assert set(lspci) == set(machine.functions)
    for address, text in lspci.items():
        expected = []
        for number, kind, first, about, size in re.findall(
            r"Region (\d): (Memory|I/O ports) at ([0-9a-f]+)(?: \((.*?)\))?.* \[size=(\w+)\]", text
        ):
            count = int(size.rstrip("KMG")) * _UNITS[size.lstrip("0123456789")]
            space = AddressSpace.MEMORY if kind == "Memory" else AddressSpace.IO
            prefetchable = bool(about) and "non-prefetchable" not in about
            expected.append(Bar(int(number), Hex(first, 16), Hex(int(first, 16) + count - 1), space, prefetchable))
        assert machine.functions[address].bars == tuple(expected)


def test_transfers_are_those_of_lspci(machine: Machine, lspci: dict[PciAddress, str]) -> None:
    compared = 0
    for address, text in lspci.items():
        transfers = machine.functions[address].transfers
        able = re.search(r"DevCap:\tMaxPayload (\d+)", text)
        if able is None:
            assert transfers is None
            continue
        assert transfers is not None
        now = re.search(r"MaxPayload (\d+) bytes, MaxReadReq (\d+)", text)
        boundary, ten = re.search(r"LnkCtl:.*RCB (\d+) bytes", text), re.search(r"DevCtl2:.*10BitTagReq([+-])", text)
        assert now is not None
        assert transfers == PcieLimits(
            int(able[1]), int(now[1]), int(now[2]), "RlxdOrd- ExtTag+" in text or "RlxdOrd+ ExtTag+" in text,
            None if ten is None else ten[1] == "+", None if boundary is None else int(boundary[1]),
        )  # fmt: skip
        compared += 1
    assert compared == 17


def test_msix_tables_are_those_of_lspci(machine: Machine, lspci: dict[PciAddress, str]) -> None:
    compared = 0
    for address, text in lspci.items():
        found = re.search(r"MSI-X: Enable. Count=(\d+).*\n\s*Vector table: BAR=(\d) offset=(\w+)\n\s*PBA: BAR=(\d) offset=(\w+)", text)
        msix = machine.functions[address].msix
        if found is None:
            assert msix is None
            continue
        vectors, bar, offset, pending_bar, pending_offset = found.groups()
        assert msix == MsixTables(int(vectors), int(bar), int(offset, 16), int(pending_bar), int(pending_offset, 16))
        compared += 1
    assert compared == 11


def config(*, header: int = 0, bars: tuple[int, ...] = (), express: bytes = b"", at: int = 0x40) -> bytes:
    """A configuration space of 256 bytes."""
    data = bytearray(256)
    data[0:2] = b"\x36\x1b"
    data[0x06] = 0x10
    data[0x0E] = header
    for number, bar in enumerate(bars):
        data[0x10 + 4 * number : 0x14 + 4 * number] = bar.to_bytes(4, "little")
    data[0x34] = at
    data[at : at + len(express)] = express
    return bytes(data[:256])


def express(*, version: int = 2, kind: int = 0, supported: int = 0, control: int = 0, link: int = 0, control_2: int = 0) -> bytes:
    """A PCI Express capability."""
    data = bytearray(0x3C)
    data[0] = 0x10
    data[2] = version | kind << 4
    data[4] = supported
    data[8:10] = control.to_bytes(2, "little")
    data[0x10:0x12] = link.to_bytes(2, "little")
    data[0x28:0x2A] = control_2.to_bytes(2, "little")
    return bytes(data)


@pytest.mark.parametrize(
    ("capability", "expected"),
    [
        (express(), (128, 128, 128, False, False, 64)),
        (express(supported=5, control=2 << 5 | 5 << 12 | 1 << 8, link=8, control_2=1 << 12), (4096, 512, 4096, True, True, 128)),
        (express(supported=6, control=7 << 5 | 6 << 12), (None, None, None, False, False, 64)),
        (express(version=1, control_2=1 << 12), (128, 128, 128, False, None, 64)),
        (express(kind=9, link=8), (128, 128, 128, False, False, None)),
    ],
)
def test_transfers(capability: bytes, expected: tuple[object, ...]) -> None:
    found = limits_of(config(express=capability))
    assert found is not None
    assert astuple(found) == expected


def test_tags_of_virtual_functions() -> None:
    able = bytearray(express(control_2=1 << 12))
    found = [limits_of(config(express=bytes(able)), of_virtual=virtual) for virtual in (False, True)]
    able[0x24:0x28] = (1 << 17).to_bytes(4, "little")
    found.append(limits_of(config(express=bytes(able)), of_virtual=True))
    assert [each.ten_bit_tags for each in found if each is not None] == [True, False, None]


def test_transfers_unknown() -> None:
    assert limits_of(b"") is None
    assert limits_of(config(express=express())[:64]) is None, "without privileges"
    assert limits_of(b"\xff" * 256) is None, "a function that is gone"
    assert limits_of(config(express=b"\x05\x40", at=0x40)) is None, "a loop"
    assert limits_of(config(express=express(), at=0xF8)) is None, "cut off"


def test_no_msix_tables() -> None:
    """Neither of a capability that is cut off, nor of one that names a BAR that no function has."""
    table = bytes([0x11, 0, 7, 0x80, 6, 0, 0, 0, 0, 0, 0, 0])
    assert msix_of(config(express=table, at=0x40)) is None
    assert msix_of(config(express=bytes([*table[:4], 2, *table[5:]]), at=0x40)) == MsixTables(8, 2, 0, 0, 0)
    assert msix_of(config(express=table[:8], at=0xF8)) is None


LINE = "0x0000000010000000 0x0000000010003fff 0x{flags:016x}"


@pytest.mark.parametrize(
    ("flags", "bars", "header", "first"),
    [
        (0x140204, (), 0, 0x1000_0000),
        (0x140204, (0x2000_0004, 0x80), 0, 0x80_2000_0000),
        (0x40200, (0x2000_0000, 0x80), 0, 0x2000_0000),
        (0x40101, (0x1001,), 0, 0x1000),
        (0x40101, (0x2000_0000,), 0, 0x1000_0000),
        (0x140204, (0xFFFF_FFFF,), 0, 0x1000_0000),
        (0x140204, (0, 0), 0, 0x1000_0000),
    ],
)
def test_address_on_the_link(flags: int, bars: tuple[int, ...], header: int, first: int) -> None:
    (found,) = bars_of(LINE.format(flags=flags), config(header=header, bars=bars))
    assert (found.first, found.last - found.first) == (first, 0x3FFF)


def test_third_bar_of_a_bridge_is_something_else() -> None:
    lines = f"\n\n{LINE.format(flags=0x40200)}"
    (found,) = bars_of(lines, config(header=1, bars=(0, 0, 0x0101_0100)))
    assert (found.number, found.first) == (2, 0x1000_0000)


@pytest.mark.parametrize("flags", [0, 0x2004_0200])
def test_no_bar(flags: int) -> None:
    assert bars_of(LINE.format(flags=flags), b"") == ()


@given(st.binary(max_size=256), st.text(alphabet="0123456789abcdefx \n-g", max_size=300))
def test_any_bytes(data: bytes, resource: str) -> None:
    transfers = limits_of(data)
    msix = msix_of(data)
    assert msix is None or (1 <= msix.vectors <= 2048 and msix.bar < 6 and msix.pending_bar < 6)
    assert transfers is None or transfers.max_payload in (None, 128, 256, 512, 1024, 2048, 4096)
    assert all(0 <= bar.first <= bar.last < 1 << 64 and bar.number < 6 for bar in bars_of(resource, data))
