from __future__ import annotations

import gzip
import io

import pytest

from ptttool.errors import InputError
from ptttool.machine import budget
from ptttool.machine.sources import recorded
from ptttool.machine.sources.files import MemoryFiles
from ptttool.machine.sources.recorded import RecordedSource, parse_database


def parsed(text: str) -> dict[str, dict[str, str]]:
    return parse_database(io.BytesIO(text.encode("utf-8", "replace")), "the udev database")


def test_blocks_and_properties() -> None:
    text = "P: /devices/a\nM: a\nE: DEVPATH=/devices/a\nE: NAME=x=y\n\nP: /devices/b\nN: b\nE: SUBSYSTEM=net\n"
    assert parsed(text) == {"/sys/devices/a": {"DEVPATH": "/devices/a", "NAME": "x=y"}, "/sys/devices/b": {"SUBSYSTEM": "net"}}


def test_whatever_else_is_passed_over() -> None:
    assert parsed("") == {}
    assert parsed("root:x:0:0:\nE: STRAY=1\n\nP: relative\nE: A=1\n\nP: /a\nE: no equals sign\nE: B=\n") == {"/sys/a": {"B": ""}}


def test_lines_end_where_udev_ends_them() -> None:
    text = "P: /a\nE: A=b\x0bc\u2028d\nE: B=1\r\n"
    assert parsed(text) == {"/sys/a": {"A": "b\x0bc\u2028d", "B": "1"}}


@pytest.mark.parametrize("limit", ["MAX_DATABASE_BYTES", "MAX_DATABASE_DEVICES", "MAX_DATABASE_PROPERTIES"])
@pytest.mark.parametrize("name", ["/udev.txt", "/udev.txt.gz"])
def test_databases_above_a_budget(limit: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"P: /a\nE: A=1\n\n" + b"P: /b\nE: B=1\nE: SUBSYSTEM=net\n" + b"#" * 4000 + b"\n"
    source = RecordedSource(MemoryFiles({name: gzip.compress(data) if name.endswith(".gz") else data}, {}), "here")
    assert source.properties("/sys/b") == {"B": "1", "SUBSYSTEM": "net"}
    monkeypatch.setattr(recorded, limit, 1)
    source = RecordedSource(MemoryFiles({name: gzip.compress(data) if name.endswith(".gz") else data}, {}), "here")
    with pytest.raises(InputError) as error:
        source.properties("/sys/b")
    assert (error.value.code, error.value.path, error.value.details["limit"]) == ("over-budget", f"here{name}", 1)


def test_databases_that_expand_too_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "EXPANDED_FREE", 1 << 10)
    source = RecordedSource(MemoryFiles({"/udev.txt.gz": gzip.compress(bytes(1 << 20))}, {}), "here")
    with pytest.raises(InputError) as error:
        source.devices("pci")
    assert error.value.code == "over-budget"
    assert budget.EXPANDED_RATIO < 1000


def test_packed_lines_of_any_length() -> None:
    long = "x" * 200_000
    data = f"P: /a\nE: A={long}\nE: B=1\n".encode()
    source = RecordedSource(MemoryFiles({"/udev.txt.gz": gzip.compress(data)}, {}), "here")
    found = source.properties("/sys/a")
    assert found["B"] == "1"
    assert long.startswith(found["A"])


def test_paths_that_no_kernel_has() -> None:
    source = RecordedSource(MemoryFiles({"/a/b": b"1"}, {"/l": "/a/" * 2000}), "here")
    for path in ("/a/" + "../a/" * 1000 + "b", "/l" * 10 + "/b"):
        with pytest.raises(OSError, match="too long"):
            source.read(path)
