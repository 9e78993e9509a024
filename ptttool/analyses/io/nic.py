"""The packets of a network controller."""

from __future__ import annotations

import numpy as np

from ptttool.analyses.io.counts import Sum
from ptttool.analyses.io.results import By, Controller
from ptttool.analyses.io.rings import Rings, rings_of
from ptttool.analyses.io.seen import Seen
from ptttool.analyses.io.tables import Walk
from ptttool.pci import format_id

FRAME_CHECK_SEQUENCE = 4
"""Bytes at the end of an Ethernet frame, which do not go to memory."""


def rings(seen: Seen) -> tuple[Rings, Rings]:
    """Return where descriptors of received packets are written, and where descriptors are read."""
    counts, requester = seen.counts, seen.requester
    read, written, state = (table.of(requester)[0] for table in (counts.descriptors, counts.records, counts.small_writes))
    records = rings_of(counts.records, requester, together=np.concatenate((read, state)))
    descriptors = rings_of(counts.descriptors, requester, together=np.concatenate((written, state)))
    if seen.visible.reads and descriptors.pages:
        records = records.within(descriptors.ring_keys)
    return records, descriptors


def controller_of(seen: Seen, by: By) -> Controller:
    """Return what is to be said of a network controller."""
    counts, requester, visible = seen.counts, seen.requester, seen.visible
    received, descriptors = rings(seen)
    # Which ring is for transmission, only the writes tell: nothing of 16 bytes is written back there.
    sending = descriptors.without(received.ring_keys) if visible.writes else None
    packets = received.total(Walk.SLOTS) if visible.writes else None
    bytes_ = seen.sum(Sum.DATA_WRITE_BYTES) + received.others(Walk.BYTES) if visible.writes else None
    sent = with_data = fetched = None
    if visible.reads:
        pages = np.concatenate((descriptors.ring_keys, received.ring_keys))
        keys, rows = counts.entries.of(requester)
        several = int(rows[np.isin(keys, pages), Walk.BYTES].sum())
        sent = seen.sum(Sum.READ_BYTES) - descriptors.total(Walk.BYTES) - several
        if sending is not None:
            fetched, with_data = sending.total(Walk.SLOTS), sending.total(Walk.FOLLOWED)
    contexts = None if fetched is None or with_data is None else fetched - with_data
    return Controller(
        requester=format_id(requester),
        by=by,
        rx_packets=packets,
        rx_bytes=bytes_,
        rx_wire_bytes=None if packets is None or bytes_ is None else bytes_ + FRAME_CHECK_SEQUENCE * packets,
        tx_descriptors=fetched,
        tx_sends_least=None if contexts is None or with_data is None else min(contexts, with_data) or with_data,
        tx_sends_most=with_data,
        tx_bytes=sent,
        interrupts=seen.interrupts(beside={*descriptors.ring_keys.tolist(), *received.ring_keys.tolist()}),
    )
