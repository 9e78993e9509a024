"""``ptttool compare``: two recordings side by side."""

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
    assert {measure["verdict"] for measure in found["measures"]} == {"no-difference-found"}
    assert all(measure["medians"][0] == measure["medians"][1] and measure["delta"] == 0 for measure in found["measures"])
    assert [total["tlps"] for total in found["totals"]] == [[4930, 4930], [639, 639]]
    # As in analyze traffic: writes ask for nothing.
    assert found["totals"][0]["requested_bytes"] == [0, 0] and min(found["totals"][1]["requested_bytes"]) > 0


def generated(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["generate", "--size", "512K", "-o", str(path), *options]) == 0
    capsys.readouterr()
    return str(path)


def test_noise_and_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two recordings of the same traffic do not differ; one of half of it has other shares."""
    first = generated(tmp_path / "a.data", capsys, "--seed", "1")
    second = generated(tmp_path / "b.data", capsys, "--seed", "2")
    alike = document(capsys, first, second)
    assert [measure for measure in alike["measures"] if measure["verdict"] in ("higher", "lower")] == []
    # Rows that are left out of one recording change what is left of it.
    whole = ptttool.compare(first, second, where="kind <> 'MWr' OR payload_bytes > 64 OR index % 2 = 0")
    assert whole.recordings[0].records < alike["recordings"][0]["records"]


def test_recordings_that_are_not_comparable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, str(TLPS), str(OTHER))
    assert "other-tlps" in {warning["code"] for warning in found["warnings"]}
    assert not any(measure["direction"] for measure in found["measures"])  # no TLP is in both
    cut = tmp_path / "cut.data"
    cut.write_bytes(TLPS.read_bytes()[:8000])
    short = document(capsys, str(TLPS), str(cut), code=6)
    assert {"too-short", "other-length"} <= {warning["code"] for warning in short["warnings"]}
    assert {measure["verdict"] for measure in short["measures"]} <= {"too-few-parts"}


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
    assert found == to_json(error_counts(*sides))
    assert {each["code"]: (each["counts"], each["indexes"]) for each in found} == {
        "poisoned": ([64, 0], [0, None]),
        "byte-enables": ([0, 64], [None, 0]),
    }
    unseen = error_counts(sides[0], replace(sides[1], not_seen=["poisoned"]))
    assert {each.code: each.counts for each in unseen} == {"poisoned": (64, None), "byte-enables": (0, 64)}


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
        ([str(TLPS), str(TLPS), "--time-model", "sundial"], "bad-time-model", 2),
    ],
)
def test_what_is_wrong(arguments: list[str], code: str, exit_code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert document(capsys, *arguments, code=exit_code)["error"]["code"] == code


def test_packet_traces_are_not_compared() -> None:
    with ptttool.open(PACKETS, "riscv-encap", parameters={"srcid_bits": 6}) as recording, pytest.raises(ptttool.UsageError) as caught:
        measure(recording, Ask())
    assert caught.value.code == "no-tlps"
