"""Channels: the same elements in whatever order packets come, and no more decoders than the budget allows."""

from __future__ import annotations

import pytest

from ptttool.decoders import channels as channels_module
from ptttool.decoders.riscv.encap import protocol as encap
from tests.decoders.streams import Stream, elements

PARAMETERS = {"srcid_bits": "16"}


def packet(channel: int) -> bytes:
    return b"\x01" + channel.to_bytes(2, "little") + b"\x03"


def test_channels_above_the_budget_are_shown_raw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels_module, "MAX_CHANNELS", 2)
    monkeypatch.setattr(encap, "MAX_CHANNELS", 2)
    order = [5, 9, 7, 5, 3, 9]
    found = elements("riscv-etrace", Stream(b"".join(map(packet, order)), PARAMETERS))
    decoded = {each.channel for each in found if each.protocol == "riscv-etrace"}
    raw = {each.channel for each in found if each.protocol == "riscv-encap" and each.channel is not None}
    assert (decoded, raw) == ({5, 9}, {7, 3})
    assert sum(each.size for each in found) == 4 * len(order)
