"""``decode --at`` and ``decode --follow``: from the number of a TLP to what is around it and what belongs to it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import ptttool
from ptttool.analyses.follow import to_come
from ptttool.cli.main import main
from ptttool.documents import to_json
from tests.support import captures

TLPS = captures.FOLDER / "6.12" / "m-4dw-port10-type7-dir2.data"


def rows_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert main(["decode", str(TLPS), "--json", *arguments]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    ("at", "context", "expected"),
    [(100, 2, range(98, 103)), (1, 3, range(5)), (0, 0, range(1)), (6720, 5, range(6715, 6722))],
)
def test_the_rows_around_one(at: int, context: int, expected: Sequence[int], capsys: pytest.CaptureFixture[str]) -> None:
    found = rows_of(capsys, "--at", str(at), "--context", str(context), "--columns", "index")
    assert [row["index"] for row in found] == list(expected)


def naive(rows: Sequence[dict[str, Any]], index: int) -> tuple[int | None, list[int]]:
    """The request and the completions of a TLP, found by looking row by row; for recordings without a loss."""
    row = rows[index]
    key = row["requester"], row["tag"]
    request = index
    while rows[request]["class"] != "NP" or (rows[request]["requester"], rows[request]["tag"]) != key:
        request -= 1
        if request < 0:
            return None, []
    found = []
    for number in range(request + 1, len(rows)):
        one = rows[number]
        if (one["requester"], one["tag"]) != key or one["class"] == "P":
            continue
        if one["class"] == "NP":
            break
        found.append(number)
        if one["kind"] != "CplD" or to_come(one) == 0:
            break
    return request, found


def test_transactions_are_those_of_plain_looking(capsys: pytest.CaptureFixture[str]) -> None:
    """From requests and from each of their completions, whole and in several parts."""
    rows = rows_of(capsys)
    with ptttool.open(TLPS) as recording:
        chosen = [number for number, row in enumerate(rows) if row["class"] in ("NP", "CPL")]
        # The longest transactions are among them.
        for index in [*chosen[:6], *chosen[len(chosen) // 2 :: 97], chosen[-1]]:
            request, completions = naive(rows, index)
            found = recording.follow(index)
            assert (None if found.request is None else found.request["index"]) == request
            if request is not None:
                assert [row["index"] for row in found.completions] == completions
                assert found.requested_bytes == rows[request]["requested_bytes"]
                if found.state.value == "complete":
                    assert found.received_bytes == (found.requested_bytes if rows[request]["kind"] == "MRd" else found.received_bytes)


def document(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    assert main(["decode", "--follow", *arguments, "--json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_document_is_that_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    with ptttool.open(TLPS) as recording:
        frame = recording.to_polars(["index"], where="kind = 'CplD'", limit=1)
        index = frame["index"][0]
        expected = to_json(recording.follow(index))
        assert to_json(recording.follow(index, jobs=2)) == expected
    assert document(capsys, str(index), str(TLPS)) == expected
    assert main(["decode", "--follow", str(index), str(TLPS)]) == 0
    assert any(line.split()[:2] == ["=>", str(index)] for line in capsys.readouterr().out.splitlines())


def test_time_in_nanoseconds_only_by_a_known_tick(capsys: pytest.CaptureFixture[str]) -> None:
    with ptttool.open(TLPS) as recording:
        index = recording.to_polars(["index"], where="kind = 'MRd'", limit=1)["index"][0]
    plain = document(capsys, str(index), str(TLPS), "--time-model", "counter")
    assert plain["tick_ns"] is None and plain["ticks_to_last"] >= plain["ticks_to_first"] >= 0
    assert document(capsys, str(index), str(TLPS), "--time-model", "counter", "--tick-ns", "4")["tick_ns"] == 4
    unknown = document(capsys, str(index), str(TLPS), "--time-model", "unknown")
    assert (unknown["ticks_to_first"], unknown["state"]) == (None, plain["state"])


def test_completions_that_the_event_does_not_ask_for(capsys: pytest.CaptureFixture[str]) -> None:
    """A request of a recording of inbound TLPs only is not taken for unanswered."""
    inbound = captures.FOLDER / "6.12" / "m-8dw-port10-type7-dir2.data"
    found = document(capsys, "0", str(inbound))
    assert (found["state"], found["request"]["direction"], found["completions"]) == ("not-traced", "inbound", [])


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--follow", "1000000", str(TLPS)], "no-such-index"),
        (["--at", "1000000", str(TLPS)], "no-such-index"),
        (["--follow", "1", str(TLPS), str(TLPS)], "one-recording"),
        (["--follow", "1", str(TLPS), "--where", "tag = 1"], "exclusive-options"),
        (["--at", "1", "--follow", "1", str(TLPS)], "exclusive-options"),
        (["--context", "1", str(TLPS)], "context-without-at"),
        (["--at", "1", "--offset", "1", str(TLPS)], "exclusive-options"),
        (["--follow", "1", "--protocol", "riscv-encap", "-p", "srcid_bits=6", "fixtures/etrace/median-basic.bin"], "no-tlps"),
    ],
)
def test_what_is_wrong(arguments: list[str], code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", *arguments, "--json"]) == 2
    lines = capsys.readouterr().out.splitlines()
    error = json.loads(lines[-1] if len(lines) == 1 else "\n".join(lines))["error"]
    assert error["code"] == code


def test_no_file_of_rows_around_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "rows.csv"
    last = len(rows_of(capsys, "--columns", "index")) - 1
    assert main(["decode", str(TLPS), "--at", str(last + 1), "-o", str(out)]) == 2
    assert not out.exists()
    assert main(["decode", str(TLPS), "--at", str(last), "-o", str(out)]) == 0
    assert out.exists()


def test_a_transaction_of_a_damaged_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = tmp_path / "cut.data"
    cut.write_bytes(TLPS.read_bytes()[:100_000])
    found = document(capsys, "0", str(cut), code=6)
    assert (found["state"], found["error"]["code"]) == ("posted", "truncated")
    assert document(capsys, "6721", str(cut), code=6)["error"]["code"] == "truncated"


def test_nothing_is_followed_in_a_pipe() -> None:
    command = [sys.executable, "-m", "ptttool", "decode", "--follow", "1", "-", "--json"]
    done = subprocess.run(command, input=TLPS.read_bytes(), capture_output=True, check=False)
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (2, "pipe-follow")
