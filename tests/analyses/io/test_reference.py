"""The analysis says what the slow reference says, also of traffic that makes no sense."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.io.analysis import Io
from ptttool.analyses.io.results import IoResult
from ptttool.analyses.scope import Scope
from ptttool.analyses.time.model import TimeModel
from ptttool.machine.model import Hex24, Machine, PciFunction, PciFunctions
from ptttool.pci import PciAddress
from ptttool.perfdata.model import Contents, Mode
from tests.analyses.io.model import Controller, Drive, EagerDrive, Memory, Tlp, batch_of, mixed
from tests.reference.io import Access, controller, drive

NVME, NIC = 0x100, 0x200
CLASSES = {NVME: 0x010802, NIC: 0x020000}
FUNCTIONS = PciFunctions.of_json(tuple(PciFunction(PciAddress.from_id(id_), None, None, Hex24(code), "") for id_, code in CLASSES.items()))
CONTEXT = AnalysisContext("-", Contents(Mode.FILE), Machine(origin="test", functions=FUNCTIONS))


def accesses_of(tlps: Sequence[Tlp], requester: int) -> list[Access]:
    return [
        Access(tlp.kind == "MRd", tlp.address, tlp.size, tlp.size if tlp.enabled is None else tlp.enabled, index)
        for index, tlp in enumerate(tlps)
        if tlp.requester == requester
    ]


@st.composite
def traffic(draw: st.DrawFn) -> list[Tlp]:
    """TLPs of a drive and a controller, cut off at both ends, some of them missing, with others that may touch the same pages."""
    source = random.Random(draw(st.integers(0, 1 << 32)))
    memory = Memory(source)
    device = draw(st.sampled_from((Drive, EagerDrive)))(source, memory, NVME, depth=draw(st.sampled_from((4, 70))))
    nic = Controller(source, memory, NIC, depth=draw(st.sampled_from((4, 300))))
    pages = draw(st.sampled_from(((1,), (1, 4), (1, 35), (2, 9))))
    offset = draw(st.sampled_from((0, 0, 512, 64, 256)))
    commands = [device.command(is_read=source.random() < 0.5, size=4096 * source.choice(pages), offset=offset) for _ in range(14)]
    packets = [(source.random() < 0.5, source.choice((60, 67, 80, 1514)), source.random() < 0.5) for _ in range(14)]
    tlps = mixed(source, [device.run(commands, draw(st.sampled_from((1, 3)))), nic.run(packets)])
    for _ in range(draw(st.sampled_from((0, 0, 5, 20)))):
        where = source.randrange(len(tlps) + 1)
        page = source.choice(tlps).address & ~0xFFF
        size = source.choice((4, 8, 16, 16, 64, 64, 128, 256, 512, 4096))
        address = page + source.randrange((4096 - size) // 16 + 1) * 16
        time = tlps[min(where, len(tlps) - 1)].time
        tlps.insert(where, Tlp(source.choice(("MRd", "MWr")), source.choice((NVME, NIC)), address, size, time=time))
    first = draw(st.sampled_from((0, 0, 7, 60)))
    gone = draw(st.sampled_from((0.0, 0.0, 0.03)))
    return [tlp for tlp in tlps[first : draw(st.sampled_from((None, None, -9)))] if source.random() >= gone]


def result_of(tlps: list[Tlp], unit: int) -> IoResult:
    analysis = Io(Scope(TimeModel.COUNTER))
    for first in range(0, len(tlps), unit):
        analysis.update(batch_of(tlps[first : first + unit], first))
    return analysis.result(CONTEXT)


@given(tlps=traffic(), unit=st.sampled_from((3, 50, 1 << 17)))
def test_a_drive(tlps: list[Tlp], unit: int) -> None:
    accesses = accesses_of(tlps, NVME)
    if not (any(each.is_read for each in accesses) and any(not each.is_read for each in accesses)):
        return
    (found,) = result_of(tlps, unit).nvme.drives
    expected = drive(accesses)
    assert (found.submitted, found.completed, found.commands) == (expected.submitted, expected.completed, expected.commands)
    assert (found.data_bytes.read, found.data_bytes.write, found.list_bytes) == (expected.read, expected.written, expected.lists)
    assert (None if found.in_flight is None else found.in_flight.peak) == expected.peak
    if found.in_flight is not None:
        assert found.in_flight.peak_index == expected.peak_index


@given(tlps=traffic(), unit=st.sampled_from((3, 50, 1 << 17)))
def test_a_controller(tlps: list[Tlp], unit: int) -> None:
    accesses = accesses_of(tlps, NIC)
    if not (any(each.is_read for each in accesses) and any(not each.is_read for each in accesses)):
        return
    (found,) = result_of(tlps, unit).nic.controllers
    expected = controller(accesses)
    assert (found.written_bytes, found.asked_bytes) == tuple(
        sum(each.enabled for each in accesses if each.is_read is is_read) for is_read in (False, True)
    )
    if not found.is_understood:
        return
    assert (found.rx_packets, found.rx_bytes, found.tx_bytes) == (expected.rx_packets, expected.rx_bytes, expected.tx_bytes)
    assert (found.tx_descriptors, found.tx_sends_most) == (expected.descriptors, expected.with_data)
