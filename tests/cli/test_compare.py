"""``ptttool compare``: recordings of two sides, and in what these differ."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import ptttool
from ptttool.analyses.compare.errors import error_counts
from ptttool.analyses.compare.measures import RATES
from ptttool.cli.main import main
from ptttool.documents import to_json
from ptttool.pipeline.analyzing.ask import Ask
from ptttool.pipeline.analyzing.compare import measure
from tests.support import captures

TLPS = captures.FOLDER / "6.12" / "m-8dw-port10-type7-dir2.data"
OTHER = captures.FOLDER / "6.12" / "m-8dw-port10-type7-dir1.data"
FEW_BITS = captures.FOLDER / "6.12" / "m-4dw-port10-type7-dir2.data"
PACKETS = "fixtures/etrace/median-basic.bin"


def document(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    assert main(["compare", *arguments, "--json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_recording_does_not_differ_from_itself(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, str(TLPS), str(TLPS))
    assert found == to_json(ptttool.compare(TLPS, TLPS))
    assert found["warnings"] == []
    assert found["measures"] and all(measure["medians"][0] == measure["medians"][1] for measure in found["measures"])
    assert {(measure["delta"], measure["shift"]) for measure in found["measures"]} == {(0, 0)}
    assert [total["tlps"] for total in found["totals"]] == [[4930, 4930], [639, 639]]
    # As in analyze traffic: writes ask for nothing.
    assert found["totals"][0]["requested_bytes"] == [0, 0] and min(found["totals"][1]["requested_bytes"]) > 0


def generated(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["generate", "--size", "512K", "-o", str(path), *options]) == 0
    capsys.readouterr()
    return str(path)


def test_noise_and_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Recordings of the same traffic do not differ; those of other traffic do, in what is other."""
    nvme, again, network = (
        [
            generated(
                tmp_path / f"{profile}{seed}.data",
                capsys,
                *"--direction inbound --size 64K --profile".split(),
                profile,
                "--seed",
                str(seed),
            )
            for seed in seeds
        ]
        for profile, seeds in (("nvme", range(1, 8)), ("nvme", range(8, 15)), ("network", range(1, 8)))
    )
    alike = document(capsys, *nvme, "--to", *again)
    assert {measure["verdict"] for measure in alike["measures"]} == {"no-difference-found"}
    found = document(capsys, "--json", *nvme, "--to", *network)
    assert found == to_json(ptttool.compare(nvme, network))
    assert found["sides"] == [nvme, network] and [side["name"] for side in found["recordings"]][:2] == ["A1", "A2"]
    assert found["findable"]["smallest_p"] == 2 / 3432 and found["findable"]["needed"] <= 7
    by_name = {(measure["name"], measure["direction"], measure["class"]): measure for measure in found["measures"]}
    sizes = by_name["payload-size", "inbound", "P"]
    assert (sizes["verdict"], sizes["n"], sizes["delta"], sizes["p"]) == ("lower", [7, 7], -1, 2 / 3432)
    assert sizes["interval"][0] < sizes["shift"] < sizes["interval"][1] < 0 and sizes["confidence"] >= 0.95
    # A value of each recording: that of its whole, as the analysis has it.
    writes = [each for each in ptttool.analyze(nvme[0], "payload").recordings[0].results["payload"].groups if "write" in each.operation]
    assert sizes["values"][0][0] == sum(each.bytes for each in writes) / sum(each.tlps for each in writes)
    # Rows that are left out of one recording change what is left of it.
    whole = ptttool.compare(nvme[0], again[0], where="kind <> 'MWr' OR payload_bytes > 64 OR index % 2 = 0")
    assert whole.recordings[0].records < alike["recordings"][0]["records"]


def test_too_few_recordings_have_no_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """However much they differ: of three and three, the smallest p is 0.1."""
    paths = [generated(tmp_path / f"{number}.data", capsys, "--size", "64K", "--seed", str(number)) for number in range(4)]
    one = document(capsys, str(TLPS), paths[0])
    assert one["measures"] and {(each["verdict"], each["p"], each["p_corrected"]) for each in one["measures"]} == {(None, None, None)}
    assert {each["interval"] for each in one["measures"]} == {None} and one["findable"]["smallest_p"] == 1
    assert all(each["shift"] == each["values"][1][0] - each["values"][0][0] for each in one["measures"])
    few = document(capsys, paths[0], paths[1], "--to", paths[2], paths[3])
    assert few["findable"]["smallest_p"] == 1 / 3 and few["findable"]["needed"] > 3
    assert {each["verdict"] for each in few["measures"]} == {None} and {each["n"][0] for each in few["measures"]} == {2}
    assert all(each["interval"] and each["confidence"] == pytest.approx(2 / 3) for each in few["measures"])
    assert main(["compare", *paths[:2], "--to", *paths[2:]]) == 0
    assert f" {few['findable']['needed']} of each side" in capsys.readouterr().out


WAYS = [
    "A --to B C --json",
    "--json A --to B C",
    "--to B C --json A",
    "A --to=B C --to json",
    "--to json A --to B --to C",
    "A --to B C json",
    "A --to B -q --to C --json",
    "--to B C --to json -- A",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sides")
    for seed, name in enumerate("ABC"):
        assert main(["generate", "-o", str(folder / name), "--seed", str(seed), "--size", "16K"]) == 0
    return folder


@pytest.mark.parametrize("line", WAYS)
def test_ways_to_name_the_sides(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(folder)
    capsys.readouterr()
    assert main(["compare", *line.split()]) == 0
    assert json.loads(capsys.readouterr().out)["sides"] == [["A"], ["B", "C"]]


def test_a_measure_that_too_few_recordings_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Others of the same recordings have a verdict; it has none, and says which recordings have a value."""
    sides: list[list[Path]] = []
    for side, (sizes, reads) in enumerate(((range(1, 6), (0,)), (range(11, 16), (0, 1, 2, 3, 4)))):
        sides.append([tmp_path / f"{side}{number}.bin" for number in range(5)])
        for number, (path, size) in enumerate(zip(sides[-1], sizes, strict=True)):
            dw0 = [0x60000000 | size, *([0x20000000 | size] if number in reads else [])]
            path.write_bytes(b"".join(struct.pack("<8I", 0xFFFFFFFF, 0, each, 0x010000FF, 0, 0x1000, 0, 5) for each in dw0) * 64)
    found = document(capsys, *map(str, sides[0]), "--to", *map(str, sides[1]), "--input", "8dw", "--downstream", "01")
    by_name = {(each["name"], each["class"]): each for each in found["measures"]}
    written, asked = by_name["payload-size", "P"], by_name["request-size", "NP"]
    assert (written["verdict"], written["n"], written["shift"]) == ("higher", [5, 5], 40)
    assert (asked["verdict"], asked["n"], asked["values"][0]) == (None, [1, 5], [4, None, None, None, None])


def test_folders_are_sides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each stands for its recordings; one named as a form is written with its folder."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for number in (1, 2):
            generated(tmp_path / name / f"{number}.data", capsys, "--seed", f"{ord(name)}{number}", "--size", "16K")
    found = document(capsys, str(tmp_path / "a"), str(tmp_path / "b"))
    assert [len(side) for side in found["sides"]] == [2, 2]
    Path(tmp_path / "md").write_bytes(TLPS.read_bytes())
    assert document(capsys, str(TLPS), "--to", str(tmp_path / "md"))["sides"][1] == [str(tmp_path / "md")]


def test_a_class_that_one_recording_lacks_is_none_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where all were recorded alike, and the directions of all are known, or of none."""
    paths = []
    for number, lines in enumerate((["MWr"], ["MWr", "MRd"], ["MRd", "MRd"])):
        dw0 = {"MWr": 0x60000001, "MRd": 0x20000001}
        paths.append(tmp_path / f"{number}.bin")
        paths[-1].write_bytes(b"".join(struct.pack("<8I", 0xFFFFFFFF, 0, dw0[one], 0x0100000F, 0, 0x1000, 0, 5) for one in lines) * 64)
    found = document(capsys, str(paths[0]), str(paths[1]), "--to", str(paths[2]), "--input", "8dw", "--downstream", "01")
    shares = {(each["direction"], each["class"]): each["values"] for each in found["measures"] if each["name"] == "tlp-share"}
    assert shares == {("inbound", "P"): [[100, 50], [0]], ("inbound", "NP"): [[0, 50], [100]]}
    blind = document(capsys, str(paths[0]), str(paths[1]), "--to", str(paths[2]), "--input", "8dw")
    shares = {(each["direction"], each["class"]): each["values"] for each in blind["measures"] if each["name"] == "tlp-share"}
    assert shares == {("unknown", "P"): [[100, 50], [0]], ("unknown", "NP"): [[0, 50], [100]]}


def test_recordings_that_are_not_comparable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, str(TLPS), str(OTHER))
    assert "other-tlps" in {warning["code"] for warning in found["warnings"]}
    assert not any(measure["direction"] for measure in found["measures"])  # no TLP is in both
    cut = tmp_path / "cut.data"
    cut.write_bytes(TLPS.read_bytes()[:8000])
    short = document(capsys, str(TLPS), str(cut), code=6)
    assert {"too-short", "other-length"} <= {warning["code"] for warning in short["warnings"]}
    assert {measure["verdict"] for measure in short["measures"]} <= {None}
    # Any of several, by its name, and the others are compared.
    several = document(capsys, str(TLPS), str(cut), "--to", str(OTHER), code=6)
    assert {"too-short", "other-length", "other-tlps"} <= {warning["code"] for warning in several["warnings"]}
    assert "A2" in next(warning["message"] for warning in several["warnings"] if warning["code"] == "too-short")
    assert several["error"] == short["error"]


def test_unknown_directions_are_not_silent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same recording, once with what trace keeps beside it and once without: directions are known of one of them."""
    known, bare = tmp_path / "known.data", tmp_path / "bare.data"
    assert main(["trace", "--demo", "--rootport", "0000:00:10.0", "--direction", "both", "--no-decode", "-o", str(known)]) == 0
    bare.write_bytes(known.read_bytes())
    found = document(capsys, str(known), str(bare))
    assert "unknown-direction" in {warning["code"] for warning in found["warnings"]}
    both = document(capsys, str(known), str(known))
    assert "unknown-direction" not in {warning["code"] for warning in both["warnings"]}


def test_time_that_is_not_all_seen_gives_no_rates(capsys: pytest.CaptureFixture[str]) -> None:
    """In 11 bits, long gaps hide a part of themselves: what divides by them is not compared, and lengths in ticks are not either."""
    known = document(capsys, str(TLPS), str(TLPS), "--time-model", "counter")
    found = document(capsys, str(FEW_BITS), str(FEW_BITS), "--time-model", "counter")
    mixed = document(capsys, str(TLPS), str(FEW_BITS), "--time-model", "counter", "--tick-ns", "4")
    rates = [{each["name"] for each in one["measures"]} & set(RATES) for one in (known, found, mixed)]
    assert rates == [set(RATES), set(), set()]
    least = [[side["is_at_least"] for side in one["recordings"]] for one in (known, found, mixed)]
    assert least == [[False, False], [True, True], [False, True]]
    assert ["time-at-least" in {each["code"] for each in one["warnings"]} for one in (known, found, mixed)] == [False, True, True]


def test_errors_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each kind has the counts that the analysis of errors finds in each recording; what cannot be seen is null, not 0."""
    paths, sides = [], []
    for name, dw0, dw1 in (("a.bin", 0x40004001, 0x0100000F), ("b.bin", 0x40000001, 0x010000FF)):  # EP; byte enables that break a rule
        paths.append(tmp_path / name)
        paths[-1].write_bytes(struct.pack("<8I", 0xFFFFFFFF, 0, dw0, dw1, 0x1000, 0, 0, 5) * 64)
        with ptttool.open(paths[-1], "hisi-ptt", parameters={"input": "8dw"}) as recording:
            sides.append(recording.analyze("errors"))
    found = document(capsys, *map(str, paths), "--input", "8dw")["errors"]
    assert found == to_json(error_counts(sides[:1], sides[1:]))
    assert {each["code"]: (each["counts"], each["indexes"]) for each in found} == {
        "poisoned": ([64, 0], [0, None]),
        "byte-enables": ([0, 64], [None, 0]),
    }
    unseen = error_counts(sides[:1], [replace(sides[1], not_seen=["poisoned"])])
    assert {each.code: each.counts for each in unseen} == {"poisoned": (64, None), "byte-enables": (0, 64)}
    (poisoned, _) = error_counts(sides, sides[:1])
    assert (poisoned.counts, poisoned.shares, poisoned.indexes) == ((64, 64), (0.5, 1.0), (None, 0))


def test_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(TLPS), str(TLPS)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["inbound", "P", "4,930", "4,930", *["1,205,812"] * 2, "0", "0"] in lines
    assert main(["compare", str(TLPS), str(TLPS), "--to", "md"]) == 0
    assert "| inbound P | 4,930 | 4,930 |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "exit_code"),
    [
        (["-", "-"], "stdin-twice", 2),
        ([str(TLPS), "missing.data"], "no-such-file", 6),
        ([str(TLPS), str(TLPS), "--to", "pdf"], "unknown-form", 2),
        ([str(TLPS), "--to", "missing.data"], "no-such-file", 6),
        ([str(TLPS)], "missing-argument", 2),
        (["--to", str(TLPS)], "missing-argument", 2),
        ([str(TLPS), str(OTHER), "--to"], "missing-value", 2),
        ([str(TLPS), str(OTHER), str(FEW_BITS)], "which-side", 2),
        ([str(TLPS), str(OTHER), "--to", str(TLPS)], "same-recording", 2),
        ([str(TLPS), f"{TLPS.parent}/../{TLPS.parent.name}/{TLPS.name}", "--to", str(OTHER)], "same-recording", 2),
        ([*map(str, range(101)), "--to", str(TLPS)], "too-many-recordings", 2),
        ([str(TLPS), str(OTHER), "--to", str(FEW_BITS), "--parts", "16"], "exclusive-options", 2),
        ([str(TLPS), str(TLPS), "--time-model", "sundial"], "bad-time-model", 2),
    ],
)
def test_what_is_wrong(arguments: list[str], code: str, exit_code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert document(capsys, *arguments, code=exit_code)["error"]["code"] == code


def test_packet_traces_are_not_compared() -> None:
    with ptttool.open(PACKETS, "riscv-encap", parameters={"srcid_bits": 6}) as recording, pytest.raises(ptttool.UsageError) as caught:
        measure(recording, Ask())
    assert caught.value.code == "no-tlps"
