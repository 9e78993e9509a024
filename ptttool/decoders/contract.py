"""What a protocol is, what its decoders do, and the registry of protocols.

A protocol is one new file below this package, or an entry point of the group ``ptttool.protocols`` in another package. It derives a class
from one of these, decorated with :func:`register`:

* :class:`ByteProtocol`: its :class:`Decoder` finds packets in a stream of bytes.
* :class:`PacketProtocol`: a framing finds the packets, its :class:`PacketDecoder` decodes those of one channel.
* :class:`FramingProtocol`: a byte protocol that carries others, as packets or as a stream of bytes for each channel.
* :class:`RecordProtocol`: records of one size; its :class:`~.decoded.Splitter` cuts a recording into units that are
  decoded in parallel.

Tests hold every protocol but the last kind to these laws: any cutting of a stream into feeds gives the same elements; the sizes of all
elements add up to the bytes fed; no bytes make a decoder raise; reserved values are flagged.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

from msgspec import Struct

from ptttool.decoders.parameters import Parameter, Settings
from ptttool.registry import Registry

if TYPE_CHECKING:
    from ptttool.decoders.decoded import Splitter
    from ptttool.decoders.elements.arrays import Elements
    from ptttool.decoders.offsets import Offsets
    from ptttool.decoders.packets import Packets
    from ptttool.recording.opening import Source
    from ptttool.table.schema import Column, Schema

Buffer: TypeAlias = bytes | bytearray | memoryview
S = TypeVar("S", bound=Settings)
NO_FRAMING = "none"


class Carries(StrEnum):
    """What a framing brings to the protocol behind it."""

    BYTES = "bytes"
    PACKETS = "packets"


class StreamContext(Struct, frozen=True):
    """What is known about a stream besides the parameters.

    Parameters
    ----------
    cpu : int or None
        CPU whose trace the stream is.
    sources : tuple
        Trace sources that the recording describes; each protocol has its own class of them.
    framing : str
        Name of the framing before the protocol, or :data:`NO_FRAMING`.
    """

    cpu: int | None = None
    sources: tuple[object, ...] = ()
    framing: str = NO_FRAMING


class Decoder(ABC):
    """Decodes one stream of bytes into elements, in order."""

    @abstractmethod
    def feed(self, data: Buffer, *, offset: int | Offsets, discontinuity: bool = False) -> Elements:
        """Decode the next bytes.

        Parameters
        ----------
        data : bytes-like
            Any number of bytes; a packet may end in a later feed.
        offset : int or Offsets
            Offset of the first byte in the stream; behind a framing, the offsets of all bytes.
        discontinuity : bool
            Whether bytes are missing before these. An offset that does not follow the bytes before means the same.
        """

    def boundaries(self, offsets: Sequence[int]) -> None:  # noqa: B027 - most protocols find packets by themselves
        """Take note of offsets at which the trace unit started anew with a whole packet; called once, before the first feed.

        Parameters
        ----------
        offsets : sequence of int
            The offsets, ascending. The sequence may grow: an offset is in it before its bytes are fed.
        """

    @abstractmethod
    def finish(self) -> Elements:
        """End the stream: return what was held back; the decoder is as new then."""

    def close(self) -> None:  # noqa: B027 - most decoders have only memory
        """Release what the decoder holds besides memory, such as processes; a stream that is not decoded to its end needs this."""

    @abstractmethod
    def reset(self, reason: str, offset: int) -> Elements:
        """Forget everything: return what was held back, and a no_sync element.

        Parameters
        ----------
        reason : str
            One of :data:`~.elements.model.REASONS`.
        offset : int
            Offset of the byte that comes next.
        """


class PacketDecoder(ABC):
    """Decodes the packets of one channel that a framing has found."""

    @abstractmethod
    def decode(self, packets: Packets) -> Elements:
        """Decode packets, which come whole and in order; :meth:`~.packets.Packets.elements` makes their elements."""

    def end(self) -> Elements:
        """Return elements that were held back: no packet follows those before."""
        from ptttool.decoders.elements.arrays import Elements

        return Elements.empty()

    def lost(self, reason: str) -> None:  # noqa: B027 - not every protocol has something to forget
        """Forget what later packets would build on: packets are missing after those before."""


ChannelDecoders: TypeAlias = Callable[[int], Any]
"""Makes the decoder of a channel: a :class:`PacketDecoder` or a :class:`Decoder`, depending on what the framing carries."""


class TraceProtocol(ABC, Generic[S]):
    """A trace protocol: its name, its parameters, and the fields that its elements may have.

    Attributes
    ----------
    name : str
        Name on the command line.
    meaning : str
        One line of documentation.
    resync : str
        One line: where decoding is in step again after damaged bytes.
    settings_type : type of Settings
        Dataclass of the protocol's parameters.
    fields : tuple of Column
        Fields that elements may have: those of OpenCSD (see :func:`~.elements.model.common`) and the protocol's own. Every protocol has
        ``reason``.
    framings : tuple of str
        Framings that the protocol may be behind, the default first.
    auxtrace : tuple of int
        Types of AUX trace in perf.data that hold the protocol.
    default_for : tuple of int
        Types of AUX trace that are decoded with the protocol unless another one is named.
    summary : str
        Name of the analysis that sums its rows up.
    layout : str
        How a table of its rows looks, a layout of :mod:`ptttool.exporters.table`.
    feed : int
        Bytes of a stream that are fed at a time: their elements stay in the caches, and are enough for a row group.
    described : bool
        Whether recordings describe its trace sources; they are in :attr:`StreamContext.sources`.
    """

    name: ClassVar[str]
    meaning: ClassVar[str]
    resync: ClassVar[str] = ""
    settings_type: ClassVar[type[Settings]] = Settings
    fields: ClassVar[tuple[Column, ...]] = ()
    framings: ClassVar[tuple[str, ...]] = (NO_FRAMING,)
    auxtrace: ClassVar[tuple[int, ...]] = ()
    default_for: ClassVar[tuple[int, ...]] = ()
    summary: ClassVar[str] = "elements"
    layout: ClassVar[str] = "elements"
    feed: ClassVar[int] = 1 << 19
    described: ClassVar[bool] = False

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Its parameters, without those of a framing."""
        return self.settings_type.parameters()

    def check(self, settings: S, context: StreamContext) -> None:
        """Check before decoding that it is possible with these settings; raises UsageError or another error if not."""

    def remarks(self, elements: Elements, settings: S) -> Iterable[str]:
        """Yield sentences about what is easily overlooked in elements."""
        return ()

    def afterwards(self, settings: S) -> Iterable[str]:
        """Yield sentences, at the end, about what the settings named."""
        return ()


class ByteProtocol(TraceProtocol[S]):
    """A protocol that finds its packets in bytes."""

    @abstractmethod
    def decoder(self, settings: S, context: StreamContext) -> Decoder:
        """Return a decoder for one stream."""

    def channel_decoder(self, settings: S, context: StreamContext, channel: int) -> Decoder:
        """Return a decoder for one channel behind a framing; by default all channels have the same."""
        return self.decoder(settings, context)


class PacketProtocol(TraceProtocol[S]):
    """A protocol that decodes the packets that a framing finds."""

    @abstractmethod
    def channel_decoder(self, settings: S, context: StreamContext, channel: int) -> PacketDecoder:
        """Return a decoder for the packets of one channel."""


class FramingProtocol(ByteProtocol[S]):
    """A protocol that others may be behind.

    Attributes
    ----------
    carries : Carries
        Whether it carries packets or bytes.
    """

    carries: ClassVar[Carries]

    @abstractmethod
    def framed(self, settings: S, context: StreamContext, channels: ChannelDecoders) -> Decoder:
        """Return a decoder for one stream that gives the payload of each channel to a decoder of `channels`."""


class RecordProtocol(TraceProtocol[S]):
    """A protocol of records of one size: any of them can be decoded alone, in any process.

    Attributes
    ----------
    schema : Schema
        The columns of its rows.
    """

    schema: ClassVar[Schema]

    @abstractmethod
    def splitter(self, source: Source, settings: S, *, file: str | None = None, strict: bool = False) -> Splitter:
        """Return what cuts a recording into units.

        Parameters
        ----------
        source : Source
            The recording, not yet read.
        settings : Settings
            The protocol's parameters.
        file : str, optional
            Name of the recording, where there are several.
        strict : bool
            Whether to end at the first record that is not as it should be.
        """


PROTOCOLS: Registry[TraceProtocol[Any]] = Registry("protocol", "ptttool.decoders", entry_points="ptttool.protocols")
C = TypeVar("C", bound=type[TraceProtocol[Any]])


def register(protocol: C) -> C:
    """Register a protocol by its name; decorates the class."""
    PROTOCOLS.add(protocol.name, protocol())
    return protocol
