"""/proc/iomem: what is kept of it, and that hidden addresses are unknown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ptttool.documents import Hex
from ptttool.machine.budget import MAX_MEMORY_RANGES
from ptttool.machine.details.memory_map import is_doorbell, memory_ranges
from ptttool.machine.model import MemoryRange

TEXT = """\
00000000-3fffffff : System RAM
  00210000-0178ffff : Kernel code
40000000-4000ffff : reserved
40010000-4fffffff : System RAM
50000000-5fffffff : System RAM
e0000000-efffffff : PCI Bus 0000:00
  e0000000-e01fffff : PCI Bus 0000:01
    e0000000-e0003fff : 0000:01:00.0
202100000-20211ffff : GICv3 ITS
"""


def test_ranges() -> None:
    ranges, left_out = memory_ranges(TEXT)
    assert ranges == (
        MemoryRange(Hex(0), Hex(0x3FFF_FFFF), "System RAM"),
        MemoryRange(Hex(0x4001_0000), Hex(0x5FFF_FFFF), "System RAM"),
        MemoryRange(Hex(0xE000_0000), Hex(0xEFFF_FFFF), "PCI Bus 0000:00"),
        MemoryRange(Hex(0x2_0210_0000), Hex(0x2_0211_FFFF), "GICv3 ITS"),
    )
    assert left_out == 0
    assert [is_doorbell(one) for one in ranges] == [False, False, False, True]


def test_names_of_a_doorbell() -> None:
    names = ["GICv3 ITS", "8080000.its its@8080000", "interrupt-controller@8000000", "System RAM", "items", "transits@1"]
    assert [is_doorbell(MemoryRange(Hex(0), Hex(1), name)) for name in names] == [True, True, False, False, False, False]


def test_hidden() -> None:
    """The kernel writes zeros for who is not privileged."""
    assert memory_ranges("00000000-00000000 : System RAM\n  00000000-00000000 : Kernel code\n") == (None, 0)
    assert memory_ranges("") == (None, 0)


def test_too_many() -> None:
    lines = [f"{2 * i * 0x1000:08x}-{2 * i * 0x1000 + 0xFFF:08x} : System RAM" for i in range(MAX_MEMORY_RANGES + 3)]
    ranges, left_out = memory_ranges("\n".join(lines))
    assert ranges is not None
    assert (len(ranges), left_out) == (MAX_MEMORY_RANGES, 3)


@given(st.text(alphabet="0123456789abcdef -: SytemRAM\nITPCIBus", max_size=400))
def test_any_text(text: str) -> None:
    ranges, left_out = memory_ranges(text)
    assert left_out == 0
    assert all(one.first <= one.last for one in ranges or ())
