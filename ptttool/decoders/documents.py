"""The JSON document of protocols and their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from ptttool.decoders.contract import PROTOCOLS, RecordProtocol, TraceProtocol
from ptttool.decoders.parameters import Parameter
from ptttool.decoders.stack import parameters_of
from ptttool.documents import document


class ColumnBody(Struct, frozen=True):
    """A column of a protocol's records.

    Parameters
    ----------
    name : str
        Name.
    type : str
        Type: ``u8`` to ``u64``, ``i32``, ``i64``, ``bool``, ``enum``, ``bytes`` or ``text``.
    meaning : str
        What it means.
    values : tuple of str or None
        The values of an enum.
    """

    name: str
    type: str
    meaning: str
    values: tuple[str, ...] | None


class ProtocolBody(Struct, frozen=True):
    """A protocol.

    Parameters
    ----------
    name : str
        Name, as in ``--protocol NAME``.
    meaning : str
        What it decodes.
    command : str
        The command that decodes it.
    framings : tuple of str
        The framings that may stand before it; ``none`` is the bare stream.
    auxtrace_types : tuple of int
        The types of AUX trace whose recordings it decodes by default.
    resync : str or None
        Where decoding goes on after bytes that could not be decoded.
    parameters : tuple of Parameter
        Parameters of the protocol and its framings.
    fields : tuple of ColumnBody
        Columns of TLPs; for other protocols the columns that are not common to all elements.
    """

    name: str
    meaning: str
    command: str
    framings: tuple[str, ...]
    auxtrace_types: tuple[int, ...]
    resync: str | None
    parameters: tuple[Parameter, ...]
    fields: tuple[ColumnBody, ...]


@document("decode-protocols")
class ProtocolsDocument(Struct, frozen=True):
    """Protocols that traces can be decoded as."""

    protocols: tuple[ProtocolBody, ...]

    @classmethod
    def of(cls, names: Sequence[str] = ()) -> ProtocolsDocument:
        """Describe the protocols with these names, or all that can be loaded.

        Raises
        ------
        UsageError
            A name is unknown.
        """
        return cls(tuple(_described(protocol) for protocol in [PROTOCOLS.get(name) for name in names] or PROTOCOLS))


def _described(protocol: TraceProtocol[Any]) -> ProtocolBody:
    columns = protocol.schema if isinstance(protocol, RecordProtocol) else protocol.fields
    return ProtocolBody(
        name=protocol.name,
        meaning=protocol.meaning,
        command=f"ptttool decode --protocol {protocol.name}",
        framings=tuple(protocol.framings),
        auxtrace_types=tuple(protocol.auxtrace),
        resync=protocol.resync or None,
        parameters=parameters_of(protocol),
        fields=tuple(ColumnBody(column.name, column.dtype, column.meaning, tuple(column.values) or None) for column in columns),
    )
