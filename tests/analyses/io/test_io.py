"""The analysis counts what modelled devices did, wherever the recording is cut."""

from __future__ import annotations

import itertools
import pickle
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.io.analysis import Io
from ptttool.analyses.io.results import Drive as DriveResult
from ptttool.analyses.io.results import IoResult
from ptttool.analyses.scope import Scope
from ptttool.analyses.time.model import TimeModel
from ptttool.machine.model import Hex24, Machine, PciFunction, PciFunctions
from ptttool.pci import PciAddress
from ptttool.perfdata.model import Contents, Mode
from tests.analyses.io.model import PAGE, Command, Controller, Drive, EagerDrive, Memory, QueueController, Tlp, batch_of, mixed

CONTEXT = AnalysisContext("-", Contents(Mode.FILE))
SCOPE = Scope(TimeModel.COUNTER)


def result_of(tlps: Sequence[Tlp], cuts: Sequence[int] = (), units: int = 1 << 17) -> IoResult:
    """The result of parts cut in front of some TLPs, each given in units."""
    parts = []
    edges = [0, *sorted(min(cut, len(tlps)) for cut in cuts), len(tlps)]
    for start, end in itertools.pairwise(edges):
        analysis = Io(SCOPE)
        for first in range(start, end, units):
            analysis.update(batch_of(list(tlps[first : min(first + units, end)]), first))
        parts.append(pickle.loads(pickle.dumps(analysis)))
    while len(parts) > 1:  # neighbours first, as a cluster does
        parts = [_merged(parts[number : number + 2]) for number in range(0, len(parts), 2)]
    result: IoResult = parts[0].result(CONTEXT)
    return result


def _merged(parts: list[Io]) -> Io:
    for later in parts[1:]:
        parts[0].merge(later)
    return parts[0]


@st.composite
def commands(draw: st.DrawFn, drive: Drive) -> list[Command]:
    """Commands of one of the workloads that people run."""
    kind = draw(st.sampled_from(("read", "write", "mixed")))
    pages = draw(st.sampled_from((1, 1, 2, 6, 20, 36)))
    offset = draw(st.sampled_from((0, 0, 0, 512))) if pages < 8 else 0
    contiguous = draw(st.booleans()) and pages < 33
    count = draw(st.integers(12, 30))
    return [
        drive.command(
            is_read=kind == "read" or (kind == "mixed" and drive.random.random() < 0.5),
            size=pages * 4096,
            offset=offset,
            contiguous=contiguous,
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("make", [Drive, EagerDrive])
@given(data=st.data())
def test_commands_and_their_bytes(make: type[Drive], data: st.DataObject) -> None:
    source = random.Random(data.draw(st.integers(0, 1 << 32)))
    memory = Memory(source)
    drives = [
        make(
            source, memory, 0x100 + 0x100 * number, queues=data.draw(st.integers(1, 3)), depth=data.draw(st.sampled_from((3, 16, 64, 300)))
        )
        for number in range(data.draw(st.integers(1, 2)))
    ]
    in_flight = data.draw(st.sampled_from((1, 4, 32)))
    tlps = mixed(source, [drive.run(data.draw(commands(drive)), in_flight) for drive in drives])
    result = result_of(tlps)
    assert [each.by.value for each in result.nvme.drives] == ["behaviour"] * len(drives)
    assert not result.unexplained and not result.nic.controllers
    for drive in drives:
        found = next(each for each in result.nvme.drives if each.requester == f"{drive.requester >> 8:02x}:00.0")
        truth = drive.truth
        assert (found.commands, found.submitted, found.completed) == (truth.commands,) * 3
        assert found.data_bytes.read == truth.read
        # Fetches of several entries in a row may look like reads of whole sectors, and a page alone between two fetches like a list.
        assert found.data_bytes.write is not None
        least, most = (-PAGE * truth.commands, 64 * truth.commands) if make is EagerDrive else (0, 0)
        assert least <= found.data_bytes.write - truth.written <= most
        assert found.interrupts == truth.interrupts
        assert_latency(found, drive)


def assert_latency(found: DriveResult, drive: Drive) -> None:
    """Without the order of completions, the mean is what it is."""
    flight = found.in_flight
    if isinstance(drive, EagerDrive):  # entries that were fetched together are not followed
        return
    assert flight is not None and flight.is_exact and flight.is_whole and (flight.at_start, flight.at_end) == (0, 0)
    times = [done.time - entry.time for entry, done in drive.pairs]
    assert flight.ticks == pytest.approx(sum(times) / len(times))
    assert flight.peak == drive.peak


@given(data=st.data())
def test_latency_leaves_out_commands_that_do_not_end(data: st.DataObject) -> None:
    """Two requests for events, fetched first, that stay open; and what a recording that begins and ends anywhere shows."""
    source = random.Random(data.draw(st.integers(0, 1 << 32)))
    drive = Drive(source, Memory(source), 0x100, depth=64)
    events = [Tlp("MRd", 0x100, drive.submission[0].slot(), 64) for _ in range(2)]
    sizes = [4096 * source.choice((1, 2, 30)) for _ in range(60)]
    rest = drive.run([drive.command(is_read=source.random() < 0.5, size=size) for size in sizes], data.draw(st.sampled_from((1, 8))))
    tlps = mixed(source, [itertools.chain(events, rest)])
    first = data.draw(st.sampled_from((0, 0, 1, 2, 40, 200)))
    part = tlps[first : data.draw(st.sampled_from((None, None, -1, -200)))]
    (found,) = result_of(part, data.draw(st.lists(st.integers(0, len(part)), max_size=10))).nvme.drives
    flight, inside = found.in_flight, {id(tlp) for tlp in part}
    whole = [done.time - entry.time for entry, done in drive.pairs if id(entry) in inside and id(done) in inside]
    assert flight is not None and (flight.ticks is None) is not flight.is_whole
    if len(whole) != (found.completed or 0) - flight.at_start:
        return  # commands were open all along, of which nothing is seen
    assert flight.ticks_least is not None and flight.ticks_most is not None
    assert flight.ticks_least - 1e-9 <= sum(whole) / len(whole) <= flight.ticks_most + 1e-9
    if part == tlps:
        assert (flight.at_start, flight.at_end, flight.ticks) == (0, 2, None)
        assert flight.ticks_least == pytest.approx(sum(whole) / len(whole)), "the events are the commands that are open the longest"


@given(data=st.data())
def test_packets_and_their_bytes(data: st.DataObject) -> None:
    source = random.Random(data.draw(st.integers(0, 1 << 32)))
    memory = Memory(source)
    nic = Controller(source, memory, 0x200, depth=data.draw(st.sampled_from((8, 64, 256, 1024))))
    drive = Drive(source, memory, 0x100)
    sizes = data.draw(st.sampled_from(((60, 1514), (60, 61, 62, 63, 64, 66), (1500,), (320, 272, 336))))
    packets = [(source.random() < 0.5, source.choice(sizes), data.draw(st.just(True))) for _ in range(data.draw(st.integers(10, 80)))]
    tlps = mixed(source, [nic.run(packets), drive.run([drive.command(is_read=True, size=4096) for _ in range(8)], 4)])
    result = result_of(tlps)
    assert len(result.nvme.drives) == 1 and not result.unexplained
    truth = nic.truth
    assert (result.nic.rx_packets, result.nic.rx_bytes, result.nic.tx_bytes) == (truth.rx_packets, truth.rx_bytes, truth.tx_bytes)
    assert result.nic.rx_wire_bytes == truth.rx_bytes + 4 * truth.rx_packets
    assert result.nic.tx_sends_least == truth.tx_frames == result.nic.tx_sends_most
    assert result.nic.interrupts == truth.interrupts


MACHINE_WITH_NIC = {
    driver: Machine(
        origin="test",
        functions=PciFunctions.of_json((PciFunction(PciAddress.from_id(0x200), None, None, Hex24(0x020000), "", driver=driver),)),
    )
    for driver in (None, "mlx5_core", "igb", "hinic")
}


@pytest.mark.parametrize("kinds", [{"MRd", "MWr"}, {"MRd"}, {"MWr"}])
@pytest.mark.parametrize("driver", [None, "mlx5_core", "igb", "hinic"])
def test_packets_of_rings_that_are_not_understood_are_not_told(driver: str | None, kinds: set[str]) -> None:
    """1,000 packets of 1,500 bytes received, 500 sent."""
    source = random.Random(3)
    nic = QueueController(source, Memory(source), 0x200)
    tlps = [tlp for tlp in mixed(source, [nic.run([(number % 3 != 0, 1500) for number in range(1500)])]) if tlp.kind in kinds]
    unknown = result_of(tlps)
    assert not unknown.nvme.drives and not unknown.nic.controllers and [each.requester for each in unknown.unexplained] == ["02:00.0"]
    answers = [Tlp("CplD", 0x200, size=tlp.size, byte_count=tlp.size, time=tlp.time) for tlp in tlps if tlp.kind == "MRd"]
    assert not result_of(answers).nvme.drives
    analysis = Io(SCOPE)
    analysis.update(batch_of(tlps))
    result = analysis.result(AnalysisContext("-", Contents(Mode.FILE), MACHINE_WITH_NIC[driver]))
    (found,) = result.nic.controllers
    written, asked = (sum(tlp.enabled or tlp.size for tlp in tlps if tlp.kind == kind) for kind in ("MWr", "MRd"))
    assert (found.written_bytes, found.asked_bytes) == (written or None, asked or None)
    # Without its driver, a controller has to show both: what it received, and descriptors of what it sent.
    if "MWr" in kinds and (driver == "mlx5_core" or (driver is None and "MRd" in kinds)):
        assert (found.model, found.rx_packets_least, found.rx_bytes_least) == ("mlx5", 1000, 1_500_000)
        assert found.rx_packets == (1000 if "MRd" in kinds else None)
        return
    assert (found.is_understood, found.model) == (False, None)
    assert {found.rx_packets, found.rx_bytes, found.tx_bytes, found.tx_sends_most, found.interrupts} == {None}
    assert (result.nic.rx_packets, result.nic.rx_bytes, result.nic.tx_bytes, result.nic.tx_sends_most) == (None, None, None, None)


@pytest.mark.parametrize(("driver", "is_understood"), [(None, True), ("igb", True), ("vfio-pci", True), ("mlx5_core", False)])
def test_a_driver_of_another_kind_forbids_to_count_packets(driver: str | None, is_understood: bool) -> None:
    source = random.Random(3)
    nic = Controller(source, Memory(source), 0x200)
    functions = PciFunctions.of_json((PciFunction(PciAddress.from_id(0x200), None, None, Hex24(0x020000), "", driver=driver),))
    analysis = Io(SCOPE)
    analysis.update(batch_of(mixed(source, [nic.run([(True, 1500, False)] * 50)])))
    (found,) = analysis.result(AnalysisContext("-", Contents(Mode.FILE), Machine(origin="test", functions=functions))).nic.controllers
    assert (found.is_understood, found.rx_packets) == (is_understood, 50 if is_understood else None)


def test_a_drive_is_one_although_a_read_is_damaged() -> None:
    source = random.Random(5)
    drive = Drive(source, Memory(source), 0x100)
    tlps = mixed(source, [drive.run([drive.command(is_read=False, size=8192) for _ in range(60)], 1)])
    number = next(at for at, tlp in enumerate(tlps) if tlp.kind == "MRd" and tlp.size == 512)
    tlps[number] = replace(tlps[number], size=508)
    (found,) = result_of(tlps).nvme.drives
    assert (found.commands, drive.truth.commands) == (60, 60)


@pytest.mark.slow
@given(data=st.data())
def test_the_same_wherever_it_is_cut(data: st.DataObject) -> None:
    source = random.Random(data.draw(st.integers(0, 1 << 32)))
    memory = Memory(source)
    make = data.draw(st.sampled_from((Drive, EagerDrive)))
    drive, nic = make(source, memory, 0x100, depth=8), Controller(source, memory, 0x200, depth=16)
    packets = [(source.random() < 0.5, source.choice((60, 65, 1514)), source.random() < 0.5) for _ in range(20)]
    tlps = mixed(source, [drive.run(data.draw(commands(drive)), 5), nic.run(packets)])
    first = data.draw(st.integers(0, len(tlps) // 2))
    tlps = tlps[first : data.draw(st.integers(first, len(tlps)))]
    whole = result_of(tlps)
    cuts = data.draw(st.lists(st.integers(0, len(tlps)), max_size=40))
    assert result_of(tlps, cuts, data.draw(st.sampled_from((1, 2, 7, 1000)))) == whole


def expected_bytes(tlps: Sequence[Tlp], kind: str) -> int:
    return sum(tlp.size for tlp in tlps if tlp.kind == kind and tlp.is_data)


@given(data=st.data())
def test_a_recording_that_is_cut_off_at_both_ends(data: st.DataObject) -> None:
    source = random.Random(data.draw(st.integers(0, 1 << 32)))
    drive = Drive(source, Memory(source), 0x100, depth=16)
    tlps = mixed(source, [drive.run([drive.command(is_read=source.random() < 0.5, size=8192) for _ in range(60)], 7)])
    first = data.draw(st.integers(0, len(tlps) // 2))
    part = tlps[first : data.draw(st.integers(len(tlps) * 3 // 4, len(tlps)))]
    (found,) = result_of(part).nvme.drives
    inside = {id(tlp) for tlp in part}
    fetched, completed = (sum(id(pair[end]) in inside for pair in drive.pairs) for end in (0, 1))
    seen = sum(id(entry) in inside or id(done) in inside for entry, done in drive.pairs)
    assert (found.submitted, found.completed) == (fetched, completed)
    assert found.commands is not None and max(fetched, completed) <= found.commands <= seen
    assert found.data_bytes.read == expected_bytes(part, "MWr")
    assert found.data_bytes.write is not None
    assert abs(found.data_bytes.write - expected_bytes(part, "MRd")) <= 2 * 4096  # a page at either end
    assert found.in_flight is not None and found.in_flight.at_end >= fetched - completed


@given(data=st.data())
def test_what_was_not_traced_is_not_told(data: st.DataObject) -> None:
    source = random.Random(data.draw(st.integers(0, 1 << 32)))
    memory = Memory(source)
    drive, nic = Drive(source, memory, 0x100), Controller(source, memory, 0x200)
    packets = [(source.random() < 0.7, source.choice((60, 65, 1514)), source.random() < 0.5) for _ in range(40)]
    commands = [drive.command(is_read=source.random() < 0.5, size=source.choice((512, 4096, 8192))) for _ in range(40)]
    tlps = mixed(source, [drive.run(commands, 8), nic.run(packets)])
    posted = result_of([tlp for tlp in tlps if tlp.kind == "MWr"])
    assert (posted.nvme.commands, posted.nvme.submitted, posted.nvme.data_bytes.write) == (40, None, None)
    assert posted.nvme.data_bytes.read == drive.truth.read
    assert (posted.nic.rx_packets, posted.nic.rx_bytes, posted.nic.tx_bytes) == (nic.truth.rx_packets, nic.truth.rx_bytes, None)
    asked = result_of([tlp for tlp in tlps if tlp.kind == "MRd"])
    assert (asked.nvme.commands, asked.nvme.completed, asked.nvme.data_bytes.read) == (40, None, None)
    assert asked.nvme.data_bytes.write == drive.truth.written
    assert asked.nvme.drives[0].in_flight is None and asked.nvme.interrupts is None
    assert asked.nic.rx_packets is None
    for result in (posted, asked, result_of(tlps)):
        assert list(result.shown(lambda requester: requester))


def test_random_accesses_are_no_ios() -> None:
    source = random.Random(1)
    tlps = [
        Tlp(
            source.choice(("MRd", "MWr")),
            0x100,
            source.randrange(1 << 30) & ~63,
            source.choice((4, 8, 16, 32, 64, 128, 256, 512)),
            time=number,
        )
        for number in range(3000)
    ]
    result = result_of(tlps)
    assert not result.nvme.drives and not result.nic.controllers
    assert [(each.requester, each.tlps) for each in result.unexplained] == [("01:00.0", 3000)]


def test_a_hole_is_in_no_latency() -> None:
    source = random.Random(1)
    drive = Drive(source, Memory(source), 0x100)
    tlps = mixed(source, [drive.run([drive.command(is_read=True, size=4096) for _ in range(40)], 4)])
    analysis = Io(SCOPE)
    analysis.update(batch_of(tlps[:300]))
    analysis.update(batch_of(tlps[400:], 400))
    (found,) = analysis.result(CONTEXT).nvme.drives
    assert found.in_flight is None and found.commands == max(found.submitted or 0, found.completed or 0)


@pytest.mark.parametrize(("code", "count"), [(0x010802, 1), (0x020000, 0), (0x030000, 0)])
def test_the_class_code_decides_where_the_machine_is_known(code: int, count: int) -> None:
    source = random.Random(1)
    drive = Drive(source, Memory(source), 0x100)
    address = PciAddress.from_id(0x100)
    machine = Machine(origin="test", functions=PciFunctions({address: PciFunction(address, None, None, Hex24(code), "")}))
    analysis = Io(SCOPE)
    analysis.update(batch_of(mixed(source, [drive.run([drive.command(is_read=True, size=4096) for _ in range(20)], 4)])))
    result = analysis.result(AnalysisContext("-", Contents(Mode.FILE), machine))
    assert [each.by.value for each in result.nvme.drives] == ["class"] * count
    assert len(result.nic.controllers) == (code >> 16 == 2)
    assert len(result.unexplained) == (code >> 16 == 3)


def test_nothing() -> None:
    result = result_of([])
    assert not result.nvme.drives and result.nvme.commands is None and result.nic.rx_packets is None


def of_drive(tlps: Sequence[Tlp]) -> IoResult:
    """The result where the class code says that it is a drive."""
    address = PciAddress.from_id(0x100)
    machine = Machine(origin="test", functions=PciFunctions({address: PciFunction(address, None, None, Hex24(0x010802), "")}))
    analysis = Io(SCOPE)
    analysis.update(batch_of(list(tlps)))
    return analysis.result(AnalysisContext("-", Contents(Mode.FILE), machine))


def test_commands_that_are_not_fetched_are_counted_by_their_completions() -> None:
    """Submission queues in the drive's own memory: the processor writes entries there."""
    source = random.Random(1)
    drive = Drive(source, Memory(source), 0x100, shadows=False)
    commands = [drive.command(is_read=number % 2 == 0, size=4096) for number in range(40)]
    tlps = mixed(source, [drive.run(commands, 4)])
    fetches = {id(entry) for entry, _ in drive.pairs}
    result = of_drive([tlp for tlp in tlps if id(tlp) not in fetches])
    (found,) = result.nvme.drives
    assert (found.is_fetched, found.commands, found.submitted, found.completed) == (False, 40, None, 40)
    assert found.counted_by == "completion entries" and found.in_flight is None
    assert (found.data_bytes.read, found.data_bytes.write, found.uncertain_bytes) == (20 * 4096,) * 3
    assert [note.code for note in result.notes] == ["no-fetches", "queues-unknown"]
    records = {id(done) for _, done in drive.pairs}
    result = of_drive([tlp for tlp in tlps if id(tlp) not in fetches | records])
    (found,) = result.nvme.drives
    assert (found.commands, found.submitted, result.nvme.commands) == (None, None, None)
    assert [note.code for note in of_drive(tlps).notes] == ["queues-unknown"]


def test_several_completions_in_one_write_count_for_each() -> None:
    source = random.Random(1)
    drive = Drive(source, Memory(source), 0x100, shadows=False)
    tlps = mixed(source, [drive.run([drive.command(is_read=True, size=4096) for _ in range(20)], 4)])
    tlps += [Tlp("MWr", 0x100, drive.completion[0].base + 16 * 20, 16 * count, time=tlps[-1].time) for count in (2, 4, 3)]
    (found,) = of_drive(tlps).nvme.drives
    assert (found.submitted, found.completed, found.data_bytes.read, found.in_flight) == (20, 29, 20 * 4096, None)


def test_metadata_of_8_bytes_are_no_interrupts() -> None:
    source = random.Random(1)
    memory = Memory(source)
    drive = Drive(source, memory, 0x100, shadows=False)
    tlps = mixed(source, [drive.run([drive.command(is_read=True, size=4096) for _ in range(20)], 4)])
    tlps += [Tlp("MWr", 0x100, memory.pages(), 8, time=tlps[-1].time) for _ in range(5)]
    (found,) = of_drive(tlps).nvme.drives
    assert (found.interrupts, found.unexplained_tlps, found.unexplained_bytes) == (drive.truth.interrupts, 5, 40)
