"""The protocols and their parameters, for ``decode --protocols``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ptttool.cli.terminal.talk import print_json, print_labelled, print_line, warn
from ptttool.documents import document
from ptttool.wording import clean

if TYPE_CHECKING:
    from ptttool.decoders.parameters import Parameter

# Where texts about parameters begin.
_TEXT_AT = 17


@dataclass(frozen=True)
class ColumnView:
    """A column of a protocol's rows."""

    name: str
    type: str
    meaning: str
    values: list[str] | None


@dataclass(frozen=True)
class ProtocolView:
    """A protocol: how to decode with it, the framings before it, and the types of AUX trace that hold it."""

    name: str
    meaning: str
    command: str
    framings: list[str]
    auxtrace_types: list[int]
    resync: str | None
    parameters: list[dict[str, Any]]
    fields: list[ColumnView]


@document("decode-protocols")
@dataclass(frozen=True)
class ProtocolsView:
    """The protocols."""

    protocols: list[ProtocolView]


def show_protocols(names: Sequence[str], *, json: bool) -> None:
    """Print protocols: all, or those with the names. Raises UsageError for an unknown name."""
    from ptttool.decoders.contract import PROTOCOLS, RecordProtocol
    from ptttool.decoders.stack import parameters_of

    known = [PROTOCOLS.get(name) for name in names] if names else list(PROTOCOLS)
    if not names:
        for error in PROTOCOLS.broken():
            warn(clean(str(error)))
    if json:
        print_json(
            ProtocolsView(
                [
                    ProtocolView(
                        name=protocol.name,
                        meaning=protocol.meaning,
                        command=f"ptttool decode --protocol {protocol.name}",
                        framings=list(protocol.framings),
                        auxtrace_types=list(protocol.auxtrace),
                        resync=protocol.resync or None,
                        parameters=[parameter.as_json() for parameter in parameters_of(protocol)],
                        fields=[
                            ColumnView(column.name, column.dtype, column.meaning, list(column.values) or None)
                            for column in (protocol.schema if isinstance(protocol, RecordProtocol) else protocol.fields)
                        ],
                    )
                    for protocol in known
                ]
            )
        )
        return
    for number, protocol in enumerate(known):
        if number:
            print_line("")
        print_labelled(protocol.name + " ", protocol.meaning)
        if protocol.framings != ("none",):
            print_labelled("", f"behind {' or '.join(protocol.framings)}")
        for parameter in parameters_of(protocol):
            if parameter.used:
                print_labelled(f"  {parameter.name} ", f"{parameter.range_text} ({_default(parameter)})", _TEXT_AT)
                print_labelled("", parameter.meaning, _TEXT_AT)


def _default(parameter: Parameter) -> str:
    if parameter.mandatory:
        return "mandatory"
    if parameter.default is None:
        return "no default"
    value = {True: "yes", False: "no"}[parameter.default] if isinstance(parameter.default, bool) else parameter.default
    return f"default {value}"
