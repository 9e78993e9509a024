"""Encodes ETMv2 packets, as a trace unit does: what the decoder is tested with."""

from __future__ import annotations

from dataclasses import dataclass, field


def compressed(bits: int, count: int, first: int = 7) -> bytes:
    """Address bits in ``count`` bytes, lowest first, all but the last with bit 7. ``first``: bits in the first byte, its upper ones."""
    values = [(bits & (1 << first) - 1) << 7 - first]
    bits >>= first
    for _ in range(count - 1):
        values.append(bits & 0x7F)
        bits >>= 7
    return bytes([value | 0x80 for value in values[:-1]] + values[-1:])


def needed(new: int, last: int | None, first: int = 7) -> int:
    """Bytes that an address needs after the one before it; all five where there is none."""
    if last is None:
        return 5
    changed = (new ^ last) >> first
    return 1 + (changed.bit_length() + 6) // 7


def shortest(value: int) -> int:
    """SS of a value: leading zeros are left out."""
    return 0 if value == 0 else 1 if value < 1 << 8 else 2 if value < 1 << 16 else 3


@dataclass
class Encoder:
    """Writes packets one after the other; each method returns the packet's offset. ``goes_on``: C, more packets in the same cycle."""

    data_addr: bool = True
    data_value: bool = True
    contextid_bytes: int = 4
    shift: int = 2
    data: bytearray = field(default_factory=bytearray)
    last_branch: int | None = None
    last_address: int | None = None

    def _write(self, packet: bytes) -> int:
        self.data += packet
        return len(self.data) - len(packet)

    def restart(self) -> None:
        """The next addresses come whole."""
        self.last_branch = self.last_address = None

    def branch(self, address: int) -> int:
        bits = address >> self.shift
        count = needed(bits, self.last_branch, 6)
        self.last_branch = bits
        packet = bytearray(compressed(bits, count, 6))
        packet[0] |= 1
        return self._write(bytes(packet))

    def _address(self, address: int | None) -> bytes:
        if address is None or not self.data_addr:
            return b""
        count = needed(address, self.last_address)
        self.last_address = address
        return compressed(address, count)

    def transfer(self, value: int, address: int | None = None, *, first: bool | None = None, goes_on: bool = False) -> int:
        """Normal data. ``first``: A; by default where there is an address."""
        has_a = address is not None if first is None else first
        size = shortest(value)
        header = goes_on << 7 | has_a << 5 | size << 2 | 0b10
        body = value.to_bytes((0, 1, 2, 4)[size], "little") if self.data_value else b""
        return self._write(bytes([header]) + (self._address(address) if has_a else b"") + body)

    def miss(self, tag: int, address: int | None = None, *, goes_on: bool = False) -> int:
        header = goes_on << 7 | 1 << 6 | (address is not None) << 5 | 1 << 4 | tag << 2
        return self._write(bytes([header]) + self._address(address))

    def miss_data(self, tag: int, value: int, *, goes_on: bool = False) -> int:
        size = shortest(value)
        return self._write(bytes([goes_on << 7 | tag << 5 | size << 2]) + value.to_bytes((0, 1, 2, 4)[size], "little"))

    def not_traced(self, *, goes_on: bool = False) -> int:
        return self._write(bytes([goes_on << 7 | 0b1101010]))

    def context(self, number: int, *, goes_on: bool = False) -> int:
        return self._write(bytes([goes_on << 7 | 0b1101110]) + number.to_bytes(4, "little")[: self.contextid_bytes])
