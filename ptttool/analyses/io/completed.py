"""The packets of a network controller that reports them by entries of rings of its own, or by descriptors of other sizes than Intel's.

Such an entry is written behind the data of its packet. Headers do not tell what is in it: a packet received, several of them, a frame
sent, or an event. So packets are bounded, by what the order of writes leaves no doubt of:

- An entry directly behind data, which do not go on behind it, is that of a packet: there are at least so many.
- Each packet begins where the one before does not end, unless packets lie side by side: there are at most as many as such beginnings.

Entries that neither this nor the frames sent nor the interrupts explain may be of packets that are as large as an entry.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ptttool.analyses.io.counts import ENTRY
from ptttool.analyses.io.requester import MESSAGE, RequesterTrace, Rings
from ptttool.analyses.io.results import FRAME_CHECK_SEQUENCE, Bounds, By, Controller
from ptttool.pci import format_id


class Model(Struct, frozen=True):
    """How a kind of controllers reports packets.

    Parameters
    ----------
    name : str
        Its name in results.
    drivers : frozenset of str
        Drivers of such controllers.
    entries : tuple of int
        Bytes of an entry, as they are written.
    work : tuple of int
        Least and most bytes of descriptors of a frame that is sent.
    descriptor : int
        Bytes of a descriptor.
    packets : int
        Packets that an entry may report.
    writes : int
        Writes by which a packet may be reported.
    header : tuple of int
        Least and most bytes in front of a packet in memory.
    line : int
        Data may be filled up to whole lines of so many bytes.
    """

    name: str
    drivers: frozenset[str]
    entries: tuple[int, ...]
    work: tuple[int, int]
    descriptor: int
    packets: int = 1
    writes: int = 1
    header: tuple[int, int] = (0, 0)
    line: int = 1


# Sources: docs/workloads.md.
MLX5: Final = Model("mlx5", frozenset({"mlx5_core"}), (64, 128), (16, 1024), 64, packets=8, line=128)
MODELS: Final = (
    MLX5,
    Model("bnxt", frozenset({"bnxt_en"}), (16, 32), (16, 1024), 16, writes=2),
    Model("hns3", frozenset({"hns3"}), (32,), (32, 2048), 32),
    Model("virtio", frozenset({"virtio-pci"}), (8, 16), (16, 1024), 16, header=(10, 12)),
)
"""The models by driver."""

# Bytes of an entry that is in the table of records, and of a line at least.
_RECORD, _LINE = 16, 64
_NO_PAGES: Final = np.empty(0, dtype=np.int64)
# One completion in so many may be followed by data that lie side by side with those in front: beyond it, packets do so.
_SIDE_BY_SIDE: Final = 8
# One entry in so many of a page, at least, ends a packet where it is known that they do.
_BY_CHANCE: Final = 4
# Where packets lie side by side, nearly all entries in a page of received packets follow data: all but one in so many.
_NEARLY_ALL: Final = 32
# Steps in a page that are no chance.
_STEPS: Final = 4
# One read of work in so many is followed by a read of a frame, at least, where they are of frames.
_FOLLOWED: Final = 16


class _Entries(NamedTuple):
    """Writes of entries, and those of the same sizes that are data."""

    rings: tuple[Rings, ...]
    # How many writes there are in rings, directly behind data, and with data that go on behind it; and those that end a packet.
    writes: int
    after: int
    inside: int
    ends: int
    # Writes of data: all, those as large as entries, and those of them that begin where no data end.
    data_writes: int
    maybe_writes: int
    bursts: int
    # Bytes of the rings that are among those of data, and of records that are data.
    ring_bytes: int
    record_bytes: int
    # Bytes of single writes of an entry's size outside of rings.
    maybe_bytes: int

    @property
    def pages(self) -> npt.NDArray[np.int64]:
        return np.concatenate([rings.keys for rings in self.rings])


def _entries(trace: RequesterTrace, model: Model) -> _Entries:
    completions, records = (trace.rings(name, together=_NO_PAGES) for name in ("completions", "records"))
    rows = completions.rows
    fits = np.isin(rows["bytes"], 0)
    for size in model.entries:
        fits |= rows["bytes"] == rows["accesses"] * size
    # Packets as large as an entry may step through a page by chance, for a while.
    solid = rows["key"][completions.is_ring & (rows["steps"] >= _STEPS)]
    fits_ring = fits & np.isin(rows["key"], np.concatenate((solid - 1, solid, solid + 1)))
    completions = Rings(rows, completions.is_ring & fits_ring & (rows["followed"] == 0))
    if _RECORD not in model.entries:
        records = Rings(records.rows, np.zeros(len(records.rows), dtype=np.bool_))
    # Elements of 8 bytes are no data.
    wide = ~completions.is_ring & (rows["bytes"] > 8 * rows["accesses"])
    maybe = int(rows["accesses"][wide].sum())
    bursts = maybe - int(rows["followed"][wide].sum())
    alone = records.others("accesses") - records.others("followed")
    small = int(trace.pages["small_writes"]["accesses"].sum())
    large = completions.is_ring & (rows["bytes"] > 8 * rows["accesses"])
    return _Entries(
        (completions, records),
        completions.total("accesses") + records.total("accesses"),
        completions.total("after") + records.total("after"),
        completions.total("inside") + records.total("inside"),
        _ends(completions) + _ends(records),
        trace.sum("writes") - small - int(rows["accesses"][large].sum()) - records.total("accesses"),
        maybe + alone,
        bursts + alone,
        int(rows["bytes"][large].sum()),
        records.others("bytes"),
        int(rows["bytes"][wide & fits].sum()) + (records.others("bytes") if _RECORD in model.entries else 0),
    )


def _ends(rings: Rings) -> int:
    """Return how many entries end a packet: in pages where many do. Others fall between the buffers of a packet by chance."""
    ends = (rings.rows["after"] - rings.rows["inside"])[rings.is_ring]
    return int(ends[ends * _BY_CHANCE >= rings.rows["accesses"][rings.is_ring]].sum())


def _sent(trace: RequesterTrace, model: Model) -> tuple[Bounds, Bounds]:
    """Return the limits of frames sent, and of the bytes read for them."""
    if not trace.visible.reads:
        return Bounds(None, None), Bounds(None, None)
    work, maybe, asked = 0, 0, trace.sum("read_bytes")
    for name in ("entries", "descriptors"):
        rows = trace.pages[name]
        is_work = trace.rings(name, together=_NO_PAGES).is_ring & (rows["followed"] > 0)
        work += int(rows["bytes"][is_work & (rows["followed"] * _FOLLOWED >= rows["accesses"])].sum())
        maybe += int(rows["bytes"].sum())
    # Descriptors that are smaller than 64 bytes may be read in pieces that are in no table.
    bytes_ = Bounds(asked - maybe if model.descriptor == ENTRY else None, asked)
    if not work or model.descriptor not in (ENTRY, _RECORD):
        # Nothing tells which reads are of descriptors: none of a frame is known.
        return Bounds(None, None) if asked else Bounds(0, 0), bytes_
    return Bounds(-(-work // model.work[1]), work // model.work[0]), bytes_


def completed(trace: RequesterTrace, by: By, model: Model) -> Controller | None:
    """Return what is to be said of a controller of a model; None where the trace does not fit it."""
    visible = trace.visible
    if not visible.writes or trace.left_out["completions"]:
        return None
    entries = _entries(trace, model)
    if not entries.writes or 2 * entries.writes < entries.maybe_writes:
        return None
    sends, sent = _sent(trace, model)
    interrupts = trace.interrupts(beside=entries.pages) or 0
    packets, others = _received(trace, entries, model)
    if packets.least is None or packets.most is None or packets.least > packets.most:
        return None
    written = trace.sum("data_write_bytes") - entries.ring_bytes + entries.record_bytes
    # An entry is of one descriptor at least. Small packets that are filled up to whole lines may lie in memory as entries do.
    explained = (sends.most or 0) * model.work[0] // model.descriptor + interrupts + (model.writes - 1) * packets.least
    is_doubtful = others > explained or (model.line > 1 and written % _LINE == 0 and others > 0)
    if is_doubtful:
        packets = Bounds(packets.least, packets.most + others)
    # Small writes that are no interrupts may be the ends of packets whose other parts came before something else.
    small = trace.pages["small_writes"]
    spare = int(small["bytes"][~np.isin(small["key"], entries.pages)].sum()) - MESSAGE * interrupts
    # Where some packets are as large as an entry, more of them may lie in what looks like a ring.
    most = trace.sum("write_bytes") if is_doubtful or entries.maybe_bytes else written + spare
    size = _bytes(written - entries.maybe_bytes, packets, model, most)
    exact, exact_size = packets.exact, size.exact
    return Controller(
        requester=format_id(trace.sum("key")),
        by=by,
        is_understood=True,
        model=model.name,
        written_bytes=trace.sum("write_bytes"),
        asked_bytes=trace.sum("read_bytes") if visible.reads else None,
        rx_packets=exact,
        rx_packets_least=packets.least,
        rx_packets_most=packets.most,
        rx_bytes=exact_size,
        rx_bytes_least=size.least,
        rx_bytes_most=size.most,
        rx_wire_bytes=None if exact is None or exact_size is None else exact_size + FRAME_CHECK_SEQUENCE * exact,
        tx_sends_least=sends.least,
        tx_sends_most=sends.most,
        tx_bytes=sent.exact,
        tx_bytes_least=sent.least,
        tx_bytes_most=sent.most,
        interrupts=interrupts,
    )


def _received(trace: RequesterTrace, entries: _Entries, model: Model) -> tuple[Bounds, int]:
    """Return the limits of packets received, and how many entries do not show that they are of packets."""
    least, most = entries.ends, trace.sum("bursts") + entries.bursts
    if entries.inside * _SIDE_BY_SIDE > entries.after:
        # Packets lie side by side: where one ends, its entry shows only in pages that have no others.
        least, most = 0, entries.data_writes
        for rings in entries.rings:
            rows = rings.rows
            is_received = rings.is_ring & (rows["after"] * _NEARLY_ALL >= rows["accesses"] * (_NEARLY_ALL - 1))
            is_received &= rows["accesses"] >= _NEARLY_ALL
            least += int(rows["accesses"][is_received].sum())
    return Bounds(least, min(most, model.packets * entries.writes)), entries.writes - least


def _bytes(written: int, packets: Bounds, model: Model, most: int) -> Bounds:
    """Return the limits of the bytes of packets, of those that were written for them."""
    assert packets.least is not None and packets.most is not None
    least = written - model.header[1] * packets.most
    if model.line > 1 and written % _LINE == 0:
        least -= (model.line - 1) * packets.most
    return Bounds(max(least, 0), most - model.header[0] * packets.least)
