"""PCI addresses, domain:bus:device.function, as text and as numbers."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from ptttool.errors import UsageError

_ADDRESS = re.compile(r"(?:(?P<domain>[0-9a-fA-F]{1,8}):)?(?P<bus>[0-9a-fA-F]{1,2}):(?P<device>[0-9a-fA-F]{1,2})\.(?P<function>[0-7])")


class PciAddress(tuple[int, int, int, int]):
    """The address of a PCI function: domain, bus, device, function. Addresses sort in the order of lspci. In JSON, one is text."""

    __slots__ = ()
    json_type: ClassVar[Any] = str

    def __new__(cls, domain: int, bus: int, device: int, function: int) -> PciAddress:
        """Make an address of its numbers."""
        return super().__new__(cls, (domain, bus, device, function))

    def __getnewargs__(self) -> tuple[int, int, int, int]:
        return self[0], self[1], self[2], self[3]

    def __repr__(self) -> str:
        return f"PciAddress({self})"

    @property
    def domain(self) -> int:
        """The PCI domain (segment)."""
        return self[0]

    @property
    def bus(self) -> int:
        """The bus, 0 to 255."""
        return self[1]

    @property
    def device(self) -> int:
        """The device on the bus, 0 to 31."""
        return self[2]

    @property
    def function(self) -> int:
        """The function of the device, 0 to 7."""
        return self[3]

    @classmethod
    def parse(cls, text: str) -> PciAddress:
        """Read ``0000:01:00.0`` or ``01:00.0`` (domain 0).

        Raises
        ------
        UsageError
            The text is not a PCI address: ``code`` is ``bad-pci-address``.
        """
        address = cls.try_parse(text)
        if address is None:
            raise UsageError(
                f"{text!r} is not a PCI address",
                hint="write it as domain:bus:device.function, for example 0000:00:10.0",
                code="bad-pci-address",
            )
        return address

    @classmethod
    def try_parse(cls, text: str) -> PciAddress | None:
        """Read an address like :meth:`parse`; return None if the text is not a PCI address."""
        match = _ADDRESS.fullmatch(text.strip())
        if match is None:
            return None
        device = int(match["device"], 16)
        if device > 31:
            return None
        return cls(int(match["domain"] or "0", 16), int(match["bus"], 16), device, int(match["function"]))

    @classmethod
    def of_json(cls, text: str) -> PciAddress:
        """Read an address like :meth:`parse`; ValueError if the text is not a PCI address."""
        address = cls.try_parse(text)
        if address is None:
            raise ValueError(f"not a PCI address: {text!r}")
        return address

    def as_json(self) -> str:
        """Return the address as text."""
        return str(self)

    @classmethod
    def from_id(cls, routing_id: int, domain: int = 0) -> PciAddress:
        """Make an address from a 16-bit requester, completer or destination ID."""
        return cls(domain, routing_id >> 8 & 0xFF, routing_id >> 3 & 0x1F, routing_id & 0x7)

    @property
    def routing_id(self) -> int:
        """The 16-bit ID of TLP headers: bus << 8 | device << 3 | function."""
        return self.bus << 8 | self.device << 3 | self.function

    @property
    def short(self) -> str:
        """The address without its domain: ``01:00.0``."""
        return f"{self.bus:02x}:{self.device:02x}.{self.function}"

    def __str__(self) -> str:
        return f"{self.domain:04x}:{self.short}"


def format_id(routing_id: int) -> str:
    """Format the 16-bit ID of a TLP header: ``01:00.0``."""
    return PciAddress.from_id(routing_id).short
