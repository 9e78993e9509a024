"""PCI addresses: written and read one way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptttool.errors import UsageError
from ptttool.pci import PciAddress, format_id


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("0000:01:00.0", (0, 1, 0, 0)),
        ("01:00.0", (0, 1, 0, 0)),
        ("0001:C2:1f.7", (1, 0xC2, 31, 7)),
        (" 10000:e1:00.1 ", (0x10000, 0xE1, 0, 1)),
    ],
)
def test_parse(text: str, address: tuple[int, int, int, int]) -> None:
    assert tuple(PciAddress.parse(text)) == address


@pytest.mark.parametrize("text", ["", "01:00", "01:00.8", "01:20.0", "1:2:3:4.0", "nvme0", "0x01:00.0", "01:00.0x", "g1:00.0", "123:00.0"])
def test_what_is_no_address(text: str) -> None:
    assert PciAddress.try_parse(text) is None
    with pytest.raises(UsageError) as caught:
        PciAddress.parse(text)
    assert caught.value.exit_code == 2
    assert repr(text) in caught.value.message


@given(st.integers(0, 0xFFFF), st.integers(0, 0xFFFF))
def test_ids_and_text_go_both_ways(routing_id: int, domain: int) -> None:
    address = PciAddress.from_id(routing_id, domain)
    assert address.routing_id == routing_id
    assert PciAddress.parse(str(address)) == address
    assert address.short == format_id(routing_id)
