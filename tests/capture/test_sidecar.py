"""The sidecar comes back as it was saved, and no file in its place ever stops a reader."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ptttool.capture.names import sidecar_path
from ptttool.capture.sidecar import Sidecar, TracedCommand, find, load, part_of, save
from ptttool.errors import OutputError
from ptttool.machine.discovery import read_machine
from ptttool.machine.measured import ClockSource, KeptClock
from ptttool.machine.model import Machine
from ptttool.machine.sources.recorded import DemoSource
from ptttool.pci import PciAddress

RECORDING = b"PERFILE2" + bytes(range(256)) * 40


@pytest.fixture(scope="module")
def machine() -> Machine:
    return read_machine(DemoSource())


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "perf.data"
    path.write_bytes(RECORDING)
    return path


@pytest.fixture
def full(machine: Machine) -> Sidecar:
    return Sidecar(
        machine=part_of(machine, machine.devices[1]),
        options={"device": "hisi_ptt0_2", "cpu": 1, "config": 0x107280100, "duration": None},
        command=("perf", "record", "-o", "ü \udcff.data"),
        traced=TracedCommand(("fio",), 0, None, stopped=False),
        tune={"qos_tx_p": 1},
        versions={"ptttool": "0.1", "perf": "6.12.95", "kernel": "6.12.95"},
        started="2026-11-21T07:00:00.000+00:00",
        ended="2026-11-21T07:00:10.000+00:00",
    )


def test_round_trip(recording: Path, full: Sidecar) -> None:
    assert save(recording, full) == Path(f"{recording}.ptttool.json") == sidecar_path(recording)
    back = load(recording)
    assert back is not None
    assert (back.machine, back.options, back.traced, back.tune, back.versions) == (
        full.machine, full.options, full.traced, full.tune, full.versions
    )  # fmt: skip
    assert (back.started, back.ended, back.replay_of, back.cpu) == (full.started, full.ended, None, 1)
    assert back.device == full.machine.devices[0]
    # What is no UTF-8 (a file name) does not stop it.
    assert back.command[:3] == ("perf", "record", "-o")


def test_without_diagnostics(recording: Path, full: Sidecar) -> None:
    """As older ones are."""
    path = save(recording, full)

    def older(body: dict[str, object]) -> dict[str, object]:
        body.pop("diagnostics", None)
        return body

    path.write_text(json.dumps(json.loads(path.read_text(), object_hook=older)))
    back, problem = find(recording)
    assert problem is None
    assert back is not None
    assert back.machine.devices == full.machine.devices


def test_part_of_the_machine(machine: Machine, full: Sidecar) -> None:
    behind = {str(address) for address in full.machine.functions}
    assert {"0000:00:09.0", "0000:00:14.0", "0000:04:00.0", "0000:05:01.0", "0000:06:00.0", "0000:08:00.1"} <= behind
    assert not {"0000:00:10.0", "0000:01:00.0"} & behind
    assert full.machine.root_port_of(PciAddress(0, 6, 0, 0)) == PciAddress(0, 0, 0x14, 0)
    assert [device.name for device in full.machine.devices] == ["hisi_ptt0_2"]
    assert len(behind) < len(machine.functions)


def test_none(recording: Path) -> None:
    assert find(recording) == (None, None)
    assert find(recording.parent / "none") == (None, None)
    assert find("-") == (None, None)
    assert find(recording / "below a file") == (None, None)


def test_saving_replaces_and_fails_whole(recording: Path, full: Sidecar) -> None:
    sidecar_path(recording).write_text("something else", encoding="utf-8")
    save(recording, full)
    assert load(recording) is not None
    assert len(list(recording.parent.iterdir())) == 2
    with pytest.raises((OSError, OutputError)):
        save(recording.parent / "no" / "folder", full)


def test_other_recording(recording: Path, full: Sidecar) -> None:
    save(recording, full)
    recording.write_bytes(RECORDING[:100] + b"\xff" + RECORDING[101:])
    assert code_of(recording) == "sidecar-other-recording"


def test_cut_recording_keeps_its_sidecar(recording: Path, full: Sidecar) -> None:
    save(recording, full)
    recording.write_bytes(RECORDING[:5000])
    assert load(recording) is not None


def test_directory_as_recording(tmp_path: Path, full: Sidecar) -> None:
    folder = tmp_path / "perf.data"
    folder.mkdir()
    save(folder, full)
    assert load(folder) is not None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "sidecar-not-json"),
        ("{", "sidecar-not-json"),
        ("[" * 100_000, "sidecar-not-json"),
        ("[]", "sidecar-foreign"),
        ('{"a": 1}', "sidecar-foreign"),
        ('{"ptttool_sidecar": 2}', "sidecar-version"),
        ('{"ptttool_sidecar": "x"}', "sidecar-version"),
        ('{"ptttool_sidecar": 1}', "sidecar-damaged"),
        ('{"ptttool_sidecar": 1, "recording": null}', "sidecar-damaged"),
    ],
)
def test_unusable(recording: Path, text: str, code: str) -> None:
    sidecar_path(recording).write_text(text, encoding="utf-8")
    assert code_of(recording) == code
    assert load(recording) is None


@pytest.mark.parametrize("seconds", ["-1", "0", "1e-300", "1e10", "Infinity", "NaN", "1" + "0" * 400])
def test_times_that_cannot_be(recording: Path, full: Sidecar, seconds: str) -> None:
    save(recording, replace(full, seconds=0.125, started="2026-01-01T00:00:00+00:00", ended="9999-01-01T00:00:00+00:00"))
    found = load(recording)
    assert found is not None
    assert (found.seconds, replace(found, seconds=None).at_least) == (0.125, None)
    path = sidecar_path(recording)
    path.write_text(path.read_text(encoding="utf-8").replace("0.125", seconds), encoding="utf-8")
    assert code_of(recording) == "sidecar-damaged"


CLOCK = KeptClock("counter", 32, 4.0, 3.9994, 4.0005, 61, ClockSource.SELF_TEST, "2026-11-20T10:00:00+00:00")


def test_a_clock_is_kept(recording: Path, full: Sidecar) -> None:
    path = save(recording, replace(full, clock=CLOCK))
    back = load(recording)
    assert back is not None
    assert back.clock == CLOCK
    older = json.loads(path.read_text(encoding="utf-8"))
    del older["clock"]
    path.write_text(json.dumps(older), encoding="utf-8")
    back = load(recording)
    assert back is not None
    assert back.clock is None


@pytest.mark.parametrize(
    "change",
    [
        {"tick_ns": 5}, {"low_ns": -1}, {"high_ns": 1e300}, {"tick_ns": "4"}, {"model": "unknown"}, {"bits": 12}, {"anchors": 0},
        {"when": "x"},
        {"source": "hearsay"}, {"when": "2026-11-20T10:00:00+00:00\u001b[2J"},
    ],
)  # fmt: skip
def test_clocks_that_cannot_be(recording: Path, full: Sidecar, change: dict[str, object]) -> None:
    path = save(recording, replace(full, clock=CLOCK))
    body = json.loads(path.read_text(encoding="utf-8"))
    body["clock"] |= change
    path.write_text(json.dumps(body), encoding="utf-8")
    problem = find(recording)[1]
    assert problem is not None
    assert (problem.code, str(problem.details["at"])[:7]) == ("sidecar-damaged", "$.clock")


def test_unusable_files(recording: Path) -> None:
    path = sidecar_path(recording)
    path.write_bytes(b"\xff\xfe\x00")
    assert code_of(recording) == "sidecar-not-json"
    path.unlink()
    path.mkdir()
    assert code_of(recording) == "sidecar-not-a-file"
    path.rmdir()
    os.mkfifo(path)
    assert code_of(recording) == "sidecar-not-a-file"
    path.unlink()
    path.symlink_to(path)
    assert code_of(recording) == "sidecar-unreadable"


def code_of(recording: Path) -> str:
    """Why the sidecar cannot be used."""
    found, problem = find(recording)
    assert found is None
    assert problem is not None
    return problem.code


def every_place(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    places = [path]
    if isinstance(value, dict):
        for key in value:
            places += every_place(value[key], (*path, key))
    elif isinstance(value, list):
        for index in range(min(len(value), 2)):
            places += every_place(value[index], (*path, index))
    return places


WRONG = st.one_of(st.none(), st.integers(), st.text(max_size=4), st.just([]), st.just({}), st.just([None]), st.just({"x": []}), st.floats())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_wrong_value_is_a_reason_not_an_error(recording: Path, full: Sidecar, data: st.DataObject) -> None:
    save(recording, full)
    body = json.loads(sidecar_path(recording).read_text(encoding="utf-8"))
    place = data.draw(st.sampled_from(every_place(body)[1:]))
    target = body
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = data.draw(WRONG)
    sidecar_path(recording).write_text(json.dumps(body), encoding="utf-8")
    found, reason = find(recording)
    assert (found is None) != (reason is None)
    if found is None:
        return
    # What is accepted can be used: names are text, numbers are numbers.
    for function in found.machine.functions.values():
        assert isinstance(function.name + (function.driver or "") + "".join(function.kernel_names), str)
        assert isinstance((function.secondary or 0) + (function.vendor or 0), int)
        list(found.machine.ancestors(function.address))
    for device in found.machine.devices:
        assert all(isinstance(cpu, int) for cpu in device.cpus)
        assert isinstance(
            device.name + "".join(one.message for one in device.diagnostics) + "".join(event.problem or "" for event in device.tune), str
        )


def test_wrong_type_deep_inside(recording: Path, full: Sidecar) -> None:
    save(recording, full)
    body = json.loads(sidecar_path(recording).read_text(encoding="utf-8"))
    body["machine"]["functions"][0]["driver"] = 7
    sidecar_path(recording).write_text(json.dumps(body), encoding="utf-8")
    assert code_of(recording) == "sidecar-damaged"


@pytest.mark.parametrize(("low", "high"), [(95, 23), (-1, 3), (0, 64), (0, 10**9)])
def test_bits_that_no_config_has(recording: Path, full: Sidecar, low: int, high: int) -> None:
    save(recording, full)
    body = json.loads(sidecar_path(recording).read_text(encoding="utf-8"))
    body["machine"]["devices"][0]["format"]["direction"] |= {"low": low, "high": high}
    sidecar_path(recording).write_text(json.dumps(body), encoding="utf-8")
    assert code_of(recording) == "sidecar-damaged"


def test_a_wrong_value_is_located(recording: Path, full: Sidecar) -> None:
    save(recording, full)
    body = json.loads(sidecar_path(recording).read_text(encoding="utf-8"))
    body["traced"]["exit"] = "0"
    sidecar_path(recording).write_text(json.dumps(body), encoding="utf-8")
    problem = find(recording)[1]
    assert problem is not None
    assert (problem.code, problem.where, problem.details) == (
        "sidecar-damaged", str(sidecar_path(recording)), {"at": "$.traced.exit"}
    )  # fmt: skip
