"""The macros for DuckDB, on Parquet that ptttool writes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest

import ptttool
from ptttool.cli.main import main
from ptttool.pci import format_id
from ptttool.tlp import codes
from tests.support import captures


@pytest.fixture
def macros(capsys: pytest.CaptureFixture[str]) -> duckdb.DuckDBPyConnection:
    assert main(["duckdb"]) == 0
    connection = duckdb.connect()
    connection.execute(Path(capsys.readouterr().out.strip()).read_text(encoding="utf-8"))
    return connection


def one(connection: duckdb.DuckDBPyConnection, sql: str, *values: Any) -> Any:
    row = connection.execute(f"SELECT {sql}", values).fetchone()
    assert row is not None
    return row[0]


def test_every_id_there_and_back(macros: duckdb.DuckDBPyConnection) -> None:
    parts = "bdf_bus(n), bdf_device(n), bdf_function(n)"
    rows = macros.execute(f"SELECT n, bdf_text(n), bdf(bdf_text(n)), {parts} FROM range(65536) t(n)").fetchall()
    assert rows == [(n, format_id(n), n, n >> 8, n >> 3 & 31, n & 7) for n in range(65536)]
    assert one(macros, "bdf('0000:01:00.0')") == 256
    assert one(macros, "bdf(NULL)") is None
    assert one(macros, "bdf_text(NULL)") is None


@pytest.mark.parametrize("text", ["", "1:0.0", "01:20.0", "01:00.8", "nvme0", "01:00.0 "])
def test_what_is_not_an_id_is_an_error(text: str, macros: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.InvalidInputException):
        one(macros, "bdf(?)", text)


def test_kinds_and_statuses_are_those_of_the_decoder(macros: duckdb.DuckDBPyConnection) -> None:
    for known in codes.TYPES.values():
        found = [one(macros, f"is_{name}(?)", known.kind) for name in ("request", "completion", "answered", "atomic", "read", "write")]
        is_request = known.family not in ("completion", "message")
        is_plain = is_request and known.family != "atomic"
        assert found == [
            is_request, known.family == "completion", known.tlp_class == "NP", known.family == "atomic",
            is_plain and not known.has_data, is_plain and known.has_data,
        ]  # fmt: skip
    assert not one(macros, "is_request('Unknown')")
    for status, text in codes.STATUS_NAMES.items():
        assert one(macros, "status_text(?)", status) == text


def test_parquet_of_a_recording(macros: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    path = tmp_path / "tlps.parquet"
    with ptttool.open(captures.path_of("6.12/s-8dw-ports-dir3", tmp_path)) as recording:
        recording.export(path)
        rows = recording.to_polars().to_dicts()
    requester = Counter(row["requester"] for row in rows).most_common(1)[0][0]
    found = macros.execute(
        f"SELECT bdf_text(requester), hex_text(address), completion_bytes(byte_count, length_dw, lower_address),"
        f" is_last_completion(kind, status, byte_count, length_dw, lower_address), is_relaxed(attr) FROM '{path}'"
        f" WHERE requester = bdf('{format_id(requester)}') ORDER BY index"
    ).fetchall()
    chosen = [row for row in rows if row["requester"] == requester]
    assert len(found) == len(chosen) > 10
    for (text, address, size, is_last, is_relaxed), row in zip(found, chosen, strict=True):
        assert text == format_id(requester)
        assert address == (None if row["address"] is None else f"{row['address']:#x}")
        assert is_relaxed == bool(row["attr"] & 2)
        if row["kind"] == "CplD":
            room = 4 * row["length_dw"] - row["lower_address"] % 4
            assert (size, is_last) == (min(room, row["byte_count"]), row["status"] != "SC" or row["byte_count"] <= room)
