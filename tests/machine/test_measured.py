"""What the self-test keeps in machine.json, and which of it is believed."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import jsonschema
import pytest
from msgspec.structs import replace

from ptttool.budget import CODE as OVER_BUDGET
from ptttool.diagnostics import Severity
from ptttool.documents import to_json
from ptttool.errors import AccessError, OutputError
from ptttool.machine.budget import MAX_MEASURED_BYTES, MAX_MEASURED_ENTRIES
from ptttool.machine.measured import MachineKey, Measured, MeasuredClock, MeasuredMachines, keep, key_of, measured_here
from ptttool.machine.sources.recorded import RecordedSource
from tests.generated.schemas import schema_of
from tests.support.machines import NEW, OLD, contents, in_memory

CLOCK = MeasuredClock("counter", 32, 4.0, 3.9994, 4.0005, 61)
SOC = "/sys/devices/soc0/soc_id"
MIDR = "/sys/devices/system/cpu/cpu0/regs/identification/midr_el1"


def machine(name: str = NEW, **texts: str) -> RecordedSource:
    """A recorded machine with further files: ``soc``, ``midr``, ``driver``, ``cpuinfo``."""
    files, links = contents(name)
    paths = {"soc": SOC, "midr": MIDR, "driver": "/sys/module/hisi_ptt/srcversion", "cpuinfo": "/proc/cpuinfo"}
    for key, text in texts.items():
        files[paths[key]] = f"{text}\n".encode()
    return in_memory(files, links)


def measured(source: RecordedSource, when: str = "2026-11-20T10:00:00+00:00") -> Measured:
    key = key_of(source)
    assert key is not None
    return Measured(key, when, {"8dw": CLOCK, "4dw": replace(CLOCK, bits=11)}, in_order=True, commits_early=None)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "machine.json"


def codes(source: RecordedSource, path: Path | None = None) -> list[str]:
    """What is reported of a file that gives nothing."""
    found, problems = measured_here(source, path)
    assert found is None
    return [problem.code for problem in problems]


def test_it_is_kept(file: Path) -> None:
    here = machine(soc="jep106:0736:1620", driver="ABC")
    old = os.umask(0o077)
    try:
        assert keep(measured(here), file) == file
    finally:
        os.umask(old)
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o022) == (0o644, 0)
    assert measured_here(here, file) == (measured(here), ())
    body = json.loads(file.read_text())
    jsonschema.validate(body, schema_of("machine", MeasuredMachines))
    assert body["entries"][0]["key"] == {"driver": "ABC", "kernel": body["entries"][0]["key"]["kernel"], "soc": "soc_id jep106:0736:1620"}


def test_its_place_is_the_folder_of_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = machine()
    monkeypatch.setenv("PTTTOOL_STATE_DIR", str(tmp_path / "kept"))
    assert measured_here(here) == (None, ())
    assert keep(measured(here)) == tmp_path / "kept" / "machine.json"
    assert measured_here(here)[0] == measured(here)


def test_roots_file_is_read_behind_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = machine()
    monkeypatch.delenv("PTTTOOL_STATE_DIR")
    own, system = tmp_path / "own" / "machine.json", tmp_path / "system" / "machine.json"
    monkeypatch.setattr("ptttool.machine.measured.state_folder", lambda: own.parent)
    monkeypatch.setattr("ptttool.machine.measured.SYSTEM", system)
    keep(measured(here), system)
    assert measured_here(here) == (measured(here), ())
    keep(measured(machine(OLD)), own)
    found, problems = measured_here(here)
    assert (found, [problem.code for problem in problems]) == (measured(here), ["measured-elsewhere"])


def test_roots_file_may_be_for_root_alone(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(measured(machine()), file)

    def refused(path: Path) -> int:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("ptttool.machine.measured.open_regular", refused)
    assert codes(machine(), file) == ["measured-unreadable"]
    monkeypatch.setattr("ptttool.machine.measured.SYSTEM", file)
    assert codes(machine(), file) == []


def test_the_newest_of_each_key_is_kept(file: Path) -> None:
    here = machine()
    key = key_of(here)
    assert key is not None
    # Times of other zones: the text that sorts first is not the oldest.
    for number in range(MAX_MEASURED_ENTRIES + 3):
        keep(Measured(replace(key, driver=str(number)), f"2026-11-20T10:{number:02}:00+{number % 3:02}:00"), file)
    newest = Measured(replace(key, driver="0"), "2026-11-21T00:00:00+00:00")
    keep(newest, file)
    entries = json.loads(file.read_text())["entries"]
    assert (len(entries), entries[0]) == (MAX_MEASURED_ENTRIES, to_json(newest))
    assert len({entry["key"]["driver"] for entry in entries}) == MAX_MEASURED_ENTRIES
    kept = sorted(entry["when"] for entry in entries[1:] if entry["when"].endswith("+02:00"))
    assert kept[0] > "2026-11-20T10:02"  # two hours earlier than it seems: among the first that went


def test_another_system(file: Path) -> None:
    keep(measured(machine(driver="A")), file)
    found, problems = measured_here(machine(driver="B"), file)
    assert (found, problems[0].code, problems[0].severity) == (None, "measured-elsewhere", Severity.INFO)
    assert problems[0].details["differs"] == ["driver"]
    assert codes(machine(OLD), file) == ["measured-elsewhere"]
    files, links = contents(NEW)
    del files["/proc/sys/kernel/osrelease"]
    assert key_of(in_memory(files, links)) is None
    assert codes(in_memory(files, links), file) == ["measured-elsewhere"]


@pytest.mark.parametrize(
    ("texts", "soc"),
    [
        ({"soc": "jep106:0736:1620", "midr": "0x1"}, "soc_id jep106:0736:1620"),
        ({"midr": "0x00000000481fd010", "cpuinfo": ""}, "midr_el1 0x00000000481fd010"),
        ({"cpuinfo": "processor\t: 0\nCPU implementer\t: 0x48\nCPU part\t: 0xd01\n"}, "cpuinfo 0x48 0xd01"),
        ({"cpuinfo": "processor\t: 0\nCPU implementer\t: 0x48\n"}, None),
        ({"soc": "a" * 5000}, "soc_id " + "a" * 200),
    ],
)
def test_which_system_on_chip(texts: dict[str, str], soc: str | None) -> None:
    files, links = contents(NEW)
    for path in [SOC, MIDR, "/proc/cpuinfo", *(path for path in files if path.endswith("/identifier"))]:
        files.pop(path, None)
    paths = {"soc": SOC, "midr": MIDR, "cpuinfo": "/proc/cpuinfo"}
    key = key_of(in_memory(files | {paths[name]: text.encode() for name, text in texts.items()}, links))
    assert key is not None
    assert key.soc == soc


def test_the_device_says_which_it_is() -> None:
    files, links = contents(NEW)
    device = next(path for path in files if path.endswith("/cpumask") and "hisi_ptt" in path).rpartition("/")[0]
    key = key_of(in_memory(files | {f"{device}/identifier": b"0x30\n", MIDR: b"0x1\n"}, links))
    assert key is not None
    assert key.soc == "identifier 0x30"


def test_damaged_files(file: Path) -> None:
    here = machine()
    keep(measured(here), file)
    text = file.read_text()
    damages: list[tuple[str, dict[str, object]]] = [
        ("clock", {"tick_ns": 5.0}),
        ("clock", {"tick_ns": float("nan")}),
        ("clock", {"low_ns": 0.0}),
        ("clock", {"high_ns": float("inf")}),
        ("clock", {"model": "seconds"}),
        ("clock", {"bits": 11}),
        ("clock", {"anchors": 0}),
        ("clock", {"anchors": "61"}),
        ("clock", {"anchors": 10**4000}),
        ("entry", {"when": "yesterday"}),
        ("entry", {"when": "2026-11-20T10:00:00\n+00:00"}),
        ("entry", {"key": {}}),
        ("body", {"entries": 3}),
        ("body", {"ptttool_machine": None}),
    ]
    for place, change in damages:
        body = json.loads(text)
        entry = body["entries"][0]
        {"clock": entry["clocks"]["8dw"], "entry": entry, "body": body}[place].update(change)
        file.write_text(json.dumps(body))
        assert codes(here, file) == ["measured-damaged"], change
    for content in (b"", b"[]", b"{", b"\xff", b"[" * 100_000, b'{"ptttool_machine": 1e999}'):
        file.write_bytes(content)
        assert codes(here, file) == ["measured-damaged"]
    file.write_text('{"ptttool_machine": 2}')
    assert codes(here, file) == ["measured-version"]
    file.write_bytes(b" " * (MAX_MEASURED_BYTES + 1))
    assert codes(here, file) == [OVER_BUDGET]
    keep(measured(here), file)  # takes its place
    assert measured_here(here, file) == (measured(here), ())


def test_what_is_no_file(file: Path, tmp_path: Path) -> None:
    here = machine()
    keep(measured(here), tmp_path / "other.json")
    file.parent.mkdir()
    assert codes(here, file) == []
    file.symlink_to(tmp_path / "other.json")
    assert codes(here, file) == ["measured-link"]
    with pytest.raises(OutputError) as caught:
        keep(measured(here), file)
    assert caught.value.code == "untrusted-link"
    file.unlink()
    os.mkfifo(file)
    assert codes(here, file) == ["measured-not-a-file"]
    with pytest.raises(OutputError) as caught:
        keep(measured(here), file)
    assert caught.value.code == "not-a-file"
    file.unlink()
    file.mkdir()
    assert codes(here, file) == ["measured-not-a-file"]
    assert codes(here, tmp_path / "other.json" / "machine.json") == []


def test_what_others_can_write(file: Path) -> None:
    here = machine()
    keep(measured(here), file)
    file.chmod(0o666)
    assert codes(here, file) == ["measured-untrusted"]
    file.chmod(0o644)
    file.parent.chmod(0o777)
    assert codes(here, file) == ["measured-untrusted"]
    with pytest.raises(AccessError) as caught:
        keep(measured(here), file)
    assert caught.value.code == "unsafe-folder"
    file.parent.chmod(0o755)
    assert measured_here(here, file) == (measured(here), ())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_root_believes_root_alone(file: Path) -> None:
    here = machine()
    keep(measured(here), file)
    os.chown(file, 1234, 1234)
    assert codes(here, file) == ["measured-untrusted"]


def test_only_what_was_measured_is_kept(file: Path) -> None:
    entry = measured(machine())
    for wrong in (
        replace(entry, when="2026-11-20T10:00:00"),  # of no zone
        replace(entry, key=MachineKey(None, "6.12\x1b[31m", None)),
        replace(entry, clocks={"8dw": replace(CLOCK, bits=11)}),
        replace(entry, clocks={"16dw": CLOCK}),
        replace(entry, clocks={"8dw": replace(CLOCK, high_ns=3.0)}),
    ):
        with pytest.raises(ValueError, match="not what a machine"):
            keep(wrong, file)
    assert not file.exists()
