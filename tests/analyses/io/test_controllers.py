"""Packets of controllers of every model: what they did lies within the limits, wherever a recording is cut."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.io.analysis import Io
from ptttool.analyses.io.results import Controller as Found
from ptttool.analyses.io.results import IoResult
from ptttool.analyses.scope import Scope
from ptttool.analyses.time.model import TimeModel
from ptttool.machine.model import Hex24, Machine, PciFunction, PciFunctions
from ptttool.pci import PciAddress
from ptttool.perfdata.model import Contents, Mode
from tests.analyses.io.model import WAYS, Memory, QueueController, Tlp, batch_of, mixed

NIC = 0x200
by_way = pytest.mark.parametrize("way", WAYS)


def result_of(tlps: Sequence[Tlp], driver: str | None, cuts: Sequence[int] = ()) -> IoResult:
    function = PciFunction(PciAddress.from_id(NIC), None, None, Hex24(0x020000), "", driver=driver)
    edges = [0, *sorted(min(cut, len(tlps)) for cut in cuts), len(tlps)]
    parts = []
    for start, end in itertools.pairwise(edges):
        parts.append(Io(Scope(TimeModel.COUNTER)))
        parts[-1].update(batch_of(list(tlps[start:end]), start))
    for later in parts[1:]:
        parts[0].merge(later)
    return parts[0].result(AnalysisContext("-", Contents(Mode.FILE), Machine(origin="test", functions=PciFunctions.of_json((function,)))))


def holds(found: Found, name: str, truth: int) -> bool:
    least, most, exact = (getattr(found, f"{name}{end}", None) for end in ("_least", "_most", ""))
    return (least is None or least <= truth) and (most is None or truth <= most) and exact in (None, truth)


def made(way: str, source: random.Random, **options: Any) -> QueueController:
    return QueueController(source, Memory(source), NIC, way=WAYS[way], **options)


@by_way
@given(data=st.data())
def test_what_was_received_and_sent_lies_within_the_limits(way: str, data: st.DataObject) -> None:
    source = random.Random(data.draw(st.integers(0, 1 << 32)))
    nic = made(
        way, source, depth=data.draw(st.sampled_from((64, 256, 1024))), payload=data.draw(st.sampled_from((128, 256, 512))),
        request=data.draw(st.sampled_from((256, 512))), offsets=data.draw(st.sampled_from(((64, 2112), (0, 256, 2048)))),
    )  # fmt: skip
    sizes = data.draw(st.sampled_from(((60,), (60, 1514), (60, 64, 66, 128, 1500), (1500,), (320, 272, 336), (60, 60, 9014))))
    share = data.draw(st.sampled_from((1.0, 0.8, 0.5, 0.1)))
    packets = [(source.random() < share, source.choice(sizes)) for _ in range(data.draw(st.integers(30, 90)))]
    received, sent = ([each for each in packets if each[0] is is_received] for is_received in (True, False))
    # Both directions one after the other, or at a time.
    streams = [nic.run(packets)] if data.draw(st.booleans()) else [nic.run(received), nic.run(sent)]
    tlps = mixed(source, streams)
    (found,) = result_of(tlps, WAYS[way].driver).nic.controllers
    if not found.is_understood:
        assert found.rx_packets is None and found.rx_packets_most is None and found.model is None
        return
    truth = nic.truth
    assert holds(found, "rx_packets", truth.rx_packets), found
    assert holds(found, "rx_bytes", truth.rx_bytes), found
    assert holds(found, "tx_sends", truth.tx_frames), found
    assert holds(found, "tx_bytes", truth.tx_bytes), found


@by_way
@given(data=st.data())
def test_the_same_wherever_it_is_cut(way: str, data: st.DataObject) -> None:
    source = random.Random(data.draw(st.integers(0, 1 << 32)))
    nic = made(way, source, depth=64)
    packets = [(source.random() < 0.6, source.choice((60, 64, 65, 96, 272, 328, 1500))) for _ in range(30)]
    received, sent = ([each for each in packets if each[0] is is_received] for is_received in (True, False))
    tlps = mixed(source, [nic.run(received), nic.run(sent)])
    first = data.draw(st.integers(0, len(tlps) // 2))
    tlps = tlps[first : data.draw(st.integers(first, len(tlps)))]
    cuts = data.draw(st.lists(st.integers(0, len(tlps)), max_size=40))
    assert result_of(tlps, WAYS[way].driver, cuts) == result_of(tlps, WAYS[way].driver)


# Whether packets, their bytes and frames are told: exactly, by limits, not.
EXACT, LIMITS, NOT = "exact", "limits", "not"
TOLD = {
    "mlx5": (EXACT, EXACT, LIMITS),
    "mlx5-128": (EXACT, EXACT, LIMITS),
    "mlx5-strided": (LIMITS, LIMITS, LIMITS),
    "mlx5-compressed": (LIMITS, EXACT, LIMITS),
    "bnxt": (EXACT, EXACT, LIMITS),
    "bnxt-halves": (EXACT, EXACT, LIMITS),
    "hns3": (EXACT, EXACT, NOT),
    "virtio": (EXACT, LIMITS, LIMITS),
    "virtio-packed": (EXACT, LIMITS, LIMITS),
}


@by_way
def test_a_thousand_packets_and_five_hundred_frames(way: str) -> None:
    source = random.Random(3)
    nic = made(way, source)
    tlps = mixed(source, [nic.run([(number % 3 != 0, 1500) for number in range(1500)])])
    result = result_of(tlps, WAYS[way].driver)
    (found,) = result.nic.controllers
    assert found.is_understood and found.model == way.partition("-")[0] and found.interrupts == nic.truth.interrupts
    for name, truth, told in zip(("rx_packets", "rx_bytes", "tx_sends"), (1000, 1_500_000, 500), TOLD[way], strict=True):
        least, most, exact = (getattr(found, f"{name}{end}", None) for end in ("_least", "_most", ""))
        assert holds(found, name, truth)
        assert told == (NOT if most is None else LIMITS if exact is None else EXACT)
        assert told == NOT or name == "tx_sends" or (least or 0) > truth / 8
    assert holds(found, "tx_bytes", 750_000)
    assert [note.code for note in result.notes] == ([] if found.rx_packets else ["limits-only"])


@by_way
@pytest.mark.parametrize("driver", ["igb", "hinic", "ice"])
def test_a_driver_of_another_kind_forbids_the_model(way: str, driver: str) -> None:
    source = random.Random(3)
    if (way, driver) == ("virtio-packed", "igb"):
        return  # it works in the same way
    tlps = mixed(source, [made(way, source).run([(number % 3 != 0, 1500) for number in range(300)])])
    result = result_of(tlps, driver)
    (found,) = result.nic.controllers
    assert (found.is_understood, found.model, found.rx_packets, found.rx_packets_most) == (False, None, None, None)
    assert found.written_bytes and found.asked_bytes and result.nic.rx_packets is None
    assert [note.code for note in result.notes] == ["rings-not-understood"]


@pytest.mark.parametrize("driver", ["mlx5_core", "bnxt_en", "hns3", "virtio-pci"])
def test_random_accesses_fit_no_model(driver: str) -> None:
    source = random.Random(1)
    tlps = [
        Tlp(source.choice(("MRd", "MWr")), NIC, source.randrange(1 << 30) & ~63, source.choice((4, 8, 16, 32, 64, 128, 256)), time=number)
        for number in range(3000)
    ]
    (found,) = result_of(tlps, driver).nic.controllers
    assert (found.is_understood, found.rx_packets_most) == (False, None)


@by_way
def test_reads_alone_are_not_understood(way: str) -> None:
    source = random.Random(3)
    tlps = mixed(source, [made(way, source).run([(number % 3 != 0, 1500) for number in range(300)])])
    (found,) = result_of([tlp for tlp in tlps if tlp.kind == "MRd"], WAYS[way].driver).nic.controllers
    assert (found.is_understood, found.written_bytes, found.rx_packets_most) == (False, None, None)
