"""The contract of packet decoders, and the protocols that there are.

A protocol is one file in this package, or an entry point of the group ``ptttool.protocols``, that adds a :class:`Protocol` to
:data:`PROTOCOLS`. It decodes one of two things:

* bytes: a :class:`ByteDecoder` finds packets in a stream itself;
* packets: a :class:`PacketDecoder` is given whole packets by the framing it stands behind.

A framing is a protocol that other protocols can stand behind: it carries packets (``riscv-encap``) or byte streams of several sources
(``coresight-16``). Behind it every channel has a decoder of its own. ``none`` is no framing.

The laws, which the tests hold every protocol to: any cutting of a stream into feeds gives the same elements; sizes of all elements add up
to the bytes fed; nothing raises, whatever the bytes; reserved values are flagged.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ptttool.decoders.element_batch import Batch, Spans
from ptttool.decoders.elements import FIELDS_BY_NAME, KINDS, NO_SYNC, REASON_CODES, STRICT_FLAGS, UNKNOWN, Field, Flags, StrictError
from ptttool.decoders.parameters import Given, Parameter, Settings, files_of, settle
from ptttool.decoders.places import Places
from ptttool.errors import UsageError
from ptttool.registry import Registry

if TYPE_CHECKING:
    from ptttool.decoders.framed import Packets

Buffer: TypeAlias = bytes | bytearray | memoryview
NO_FRAMING = "none"


class Decoder(ABC):
    """What reads a stream: bytes in, batches out, state between."""

    @abstractmethod
    def feed(self, data: Buffer, *, index: int | Places, discontinuity: bool = False) -> Batch:
        """Decode the next bytes. ``index``: of the first in the stream; behind a framing, places of every byte.

        ``discontinuity``: bytes are missing before these. An index that does not follow on from the bytes before says the same.
        """

    def boundaries(self, indexes: Iterable[int]) -> None:  # noqa: B027 - most protocols find packets by themselves
        """Indexes from which on nothing before counts: the trace unit began anew there, with a packet. Told before their bytes are fed."""

    @abstractmethod
    def finish(self) -> Batch:
        """No more bytes: what was held back. The decoder is as new then."""

    @abstractmethod
    def reset(self, reason: str, index: int) -> Batch:
        """Forget everything: what was held back, and a no_sync with one of :data:`~.elements.REASONS`. ``index``: of what comes next."""


class PacketDecoder(ABC):
    """What reads the packets of one channel that a framing has found."""

    @abstractmethod
    def decode(self, packets: Packets) -> Batch:
        """Elements of packets, made with :meth:`~.framed.Packets.batch`; packets come in order and whole."""

    def end(self) -> Batch:
        """No packet follows on those before: elements that were held back."""
        return Batch.empty()

    def lost(self, reason: str) -> None:  # noqa: B027 - not every protocol has something to forget
        """Packets are missing between those before and those to come: forget what the later ones would build on."""


class ByteDecoder(Decoder):
    """A decoder that is asked for the packets of whatever bytes there are; this class keeps the unfinished packet between feeds.

    ``protocol``: the name its elements bear. Subclasses have :meth:`scan`, and where they keep state :meth:`flush` and :meth:`restart`.
    """

    def __init__(self, protocol: str) -> None:
        self.protocol = protocol
        self._tail = b""
        self._places = Places(0)
        self._next: int | None = None  # the index that would follow on

    @abstractmethod
    def scan(self, data: bytes, places: Places, last: bool) -> tuple[Batch, int]:
        """Elements of ``data``, and how many bytes they take: what is left comes again with more behind it.

        At most one unfinished packet may be left. ``places``: of the bytes in the stream. ``last``: no more bytes follow: what was left
        for having too little behind it is to be taken; a packet that is not whole stays.
        """

    def flush(self) -> Batch:
        """Elements whose bytes have been taken but that were held back to see how they go on (runs of padding)."""
        return Batch.empty(self.protocol)

    def restart(self, reason: str, index: int) -> Batch:
        """Forget what later packets build on, and say so. By default a no_sync without bytes: what comes next is a packet's first byte."""
        return no_sync(self.protocol, index, 0, reason)

    def feed(self, data: Buffer, *, index: int | Places, discontinuity: bool = False) -> Batch:
        places = Places(index) if isinstance(index, int) else index
        first = places.first
        gap = self._next is not None and first is not None and places.contiguous and first != self._next
        batches = [self.reset("discontinuity", first or 0)] if discontinuity or gap else []
        if len(data):
            joined = self._tail + bytes(data)
            self._places = self._places.then(places, len(self._tail), len(data))
            batches.append(self._scan(joined, last=False))
            self._next = places.end(len(data))
        return Batch.join(batches)

    def _scan(self, data: bytes, *, last: bool) -> Batch:
        batch, used = self.scan(data, self._places, last)
        self._tail = data[used:]
        self._places = self._places.after(used)
        return batch

    def finish(self) -> Batch:
        batches = self._end()
        self.restart("init", 0)
        return Batch.join(batches)

    def reset(self, reason: str, index: int) -> Batch:
        return Batch.join([*self._end(), self.restart(reason, index)])

    def _end(self) -> list[Batch]:
        """What is still held back, and what there is of a packet whose end never came."""
        batches = [self._scan(self._tail, last=True)] if self._tail else []
        batches.append(self.flush())
        tail, self._tail = self._tail, b""
        if tail:
            batches.append(truncated(self.protocol, self._places.index(0), tail))
        self._next = None
        return batches


def no_sync(protocol: str, index: int, size: int, reason: str) -> Batch:
    """A no_sync element."""
    batch = Batch(protocol, np.array([index], dtype=np.uint64), np.array([size], dtype=np.uint64), kind=NO_SYNC)
    batch.put("reason", REASON_CODES[reason])
    return batch


def truncated(protocol: str, index: int, data: bytes) -> Batch:
    """An element of a packet's first bytes, the others of which never came."""
    raw = Spans(np.frombuffer(data, dtype=np.uint8), np.zeros(1, dtype=np.int64), np.array([len(data)], dtype=np.int64))
    at, size = np.array([index], dtype=np.uint64), np.array([len(data)], dtype=np.uint64)
    return Batch(protocol, at, size, kind=UNKNOWN, flags=int(Flags.TRUNCATED), raw=raw)


Payload: TypeAlias = Callable[[int], Any]
"""Makes the decoder of a channel: a PacketDecoder or a Decoder, as the framing carries."""


@dataclass(frozen=True)
class Protocol:
    """A packet protocol.

    ``meaning``: one line. ``make``: of settings a :class:`Decoder` or, for one that reads packets, a :class:`PacketDecoder`; None for a
    protocol that another command decodes (``elsewhere`` says which). ``make_for``: of settings and a channel, where channels differ; behind
    a framing it comes before ``make``. ``described``: a recording may describe its sources (``settings["sources"]``) and the CPU of a
    stream (``settings["cpu"]``). ``check``: raises an error for settings that there is no decoding with. ``reads``: ``bytes`` or
    ``packets``. ``framings``: names of framings it can stand behind, its default first. ``fields``: that its elements may have: OpenCSD's
    (see :func:`~.elements.common`) and its own; ``reason`` goes without saying. ``carries``: ``bytes`` or ``packets`` for a framing, which
    then has ``frame``: of settings and a :data:`Payload` a Decoder. ``resync``: in words, where decoding is in step again after bytes that
    are not as they should be. ``remarks``: sentences on elements, of what is easily overlooked; ``afterwards``: on what settings named, at
    the end. ``auxtrace``: types of AUX trace in perf.data that hold it; ``default_for``: those that hold it unless the user says otherwise.
    """

    name: str
    meaning: str
    make: Callable[[Settings], Any] | None = None
    make_for: Callable[[Settings, int], Any] | None = None
    described: bool = False
    check: Callable[[Settings], None] | None = None
    reads: str = "bytes"
    framings: tuple[str, ...] = (NO_FRAMING,)
    parameters: tuple[Parameter, ...] = ()
    fields: tuple[Field, ...] = ()
    carries: str | None = None
    frame: Callable[[Settings, Payload], Decoder] | None = None
    resync: str = ""
    remarks: Callable[[Batch, Settings], Iterable[str]] | None = None
    afterwards: Callable[[Settings], Iterable[str]] | None = None
    auxtrace: tuple[int, ...] = ()
    default_for: tuple[int, ...] = ()
    elsewhere: str | None = None


PROTOCOLS: Registry[Protocol] = Registry("protocol", "ptttool.decoders", entry_points="ptttool.protocols")


@dataclass(frozen=True)
class Stack:
    """A protocol, the framing before it and their settings: makes decoders, one for each stream.

    ``fields``: all that elements may have.
    """

    protocol: Protocol
    framing: Protocol | None
    settings: Settings

    @property
    def fields(self) -> tuple[Field, ...]:
        """Fields of the protocol and of its framing, each once."""
        behind = self.framing.fields if self.framing is not None else ()
        return tuple(dict.fromkeys((FIELDS_BY_NAME["reason"], *behind, *self.protocol.fields)))

    @property
    def title(self) -> str:
        """``riscv-etrace behind riscv-encap``."""
        return self.protocol.name if self.framing is None else f"{self.protocol.name} behind {self.framing.name}"

    @property
    def reads(self) -> tuple[Path, ...]:
        """Files and folders that parameters name."""
        found = []
        for parameter in parameters_of(self.protocol, None if self.framing is None else self.framing.name):
            text = self.settings.get(parameter.name)
            if parameter.reads is not None and text is not None:
                found += [text] if parameter.reads == "folder" else [path for path, _ in files_of(text)]
        return tuple(map(Path, found))

    def decoder(self, cpu: int | None = None) -> Decoder:
        """A decoder for one stream. ``cpu``: whose it is, where that is known."""
        make, make_for = self.protocol.make, self.protocol.make_for
        settings = {**self.settings, "cpu": cpu} if self.protocol.described else self.settings
        assert make is not None
        if self.protocol.check is not None:
            self.protocol.check(settings)
        if self.framing is None:
            decoder: Decoder = make(settings)
            return decoder
        assert self.framing.frame is not None
        return self.framing.frame(settings, lambda channel: make(settings) if make_for is None else make_for(settings, channel))


def parameters_of(protocol: Protocol, framing: str | None = None) -> tuple[Parameter, ...]:
    """All parameters of a protocol behind a framing (by default its first), ``framing`` itself among them where there is a choice."""
    chosen = protocol.framings[0] if framing is None else framing
    before = () if chosen == NO_FRAMING else PROTOCOLS.get(chosen).parameters
    choice: tuple[Parameter, ...] = ()
    if len(protocol.framings) > 1:
        choice = (Parameter("framing", "choice", "what the packets come in", protocol.framings[0], choices=protocol.framings),)
    return (*protocol.parameters, *choice, *before)


def stack_of(name: str, given: Mapping[str, Given]) -> Stack:
    """The stack that a protocol's name and the parameters given mean. Raises UsageError that names what is wrong."""
    protocol = PROTOCOLS.get(name)
    if protocol.make is None:
        raise UsageError(f"{name} is not decoded by this command", hint=f"use: {protocol.elsewhere}", code="other-command")
    framing = protocol.framings[0]
    if "framing" in given and len(protocol.framings) > 1:
        choice = parameters_of(protocol)
        framing = str(next(p for p in choice if p.name == "framing").parse(given["framing"].text, given["framing"].where))
    parameters = parameters_of(protocol, framing)
    title = name if framing == NO_FRAMING else f"{name} behind {framing}"
    settings = settle(parameters, _of_the_unit(given, protocol, parameters), title)
    return Stack(protocol, None if framing == NO_FRAMING else PROTOCOLS.get(framing), settings)


def _of_the_unit(given: Mapping[str, Given], framing: Protocol, parameters: Sequence[Parameter]) -> Mapping[str, Given]:
    """Without what a file says of the packets that a framing carries: one file describes a trace unit, whichever layer is looked at."""
    if framing.carries is None:
        return given
    known = {parameter.name for parameter in parameters}
    others = {parameter.name for protocol in PROTOCOLS if framing.name in protocol.framings for parameter in protocol.parameters} - known
    return {name: value for name, value in given.items() if name not in others or not value.from_file}


_BAD_REASONS = [REASON_CODES[name] for name in ("bad_packet", "bad_image", "not_followed")]


def first_violation(batch: Batch) -> int | None:
    """Row of the first element that strict decoding may not pass over; None for none.

    That is a reserved value, bytes that are no packet, packets that do not fit the program.
    """
    bad = (batch.flags & np.uint32(STRICT_FLAGS)) != 0
    bad |= (batch.kind == UNKNOWN) & ((batch.flags & np.uint32(Flags.TRUNCATED)) == 0)
    reasons, known = batch.column("reason")
    bad |= (batch.kind == NO_SYNC) & known & np.isin(reasons, _BAD_REASONS)
    rows = np.flatnonzero(bad)
    return int(rows[0]) if len(rows) else None


def strict_error(batch: Batch, row: int, fields: Sequence[Field] = ()) -> StrictError:
    """The error that ends strict decoding at an element."""
    element = next(batch.take(np.array([row])).elements(fields))
    why = {"bad_image": "packets and program do not agree", "not_followed": "the trace unit leaves out what cannot be made up"}
    if element.fields.get("reason") in why:
        return StrictError(element.index, f"{element.protocol}: {why[element.fields['reason']]}")
    what = "bytes that are no packet" if element.kind in ("no_sync", "unknown") else ", ".join(element.flags.names)
    return StrictError(element.index, f"{element.protocol}: {what}" + (f" in {element.raw.hex(' ')}" if element.raw else ""))


def allowed_fields(kind: str, own: Sequence[Field]) -> set[str]:
    """Names of the fields that an element of a kind may have: OpenCSD's for it, and the protocol's own."""
    found = next(each for each in KINDS if each.name == kind)
    return {*found.fields, *found.optional, *(field.name for field in own if field.name not in FIELDS_BY_NAME)}
