"""Thrift's compact protocol: the part of writing that Parquet's headers and footers need.

Source: the Apache Thrift documentation, "Thrift compact protocol encoding". A value is the code of its type and its bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Value = tuple[int, bytes]

_TRUE, _FALSE, _I8, _I32, _I64, _BINARY, _LIST, _STRUCT = 1, 2, 3, 5, 6, 8, 9, 12


def varint(number: int) -> bytes:
    """Encode an unsigned number, seven bits a byte, lowest first."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def zigzag(number: int) -> bytes:
    """Encode a signed number of up to 64 bits as a varint, in the order 0, -1, 1, -2."""
    return varint((number << 1) ^ (number >> 63))


def boolean(value: bool) -> Value:
    """Return a boolean field."""
    return (_TRUE if value else _FALSE, b"")


def i8(number: int) -> Value:
    """Return an 8-bit field."""
    return (_I8, bytes([number & 0xFF]))


def i32(number: int) -> Value:
    """Return a 32-bit field."""
    return (_I32, zigzag(number))


def i64(number: int) -> Value:
    """Return a 64-bit field."""
    return (_I64, zigzag(number))


def binary(data: bytes | str) -> Value:
    """Return a field of bytes, or of text as UTF-8."""
    raw = data.encode(errors="replace") if isinstance(data, str) else data
    return (_BINARY, varint(len(raw)) + raw)


def struct(fields: Mapping[int, Value | None]) -> Value:
    """Return a struct of fields by number, in ascending order; None leaves a field out."""
    out = bytearray()
    last = 0
    for number, value in fields.items():
        if value is None:
            continue
        kind, data = value
        step = number - last
        assert 0 < step < 16, "fields in order"
        out.append(step << 4 | kind)
        out += data
        last = number
    out.append(0)
    return (_STRUCT, bytes(out))


def list_of(values: Iterable[Value]) -> Value:
    """Return a list of values of one type, at least one."""
    items = list(values)
    kind = items[0][0]
    head = bytes([len(items) << 4 | kind]) if len(items) < 15 else bytes([0xF0 | kind]) + varint(len(items))
    return (_LIST, head + b"".join(data for _, data in items))
