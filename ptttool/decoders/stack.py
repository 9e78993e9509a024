"""A protocol with the framing before it and the settings of both: :func:`stack_of` makes one of a name and the parameters given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from ptttool.decoders.contract import (
    NO_FRAMING,
    PROTOCOLS,
    ByteProtocol,
    Decoder,
    FramingProtocol,
    PacketProtocol,
    RecordProtocol,
    StreamContext,
    TraceProtocol,
)
from ptttool.decoders.parameters import Given, Parameter, Paths, Settings, Type, Values, files_of, settle
from ptttool.recording.auxtrace import CS_ETM, HISI_PTT
from ptttool.table.schema import Column, Schema

# Looked at first: the import of all protocols takes longer than that of one.
_USUAL = {HISI_PTT: "hisi-ptt", CS_ETM: "coresight-16"}


class Stack(Struct, frozen=True):
    """A protocol and the framing before it; makes a decoder for every stream.

    Parameters
    ----------
    protocol : TraceProtocol
        What is decoded.
    framing : FramingProtocol or None
        What its packets or bytes come in.
    values : Mapping
        Values of all parameters by name, for people and for the metadata of files.
    settings, framing_settings : Settings
        The same, for the protocol and for the framing.
    sources : tuple
        Trace sources that the recording describes.
    """

    protocol: TraceProtocol[Any]
    framing: FramingProtocol[Any] | None
    values: Values
    settings: Settings
    framing_settings: Settings | None = None
    sources: tuple[object, ...] = ()

    @property
    def fields(self) -> tuple[Column, ...]:
        """Fields of the protocol and of its framing, each once."""
        from ptttool.decoders.elements.model import FIELDS_BY_NAME

        before = self.framing.fields if self.framing is not None else ()
        return tuple(dict.fromkeys((FIELDS_BY_NAME["reason"], *before, *self.protocol.fields)))

    @property
    def schema(self) -> Schema:
        """Columns of the rows."""
        if isinstance(self.protocol, RecordProtocol):
            return self.protocol.schema
        from ptttool.decoders.elements.model import schema_of

        return schema_of(self.fields)

    @property
    def title(self) -> str:
        """``riscv-etrace behind riscv-encap``."""
        return self.protocol.name if self.framing is None else f"{self.protocol.name} behind {self.framing.name}"

    @property
    def reads(self) -> tuple[Path, ...]:
        """Files and folders that parameters name."""
        paths: list[str] = []
        for parameter in parameters_of(self.protocol, _name_of(self.framing)):
            text = self.values.get(parameter.name)
            if parameter.paths is not None and isinstance(text, str):
                paths += [text] if parameter.paths is Paths.FOLDER else [path for path, _ in files_of(text)]
        return tuple(map(Path, paths))

    def context(self, cpu: int | None = None) -> StreamContext:
        """Return what is known about a stream."""
        return StreamContext(cpu, self.sources, _name_of(self.framing))

    def decoder(self, cpu: int | None = None) -> Decoder:
        """Return a decoder for one stream.

        Parameters
        ----------
        cpu : int or None
            CPU whose trace the stream is, if that is known.
        """
        context, protocol, settings = self.context(cpu), self.protocol, self.settings
        protocol.check(settings, context)
        if self.framing is None:
            assert isinstance(protocol, ByteProtocol), f"{protocol.name} does not decode a stream of bytes"
            decoder: Decoder = protocol.decoder(settings, context)
            return decoder
        assert isinstance(protocol, ByteProtocol | PacketProtocol)
        channels = protocol.channel_decoder
        return self.framing.framed(self.framing_settings, context, lambda channel: channels(settings, context, channel))


def _name_of(framing: FramingProtocol[Any] | None) -> str:
    return NO_FRAMING if framing is None else framing.name


def default_protocol(auxtrace_type: int | None) -> str | None:
    """Return the name of the protocol that AUX data of a type are decoded with by default; None where there is no such protocol."""
    usual = None if auxtrace_type is None else _USUAL.get(auxtrace_type)
    if usual is not None and auxtrace_type in PROTOCOLS.get(usual).default_for:
        return usual
    return next((protocol.name for protocol in PROTOCOLS if auxtrace_type in protocol.default_for), None)


def parameters_of(protocol: TraceProtocol[Any], framing: str | None = None) -> tuple[Parameter, ...]:
    """Return all parameters of a protocol behind a framing.

    Parameters
    ----------
    protocol : TraceProtocol
        The protocol.
    framing : str, optional
        Name of the framing; by default the protocol's first one.

    Returns
    -------
    tuple of Parameter
        Those of the protocol, ``framing`` where there is a choice, and those of the framing.
    """
    chosen = protocol.framings[0] if framing is None else framing
    before = () if chosen == NO_FRAMING else PROTOCOLS.get(chosen).parameters
    own = protocol.parameters
    if len(protocol.framings) > 1:
        own += (
            Parameter(
                name="framing",
                type=Type.CHOICE,
                meaning="what the packets come in",
                default=protocol.framings[0],
                choices=protocol.framings,
            ),
        )
    return (*own, *before)


def stack_of(name: str, arguments: Mapping[str, Given]) -> Stack:
    """Return the stack that a protocol's name and the parameters given mean.

    Raises
    ------
    UsageError
        The protocol is unknown, or parameters are wrong; see :func:`~.parameters.settle`.
    """
    protocol = PROTOCOLS.get(name)
    framing = _framing_of(protocol, arguments)
    parameters = parameters_of(protocol, _name_of(framing))
    title = name if framing is None else f"{name} behind {framing.name}"
    values = settle(parameters, _of_the_unit(arguments, protocol, parameters), title)
    settings = protocol.settings_type.of(values)
    return Stack(protocol, framing, values, settings, None if framing is None else framing.settings_type.of(values))


def _framing_of(protocol: TraceProtocol[Any], arguments: Mapping[str, Given]) -> FramingProtocol[Any] | None:
    name = protocol.framings[0]
    if "framing" in arguments and len(protocol.framings) > 1:
        choice = next(parameter for parameter in parameters_of(protocol) if parameter.name == "framing")
        name = str(choice.parse(arguments["framing"].text, arguments["framing"].where))
    if name == NO_FRAMING:
        return None
    framing = PROTOCOLS.get(name)
    assert isinstance(framing, FramingProtocol)
    return framing


def _of_the_unit(arguments: Mapping[str, Given], protocol: TraceProtocol[Any], parameters: Sequence[Parameter]) -> Mapping[str, Given]:
    """Return the parameters, without those that a file has for the protocol behind: it describes all layers of a trace unit."""
    if not isinstance(protocol, FramingProtocol):
        return arguments
    names = {parameter.name for parameter in parameters}
    others = {parameter.name for other in PROTOCOLS if protocol.name in other.framings for parameter in other.parameters} - names
    return {name: value for name, value in arguments.items() if name not in others or not value.from_file}
