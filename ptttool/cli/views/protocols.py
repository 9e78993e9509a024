"""The protocols and their parameters, for ``decode --protocols``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ptttool.cli.terminal.talk import print_json, print_labelled, print_line, warn
from ptttool.wording import clean

if TYPE_CHECKING:
    from ptttool.decoders.parameters import Parameter

# Column at which the descriptions of parameters begin.
_TEXT_AT = 17


def show_protocols(names: Sequence[str], *, json: bool) -> None:
    """Print the named protocols, or all. Raises UsageError for an unknown name."""
    from ptttool.decoders.contract import PROTOCOLS
    from ptttool.decoders.stack import parameters_of

    protocols = [PROTOCOLS.get(name) for name in names] if names else list(PROTOCOLS)
    if not names:
        for error in PROTOCOLS.broken():
            warn(clean(str(error)))
    if json:
        from ptttool.decoders.documents import ProtocolsDocument

        print_json(ProtocolsDocument.of(names))
        return
    for number, protocol in enumerate(protocols):
        if number:
            print_line("")
        print_labelled(protocol.name + " ", protocol.meaning)
        if protocol.framings != ("none",):
            print_labelled("", f"behind {' or '.join(protocol.framings)}")
        for parameter in parameters_of(protocol):
            if parameter.used:
                print_labelled(f"  {parameter.name} ", f"{parameter.range_text} ({_default(parameter)})", _TEXT_AT)
                print_labelled("", parameter.meaning, _TEXT_AT)


def show_columns(name: str | None, files: Sequence[str] | None = None) -> None:
    """Print the columns of a protocol with their meaning: of the first recording's, or by default of TLPs.

    Raises UsageError for an unknown name.
    """
    from ptttool.decoders.contract import PROTOCOLS, RecordProtocol
    from ptttool.decoders.elements.model import schema_of
    from ptttool.decoders.hisi_ptt.protocol import NAME

    if name is None and files:
        from ptttool.api.recording import open as open_recording

        with open_recording(files[0]) as recording:
            name = recording.protocol
    protocol = PROTOCOLS.get(name or NAME)
    schema = protocol.schema if isinstance(protocol, RecordProtocol) else schema_of(protocol.fields)
    at = max(len(column.name) for column in schema) + 2
    for column in schema:
        values = f": {' '.join(column.values)}" if column.values else ""
        print_labelled(f"{column.name} ", f"{column.meaning}{values}", at)


def _default(parameter: Parameter) -> str:
    if parameter.mandatory:
        return "mandatory"
    if parameter.default is None:
        return "no default"
    value = {True: "yes", False: "no"}[parameter.default] if isinstance(parameter.default, bool) else parameter.default
    return f"default {value}"
