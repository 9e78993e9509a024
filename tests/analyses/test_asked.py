"""Recordings of something else than their event asks for: all of them are found, and no other recording."""

from __future__ import annotations

import json
import lzma
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import ptttool
from ptttool.analyses.loss.analysis import LossSigns
from ptttool.analyses.loss.asked import CODE, Asked, asked_for
from ptttool.api.machine import find_machine
from ptttool.capture import replay
from ptttool.capture.event.terms import DEFAULT_TERMS, encode
from ptttool.cli.main import main
from ptttool.diagnostics import Diagnostic
from ptttool.machine.model import Machine, PciFunctions
from ptttool.pci import PciAddress
from ptttool.perfdata.model import Attribute, Contents, Mode
from ptttool.pipeline.analyzing.ask import Ask
from ptttool.pipeline.recording import OpenRecording, Request
from ptttool.pipeline.summary import summarize
from ptttool.pipeline.workers.pool import ALONE, Pool, Workers
from tests.support import captures
from tests.support.recordings import DEFAULT_CONFIG, build_perfdata, words_8dw

FAULT = captures.FOLDER / "faults" / "filter-not-in-force.data.xz"
BOTH = "6.12/m-4dw-port10-type7-dir2"
INBOUND, OUTBOUND = "m-4dw-port10-type7-dir0.data.xz", "m-4dw-port10-type7-dir1.data.xz"
# The config of INBOUND: filter=0x80001,type=7,direction=0,format=0.
INBOUND_CONFIG = 0x708_0001


@pytest.fixture(scope="module")
def demo() -> Machine:
    return find_machine(demo=True)


@pytest.fixture
def fault(tmp_path: Path) -> Path:
    """The recording with its sidecar."""
    path = tmp_path / "rem.data"
    path.write_bytes(lzma.decompress(FAULT.read_bytes()))
    shutil.copy(FAULT.with_name("filter-not-in-force.data.ptttool.json"), f"{path}.ptttool.json")
    return path


def signs(path: Path, machine: Machine | None = None, workers: Workers = ALONE) -> list[Diagnostic]:
    with OpenRecording(Request(str(path))) as recording:
        return [sign for sign in summarize(recording, Ask(workers, machine)).signs_of_loss if sign.code == CODE]


def good() -> Iterator[Path]:
    yield from sorted(path for folder in ("6.1", "6.12", "workloads") for path in (captures.FOLDER / folder).glob("*.data*"))
    yield from sorted(replay.FOLDER.glob("*.xz"))


@pytest.mark.parametrize("path", [*good()], ids=lambda path: path.name.partition(".")[0])
def test_good_recordings(path: Path, tmp_path: Path, demo: Machine) -> None:
    if path.suffix == ".xz":
        (tmp_path / "x.data").write_bytes(lzma.decompress(path.read_bytes()))
        path = tmp_path / "x.data"
    assert signs(path) == signs(path, demo) == []


def test_a_filter_that_was_not_in_force(fault: Path) -> None:
    """Of the completions, those that 07:00.0 sends or asked for count as good: which ID the device compares is not documented."""
    (sign,) = signs(fault)
    assert {name: sign.details[name] for name in ("tlps", "of", "reasons")} == {"tlps": 11089, "of": 11598, "reasons": {"requester": 11089}}
    assert sign.details["requesters"] == {"06:00.0": 9984, "08:00.1": 357, "08:00.0": 325}
    assert sign.severity == "error"
    with ptttool.open(fault) as recording:
        here = recording.to_polars(["class", "requester", "completer"])
        told = recording.analyze("loss")
        assert isinstance(told, LossSigns)
        assert [one for one in told.signs if one.code == CODE] == [sign]
        together = recording.analyze("loss", jobs=2)
        assert together == told
    wanted = PciAddress(0, 7, 0, 0).routing_id
    rows: list[tuple[str, int, int | None]] = here.rows()
    assert sum(requester != wanted and not (of == "CPL" and completer == wanted) for of, requester, completer in rows) == 11089


def test_workers_find_the_same(fault: Path) -> None:
    with Pool(2) as workers:
        assert signs(fault, workers=workers) == signs(fault)


def test_every_command_tells(fault: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def document(*arguments: str) -> dict[str, Any]:
        assert main([*arguments, "--json"]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    (told,) = (sign for sign in document("info", str(fault))["signs_of_loss"] if sign["code"] == CODE)
    assert told["details"]["tlps"] == 11089
    assert told in document("analyze", "loss", str(fault))["signs"]
    assert main(["info", str(fault)]) == 0
    assert "11,089 of 11,598" in capsys.readouterr().out


def with_config(name: str, config: int, folder: Path) -> Path:
    """A bundled recording whose header says that another event was recorded."""
    data = lzma.decompress((replay.FOLDER / name).read_bytes())
    before = next(one for one in replay.bundled() if one.file == name).config
    path = folder / "changed.data"
    path.write_bytes(data.replace(before.to_bytes(8, "little"), config.to_bytes(8, "little")))
    return path


def config(filter: int, *, type: int = 7, direction: int = 0, format: int = 0) -> int:
    return encode({"filter": filter, "type": type, "direction": direction, "format": format}, DEFAULT_TERMS)


@pytest.mark.parametrize(
    ("name", "asked", "topology", "reasons"),
    [
        (INBOUND, config(0x80001), True, {}),
        (INBOUND, config(0x80001, type=1), False, {"type": 627 + 16}),
        (INBOUND, config(0x80004), True, {"port": 4926 + 627}),
        # Without the topology, nothing is known about 01:00.0.
        (INBOUND, config(0x80004), False, {}),
        (INBOUND, config(0x00100), False, {}),
        (INBOUND, config(0x00200), False, {"requester": 5569}),
        # Both directions: peer-to-peer requests may come from anywhere.
        (INBOUND, config(0x80004, direction=2), True, {}),
        # Nothing is known about what a reserved direction traces, or an empty mask.
        (INBOUND, config(0x80001, direction=7), True, {}),
        (INBOUND, config(0x80000), True, {}),
    ],
)
def test_other_events(name: str, asked: int, topology: bool, reasons: dict[str, int], tmp_path: Path, demo: Machine) -> None:
    found = signs(with_config(name, asked, tmp_path), demo if topology else None)
    assert (found[0].details["reasons"] if found else {}) == reasons


def test_outbound_is_not_inbound(tmp_path: Path, demo: Machine) -> None:
    """Configuration requests, and requests of the processor, do not come from a device."""
    path = with_config(OUTBOUND, INBOUND_CONFIG, tmp_path)
    alone, known = signs(path)[0], signs(path, demo)[0]
    with ptttool.open(path) as recording:
        requests = recording.to_polars(["class"], where="class <> 'CPL'").height
    assert alone.details["tlps"] == known.details["tlps"] == requests


@pytest.mark.parametrize(
    ("event", "kind", "requester", "reason"),
    [
        (config(0x80001), "Unknown", None, None),
        (config(0x80001), "Msg", 0, None),
        (config(0x80001, type=2), "Msg", 0, "type"),
        (config(0x80001), "MRd", 0x0100, None),
        (config(0x80001), "MRd", 0x0600, "port"),
        (config(0x80005), "MRd", 0x0200, None),
        (config(0x80001), "MRd", 0, "port"),
        (config(0x80001), "CfgRd0", 0x0100, "direction"),
        (config(0x80001, direction=1), "CfgRd0", 0, None),
        (config(0x80001), "CplD", 0x0600, None),
        (config(0x80001, direction=1), "CplD", 0x0600, "port"),
        (config(0x80001, direction=1), "CplD", 0x0100, None),
        (config(0x80001, direction=3), "CplD", 0x0600, None),
        (config(0x80001, direction=2, format=1), "CplD", 0x0600, None),
        (config(0x80001, direction=2, format=1), "MWr", 0x0600, "port"),
        # A root port that this device does not have: what is behind it is not known, but bus 0 is not.
        (config(0x84000), "MWr", 0x0600, None),
        (config(0x84000), "MWr", 0x0010, "direction"),
        (config(0x00700), "MWr", 0x0701, "requester"),
        (config(0x00700), "MsgD", 0x0701, None),
        (config(0x00700), "CplD", 0x0701, None),
        (config(0x70700), "MWr", 0x0700, None),
    ],
)
def test_what_cannot_be(event: int, kind: str, requester: int | None, reason: str | None, demo: Machine) -> None:
    contents = Contents(Mode.FILE, auxtrace_type=6, auxtrace_priv=(11,))
    contents.attributes.append(attribute_of(event))
    asked = asked_for(contents, demo)
    assert isinstance(asked, Asked)
    assert asked.excludes(kind, requester) == reason


def attribute_of(event: int) -> Attribute:
    with ptttool.open(captures.FOLDER / f"{BOTH}.data") as recording:
        assert recording.attribute is not None
        return structs.replace(recording.attribute, type=11, config=event)


def test_buses_of_a_port_that_was_not_configured(demo: Machine) -> None:
    contents = Contents(Mode.FILE, auxtrace_type=6, auxtrace_priv=(11,))
    contents.attributes.append(attribute_of(config(0x80001)))
    port = demo.functions[PciAddress(0, 0, 0x10, 0)]
    changed = structs.replace(
        demo, functions=PciFunctions({**demo.functions, port.address: structs.replace(port, secondary=0, subordinate=0)})
    )
    asked = asked_for(contents, changed)
    assert asked is not None
    assert asked.excludes("MRd", 0x0100) == "port"
    unknown = structs.replace(demo, functions=PciFunctions({**demo.functions, port.address: structs.replace(port, secondary=None)}))
    asked = asked_for(contents, unknown)
    assert asked is not None
    assert asked.excludes("MRd", 0x0100) is None


def test_the_topology_of_another_machine(tmp_path: Path, demo: Machine) -> None:
    """--sysfs and --demo can name any machine."""
    path = with_config(INBOUND, config(0x80004), tmp_path)
    assert signs(path, demo)
    assert signs(path, structs.replace(demo, hostname="another")) == []


def test_parts_merge(tmp_path: Path) -> None:
    """Several units, decoded by several processes."""
    path = tmp_path / "x.data"
    data = lzma.decompress((replay.FOLDER / INBOUND).read_bytes())
    with ptttool.open(with_config(INBOUND, config(0x80001), tmp_path)) as recording:
        payload = b"".join(chunk.read(0, chunk.size) for chunk in recording.source().chunks())
    assert payload in data
    times = (1 << 22) // len(payload)
    path.write_bytes(build_perfdata([(0, 0, payload * times)], config=config(0x00200)))
    with Pool(2) as workers:
        (together,) = signs(path, workers=workers)
    (alone,) = signs(path)
    assert together == alone
    assert (alone.details["tlps"], alone.details["of"]) == (5569 * times, 5569 * times)


def test_raw_dumps_say_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(words_8dw(100))
    with ptttool.open(tmp_path / "x.bin", "hisi-ptt", parameters={"input": "8dw"}, form="raw") as recording:
        assert recording.analyze("loss") == LossSigns([])


def test_only_needed_columns_are_decoded(tmp_path: Path) -> None:
    """The completers of all TLPs are looked at only for an event with a requester filter."""
    path = tmp_path / "x.data"
    for number, columns in ((DEFAULT_CONFIG, ()), (config(0x00100, format=1, direction=2), ("completer",))):
        path.write_bytes(build_perfdata([(0, 0, words_8dw(100))], config=number))
        with OpenRecording(Request(str(path))) as recording:
            assert further("summary", recording) == columns
            assert further("loss", recording) == ("kind", "requester", "own_direction", *columns)


def further(name: str, recording: OpenRecording) -> Sequence[str]:
    return ptttool.ANALYSES.get(name).further_columns(recording.contents)
