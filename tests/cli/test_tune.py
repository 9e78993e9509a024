"""``ptttool tune`` as a shell sees it: on recorded machines, on the driver's stand-in, under umockdev, without permission."""

from __future__ import annotations

import errno
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyfakefs.fake_filesystem import FakeFilesystem

from ptttool.cli.main import main
from ptttool.testing import FakeMachine, kunpeng
from tests import ROOT
from tests.support.machines import UMOCKDEV
from tests.support.tune_driver import ATTRIBUTES, MACHINES, Driver, failure

KERNELS = ("kunpeng-6.1", "kunpeng-6.12")
DEVICES = ("hisi_ptt0_0", "hisi_ptt0_2", "hisi_ptt2_0")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def driver(ptt_machine: FakeMachine) -> Driver:
    """The machine that every command of the test works on."""
    return Driver(ptt_machine)


@pytest.fixture
def folder(driver: Driver, fs: FakeFilesystem) -> Path:
    """An empty folder beside that machine."""
    fs.create_dir("/folder")
    return Path("/folder")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """``run("set", …)`` gives the exit code, standard output, standard error."""

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["tune", *arguments])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return code, said.out, said.err

    return run


@pytest.fixture(params=KERNELS)
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of a recorded machine, to be written to."""
    return shutil.copytree(MACHINES / request.param, tmp_path / "machine", symlinks=True)


def tune_file(tree: Path, device: str, attribute: str) -> Path:
    return tree / "sys/bus/event_source/devices" / device / "tune" / attribute


def document(out: str) -> Any:
    return json.loads(out)


def test_show(driver: Driver, run: Run) -> None:
    code, out, err = run("show")
    assert (code, err) == (0, "")
    for word in (*DEVICES, *ATTRIBUTES, "weight of outbound (Tx) posted requests", "0000:00:14.0", "nvme1", "No root port belongs"):
        assert word in out
    code, out, _ = run("show", "0_0")
    assert code == 0
    assert "hisi_ptt0_0" in out
    assert "hisi_ptt0_2" not in out


def test_show_json(driver: Driver, run: Run) -> None:
    code, out, _ = run("show", "hisi_ptt0_2", "--json")
    assert code == 0
    (device,) = document(out)["devices"]
    assert list(device) == ["name", "attributes", "ports_known", "root_ports"]
    assert device["attributes"][2] == {
        "name": "qos_tx_p",
        "value": 1,
        "meaning": "weight of outbound (Tx) posted requests",
        "problem": None,
    }
    assert device["ports_known"] is True
    assert [port["address"] for port in device["root_ports"]] == ["0000:00:14.0", "0000:00:15.0"]
    assert [function["address"] for function in device["root_ports"][0]["behind"]] == ["0000:06:00.0", "0000:07:00.0"]


def test_show_where_the_kernel_does_not_tell_the_ports(run: Run) -> None:
    code, out, _ = run("show", "hisi_ptt0_0", "--sysfs", str(MACHINES / "kunpeng-6.1"))
    assert code == 0
    assert "the kernel does not say" in out
    code, out, _ = run("show", "hisi_ptt0_0", "--json", "--sysfs", str(MACHINES / "kunpeng-6.1"))
    assert document(out)["devices"][0]["ports_known"] is False


def test_show_without_permission_shows_the_rest(driver: Driver, run: Run) -> None:
    def refuse(attribute: str, _: str) -> str | None:
        raise failure(errno.EACCES)

    driver.on_read = refuse
    code, out, err = run("show", "hisi_ptt0_0")
    assert code == 4
    assert "qos_tx_p" in out
    assert "0000:00:10.0" in out
    assert "not permitted" in out
    assert "root" in err
    code, out, err = run("show", "hisi_ptt0_0", "--json")
    assert code == 4
    assert document(out)["error"]["code"] == "no-permission"
    assert document(out)["devices"][0]["attributes"][0]["value"] is None
    assert "root" in err


def test_show_on_a_narrow_terminal(driver: Driver, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    code, out, _ = run("show", "hisi_ptt0_2")
    assert code == 0
    assert max(len(line) for line in out.splitlines()) <= 60
    assert "rx_alloc_buf_level      1" in out


@pytest.mark.parametrize("columns", [20, 40, 60, 80])
def test_a_difference_is_whole_on_any_terminal(driver: Driver, run: Run, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    code, out, _ = run("diff", "storage")
    assert code == 1
    for word in (*DEVICES, "qos_tx_cpl", "differs"):
        assert word in out
    assert "qos_tx_np" not in out
    assert "qos_tx_cpl" in run("diff", "storage", "--all")[1]


def test_get(driver: Driver, run: Run) -> None:
    driver.attributes["hisi_ptt0_0/qos_tx_p"] = 2
    assert run("get", "hisi_ptt0_0", "qos_tx_p") == (0, "2\n", "")
    assert run("get", "0_0", "tx_path_rx_req_alloc_buf_level", "qos_tx_p") == (0, "rx_alloc_buf_level=1\nqos_tx_p=2\n", "")
    code, out, _ = run("get", "hisi_ptt0_0")
    assert out.split() == [f"{attribute}={2 if attribute == 'qos_tx_p' else 1}" for attribute in ATTRIBUTES]
    # What get prints, set takes.
    assert run("set", "hisi_ptt0_2", *out.split())[0] == 0
    assert driver.attributes["hisi_ptt0_2/qos_tx_p"] == 2
    code, out, _ = run("get", "hisi_ptt0_0", "qos_tx_p", "--json")
    assert document(out) == {"device": "hisi_ptt0_0", "values": {"qos_tx_p": 2}}
    assert code == 0


def test_get_prints_nothing_if_one_cannot_be_read(driver: Driver, run: Run) -> None:
    def fail(attribute: str, _: str) -> str | None:
        if attribute.endswith("qos_tx_p"):
            raise failure(errno.ETIMEDOUT)
        return None

    driver.on_read = fail
    code, out, err = run("get", "hisi_ptt0_0", "qos_tx_np", "qos_tx_p")
    assert (code, out) == (7, "")
    assert "qos_tx_p" in err
    assert "ETIMEDOUT" in err


def test_set(driver: Driver, run: Run) -> None:
    code, out, err = run("set", "hisi_ptt0_0", "qos_tx_p=2", "qos_tx_cpl=1", "tx_path_rx_req_alloc_buf_level=0")
    assert (code, err) == (0, "ptttool: to undo it: ptttool tune undo\n")
    assert out.splitlines() == [
        "hisi_ptt0_0/qos_tx_p: 1 → 2",
        "hisi_ptt0_0/qos_tx_cpl: already 1",
        "hisi_ptt0_0/rx_alloc_buf_level: 1 → 0",
        "hisi_ptt0_0: a tune attribute acts on all root ports of the PCIe core: "
        "0000:00:10.0 (nvme0), 0000:00:11.0 (ens2), 0000:00:12.0 (empty)",
    ]
    assert driver.writes == ["hisi_ptt0_0/qos_tx_p=2", "hisi_ptt0_0/rx_alloc_buf_level=0"]


def test_set_on_the_device_of_a_function(driver: Driver, run: Run) -> None:
    code, _, err = run("set", "ens2", "qos_tx_p=2")
    assert (code, driver.writes) == (0, ["hisi_ptt0_0/qos_tx_p=2"])
    assert all(name in err for name in ("ens2", "0000:00:11.0", "hisi_ptt0_0"))
    assert run("get", "ptt0_0", "qos_tx_p") == (0, "2\n", "")


def test_set_on_every_device(driver: Driver, run: Run) -> None:
    code, out, _ = run("set", "--all", "qos_tx_p=2", "qos_tx_np=1", "--json")
    assert (code, driver.writes) == (0, [f"{device}/qos_tx_p=2" for device in DEVICES])
    found = document(out)
    assert found["dry_run"] is False
    assert [(one["device"], [change["changed"] for change in one["changes"]]) for one in found["devices"]] == [
        (device, [True, False]) for device in DEVICES
    ]
    assert found["devices"][1]["root_ports"][0]["address"] == "0000:00:14.0"


def test_set_on_every_device_is_all_or_nothing(driver: Driver, run: Run) -> None:
    def fail(attribute: str, text: str) -> str | None:
        if attribute == "hisi_ptt0_2/qos_tx_p":
            raise failure(errno.ETIMEDOUT)
        return None

    driver.on_write = fail
    code, out, _ = run("set", "--all", "qos_tx_p=2", "--json")
    assert (code, document(out)["error"]["restored"]) == (7, True)
    assert driver.attributes["hisi_ptt0_0/qos_tx_p"] == 1


def test_set_json(driver: Driver, run: Run) -> None:
    code, out, err = run("set", "hisi_ptt2_0", "qos_tx_p=70000", "--json")
    assert code == 0
    assert "70000 is above 2" in err
    assert document(out) == {
        "device": "hisi_ptt2_0",
        "dry_run": False,
        "changes": [{"device": "hisi_ptt2_0", "attribute": "qos_tx_p", "old": 1, "new": 2, "changed": True, "asked": "70000"}],
        "ports_known": True,
        "root_ports": [],
    }


@pytest.mark.parametrize("value", ["3", "70000", "99999999999999999999", "1" + "0" * 5000])
def test_set_clamps_and_says_so(driver: Driver, run: Run, value: str) -> None:
    code, out, err = run("set", "hisi_ptt0_0", f"qos_tx_p={value}")
    assert code == 0
    assert "hisi_ptt0_0/qos_tx_p: 1 → 2" in out
    assert "is above 2, the largest value: 2 is taken" in err
    assert len(err) < 200
    assert driver.writes == ["hisi_ptt0_0/qos_tx_p=2"]


@pytest.mark.parametrize("value", ["-1", "0x1", "", "abc", "1.5", "+1", " 1"])
def test_set_refuses_before_anything_is_written(driver: Driver, run: Run, value: str) -> None:
    code, out, _ = run("set", "hisi_ptt0_0", "qos_tx_np=2", f"qos_tx_p={value}", "--json")
    error = document(out)["error"]
    assert (code, error["code"], list(error["problems"])) == (2, "bad-assignment", [f"qos_tx_p={value}"])
    assert driver.writes == []


@pytest.mark.parametrize(
    ("arguments", "exit_code", "code", "details"),
    [
        (["hisi_ptt0_0", "qos_tx_q=1"], 2, "bad-assignment", {"problems": {"qos_tx_q=1": "no such attribute"}}),
        (["hisi_ptt0_0", "qos_tx_dp=1"], 2, "bad-assignment", {"problems": {"qos_tx_dp=1": "no such attribute"}}),
        (["hisi_ptt0_0", "qos_tx_p=1", "qos_tx_p=2"], 2, "bad-assignment", {"problems": {"qos_tx_p=2": "qos_tx_p is also to be 1"}}),
        (["hisi_ptt0_0", "qos_tx_p"], 2, "bad-assignment", {"problems": {"qos_tx_p": "not ATTRIBUTE=VALUE"}}),
        (["hisi_ptt0_0"], 2, "assignment-needed", {}),
        (["--all"], 2, "assignment-needed", {}),
        ([], 2, "device-needed", {}),
        (["all", "qos_tx_p=2"], 3, "unknown-device", {"devices": list(DEVICES)}),
        (["--all", "hisi_ptt0_0", "qos_tx_p=2"], 2, "device-and-all", {}),
        (["--all", "qos_tx_q=1"], 2, "bad-assignment", {"problems": {"qos_tx_q=1": "no such attribute"}}),
        (["qos_tx_p=2", "hisi_ptt0_0"], 2, "device-needed", {}),
        (["hisi_ptt9_9", "qos_tx_p=1"], 3, "unknown-device", {"devices": list(DEVICES)}),
        (["hisi_ptt0_0", "qos_tx_p=1", "--no-such"], 2, "unknown-option", {"option": "--no-such"}),
    ],
)
def test_set_misused(driver: Driver, run: Run, arguments: list[str], exit_code: int, code: str, details: dict[str, object]) -> None:
    done, out, _ = run("set", *arguments, "--json")
    error = document(out)["error"]
    assert (done, error["code"], {key: error[key] for key in details}) == (exit_code, code, details)
    assert driver.writes == []


def test_set_on_a_terminal_that_is_not_utf_8() -> None:
    """The tune attribute is set by then: an arrow that cannot be printed is no reason to fail."""
    command = [sys.executable, "-m", "ptttool", "tune", "set", "--demo", "hisi_ptt0_0", "qos_tx_p=2"]
    done = subprocess.run(command, capture_output=True, timeout=60, env=os.environ | {"PYTHONIOENCODING": "latin-1"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"hisi_ptt0_0/qos_tx_p: 1 \\u2192 2\n")


def test_set_with_closed_streams() -> None:
    script = f'"{sys.executable}" -m ptttool tune set --demo hisi_ptt0_0 qos_tx_p=2 >&- 2>&- <&-'
    assert subprocess.run(["sh", "-c", script], timeout=60).returncode == 0


def test_set_dry_run(driver: Driver, run: Run) -> None:
    code, out, err = run("set", "hisi_ptt0_0", "qos_tx_p=2", "qos_tx_np=1", "--dry-run")
    assert code == 0
    assert out.splitlines()[:2] == ["hisi_ptt0_0/qos_tx_p: 1 → 2 (not written)", "hisi_ptt0_0/qos_tx_np: already 1"]
    assert "nothing was written" in err
    assert driver.writes == []


def test_set_fails_and_restores(driver: Driver, run: Run) -> None:
    def fail(attribute: str, text: str) -> str | None:
        if attribute.endswith("qos_tx_np"):
            raise failure(errno.ETIMEDOUT)
        return None

    driver.on_write = fail
    code, out, err = run("set", "hisi_ptt0_0", "qos_tx_p=2", "qos_tx_np=2", "--json")
    assert code == 7
    error = document(out)["error"]
    assert (error["code"], error["attribute"], error["restored"]) == ("timeout", "qos_tx_np", True)
    assert "hisi_ptt0_0/qos_tx_np" in err
    assert set(driver.attributes.values()) == {1}


def test_set_interrupted(driver: Driver, run: Run) -> None:
    def interrupt(attribute: str, text: str) -> str | None:
        if len(driver.writes) == 1:
            os.kill(os.getpid(), 2)
        return None

    driver.on_write = interrupt
    code, out, _ = run("set", "hisi_ptt0_0", "qos_tx_p=2", "qos_tx_np=2", "--json")
    error = document(out)["error"]
    assert (code, error["code"], error["restored"]) == (130, "interrupted", True)
    assert set(driver.attributes.values()) == {1}


@pytest.fixture(params=["6.1", "6.12"])
def machine(request: pytest.FixtureRequest, mount_ptt_machine: Callable[[FakeMachine], FakeMachine]) -> FakeMachine:
    """A fake machine under either kernel."""
    return mount_ptt_machine(kunpeng(request.param))


def test_a_device_without_attributes(machine: FakeMachine, run: Run) -> None:
    machine["hisi_ptt2_0"].tune.clear()
    machine.refresh()
    code, out, _ = run("show", "hisi_ptt2_0")
    assert code == 0
    assert "no tune attributes" in out
    assert run("set", "hisi_ptt2_0", "qos_tx_p=1")[0] == 3
    assert run("get", "hisi_ptt2_0")[0] == 3
    code, out, err = run("save", "-")
    assert code == 0
    assert "hisi_ptt2_0 has no tune attributes" in err
    assert list(tomllib.loads(out)["devices"]) == ["hisi_ptt0_0", "hisi_ptt0_2"]


def test_a_device_that_hangs(machine: FakeMachine, run: Run) -> None:
    """Nothing is written to any device where one does not answer."""
    machine["hisi_ptt0_2"].hang(errno.ETIMEDOUT)
    code, out, _ = run("get", "hisi_ptt0_2", "--json")
    assert (code, document(out)["error"]["code"]) == (7, "timeout")
    code, out, _ = run("set", "hisi_ptt0_2", "qos_tx_p=2", "--json")
    assert (code, document(out)["error"]["code"]) == (7, "timeout")
    assert run("set", "hisi_ptt0_0", "qos_tx_p=2")[0] == 0
    assert machine.writes == ["hisi_ptt0_0/qos_tx_p=2"]


def test_as_another_user(machine: FakeMachine, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PTTTOOL_RUNTIME_DIR", "PTTTOOL_STATE_DIR", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    with machine.as_user():
        for command in (["get", "hisi_ptt0_0"], ["set", "hisi_ptt0_0", "qos_tx_p=2"], ["save", "-"]):
            code, out, _ = run(*command, *(["--json"] if command[0] != "save" else []))
            assert code == 4, command
            assert not out or document(out)["error"]["code"] == "no-permission"
    assert machine.writes == []


def test_a_plain_tree_is_written_and_said(tree: Path, run: Run) -> None:
    code, _, err = run("set", "hisi_ptt0_2", "qos_tx_p=2", "--sysfs", str(tree))
    assert code == 0
    assert tune_file(tree, "hisi_ptt0_2", "qos_tx_p").read_text() == "2\n"
    assert tune_file(tree, "hisi_ptt0_0", "qos_tx_p").read_text() == "1\n"
    assert "not to this machine" in err


def test_the_long_names_of_a_kernel(mount_ptt_machine: Callable[[FakeMachine], FakeMachine], run: Run) -> None:
    """A kernel whose files have the document's long names."""
    machine = FakeMachine()
    ptt = machine.add_ptt("hisi_ptt0_0", "00:08.0", tune={"qos_tx_p": 1, "tx_path_rx_req_alloc_buf_level": 1})
    mount_ptt_machine(machine)
    code, out, _ = run("set", "hisi_ptt0_0", "rx_alloc_buf_level=2")
    assert code == 0
    assert "hisi_ptt0_0/tx_path_rx_req_alloc_buf_level: 1 → 2" in out
    assert ptt["tx_path_rx_req_alloc_buf_level"].writes == ["2"]


def test_profile_round_trip(driver: Driver, run: Run, folder: Path) -> None:
    file = folder / "machine.toml"
    driver.attributes["hisi_ptt0_2/qos_tx_cpl"] = 0
    code, out, err = run("save", str(file))
    assert (code, out) == (0, "")
    assert "15 tune attributes of 3 devices" in err
    saved = tomllib.loads(file.read_text(encoding="utf-8"))
    assert saved["version"] == 1
    assert {name: sorted(attributes) for name, attributes in saved["devices"].items()} == {name: sorted(ATTRIBUTES) for name in DEVICES}
    assert saved["devices"]["hisi_ptt0_2"]["qos_tx_cpl"] == 0

    assert run("diff", str(file))[0] == 0
    assert run("set", "hisi_ptt0_0", "qos_tx_p=2")[0] == 0
    assert run("set", "hisi_ptt2_0", "qos_tx_np=0")[0] == 0
    code, out, _ = run("diff", str(file), "--json")
    assert code == 1
    compared = document(out)
    assert (compared["equal"], compared["left_alone"], len(compared["rows"])) == (False, [], 15)
    assert [row for row in compared["rows"] if row["state"] != "same"] == [
        {"device": "hisi_ptt0_0", "attribute": "qos_tx_p", "profile": 1, "machine": 2, "state": "differs"},
        {"device": "hisi_ptt2_0", "attribute": "qos_tx_np", "profile": 1, "machine": 0, "state": "differs"},
    ]

    driver.writes.clear()
    code, out, err = run("apply", str(file), "--dry-run")
    assert code == 0
    assert out.splitlines() == ["hisi_ptt0_0/qos_tx_p: 2 → 1 (not written)", "hisi_ptt2_0/qos_tx_np: 0 → 1 (not written)"]
    assert driver.writes == []
    code, out, err = run("apply", str(file))
    assert code == 0
    assert out.splitlines() == ["hisi_ptt0_0/qos_tx_p: 2 → 1", "hisi_ptt2_0/qos_tx_np: 0 → 1"]
    assert "13 of 15 tune attributes already have the profile's values" in err
    assert driver.writes == ["hisi_ptt0_0/qos_tx_p=1", "hisi_ptt2_0/qos_tx_np=1"]
    assert run("diff", str(file))[0] == 0

    again = folder / "again.toml"
    assert run("save", str(again), "--json")[0] == 0
    assert again.read_bytes() == file.read_bytes()


def test_save_does_not_overwrite(driver: Driver, run: Run, folder: Path) -> None:
    file = folder / "p.toml"
    file.write_text("mine")
    code, _, err = run("save", str(file))
    assert code == 6
    assert "--force" in err
    assert file.read_text() == "mine"
    assert run("save", str(file), "--force")[0] == 0
    assert "qos_tx_p = 1" in file.read_text()
    assert os.listdir(folder) == ["p.toml"]  # noqa: PTH208
    assert run("save", "-", "--json")[0] == 2


def test_save_on_a_full_disk(run: Run) -> None:
    code, out, err = run("save", "/dev/full", "--demo")
    assert (code, out) == (6, "")
    assert "/dev/full: No space left on device" in err


def test_save_refuses_an_incomplete_profile(driver: Driver, run: Run, folder: Path) -> None:
    def fail(attribute: str, _: str) -> str | None:
        if attribute == "hisi_ptt2_0/qos_tx_p":
            raise failure(errno.EACCES)
        return None

    driver.on_read = fail
    code, _, err = run("save", str(folder / "p.toml"))
    assert code == 4
    assert "hisi_ptt2_0/qos_tx_p" in err
    assert list(folder.iterdir()) == []


def test_apply_restores_all_devices(driver: Driver, run: Run, folder: Path) -> None:
    file = folder / "p.toml"
    file.write_text("version = 1\n" + "".join(f"[devices.{name}]\nqos_tx_p = 2\n" for name in DEVICES))

    def fail(attribute: str, text: str) -> str | None:
        return "0" if (attribute, text) == ("hisi_ptt2_0/qos_tx_p", "2\n") else None

    driver.on_write = fail
    code, out, _ = run("apply", str(file), "--json")
    error = document(out)["error"]
    assert (code, error["code"], error["device"], error["attribute"]) == (7, "mismatch", "hisi_ptt2_0", "qos_tx_p")
    assert (error["wanted"], error["got"], error["restored"]) == (2, 0, True)
    assert set(driver.attributes.values()) == {1}


@pytest.mark.parametrize(
    ("text", "exit_code", "code", "details"),
    [
        ("", 6, "not-a-profile", {}),
        ("version = 1\n[devices.hisi_ptt0_0]\nqos_tx_p = 2 2\n", 6, "bad-toml", {}),
        (
            "version = 1\n[devices.hisi_ptt0_0]\nqos_tx_p = 2\nqos_tx_np = -1\n",
            6,
            "bad-profile",
            {"key": "devices.hisi_ptt0_0.qos_tx_np"},
        ),
        (
            "version = 1\n[devices.hisi_ptt0_0]\nqos_tx_p = 2\nqos_tx_q = 1\n",
            6,
            "profile-attribute-missing",
            {"keys": ["devices.hisi_ptt0_0.qos_tx_q"]},
        ),
        (
            "version = 1\n[devices.hisi_ptt0_0]\nqos_tx_p = 2\n[devices.hisi_ptt8_0]\nqos_tx_p = 1\n",
            3,
            "profile-device-missing",
            {"missing": ["hisi_ptt8_0"]},
        ),
    ],
)
def test_apply_checks_everything_first(
    driver: Driver, run: Run, folder: Path, text: str, exit_code: int, code: str, details: dict[str, object]
) -> None:
    file = folder / "p.toml"
    file.write_text(text)
    done, out, _ = run("apply", str(file), "--json")
    error = document(out)["error"]
    assert (done, error["code"], {key: error[key] for key in details}) == (exit_code, code, details)
    assert exit_code != 6 or error["path"] == str(file)
    assert driver.writes == []


def test_apply_a_profile_of_another_machine(driver: Driver, run: Run, folder: Path) -> None:
    file = folder / "p.toml"
    file.write_text("version = 1\n[devices.hisi_ptt0_0]\nqos_tx_p = 7\n[devices.hisi_ptt8_0]\nqos_tx_p = 1\n")
    code, out, err = run("diff", str(file))
    assert code == 1
    assert "missing" in out
    code, out, err = run("apply", str(file), "--ignore-missing", "--json")
    assert code == 0
    assert "qos_tx_p: 7 is above 2" in err
    assert "hisi_ptt8_0 is not on this machine" in err
    applied = document(out)
    assert applied["changes"] == [{"device": "hisi_ptt0_0", "attribute": "qos_tx_p", "old": 1, "new": 2, "changed": True}]
    assert applied["missing"] == [{"device": "hisi_ptt8_0", "attribute": None}]
    assert {"device": "hisi_ptt2_0", "attribute": None} in applied["left_alone"]


PATH = """
import contextlib, io, json, sys
from ptttool.cli.main import main

def enter(frame, event, _):
    name = frame.f_globals.get("__name__", "")
    if event == "call" and name.startswith("ptttool.") and not frame.f_code.co_filename.startswith("<"):
        entered.add(name)  # methods that dataclasses generate have no file

entered = set()
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    main(sys.argv[1:])  # imports do not count
    sys.setprofile(enter)
    code = main(sys.argv[1:])
    sys.setprofile(None)
print(json.dumps([code, sorted(entered)]))
"""


def test_apply_takes_a_short_path(tmp_path: Path) -> None:
    """From the command line to the bytes it enters twenty-two modules: those in which a function is called.

    Three of them load the commands, and three have the options of every command. Two are a change's safety: the session, which locks the
    machine, and the reads and writes of single values, which recovery shares with the driver. A profile is parsed in one, and compared
    with the machine in another; a third knows the profiles that come with ptttool.
    """
    file = tmp_path / "p.toml"
    file.write_text("version = 1\n[devices.hisi_ptt0_0]\nqos_tx_p = 2\n")
    command = [sys.executable, "-c", PATH, "tune", "apply", "--demo", str(file)]
    code, entered = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=60, cwd=ROOT).stdout)
    assert code == 0
    assert "ptttool.tune.driver" in entered
    assert len(entered) <= 22, entered


def test_an_empty_profile_changes_nothing(driver: Driver, run: Run, folder: Path) -> None:
    file = folder / "p.toml"
    file.write_text("version = 1\n")
    code, out, err = run("apply", str(file))
    assert (code, out) == (0, "")
    assert "nothing to do" in err
    assert run("diff", str(file))[0] == 0


def test_a_profile_from_standard_input(run: Run) -> None:
    code, out, _ = run("save", "-", "--demo")
    assert code == 0
    done = subprocess.run(
        [sys.executable, "-m", "ptttool", "tune", "diff", "-", "--demo"], input=out, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_control_characters_of_a_profile_do_not_reach_the_terminal(driver: Driver, run: Run, folder: Path) -> None:
    file = folder / "p.toml"
    file.write_text('version = 1\n[devices."evil\\u001b[31m"]\n"\\u009bx" = 1\n')
    for command in (["diff", str(file)], ["apply", str(file)], ["apply", str(file), "--ignore-missing"]):
        _, out, err = run(*command)
        assert "\x1b" not in out + err
        assert "\x9b" not in out + err


# The real libudev, below umockdev.


@pytest.fixture(params=KERNELS)
def umockdev(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Runs a shell script on a recorded machine; ``ptttool`` in it is ours."""
    recording = tmp_path / "machine.umockdev"
    recording.write_bytes(gzip.decompress((MACHINES / f"{request.param}.umockdev.gz").read_bytes()))

    def run(script: str) -> subprocess.CompletedProcess[str]:
        function = f'ptttool() {{ "{sys.executable}" -m ptttool "$@"; }}\n'
        return subprocess.run(
            [*UMOCKDEV, "-d", str(recording), "--", "sh", "-c", function + script],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )

    return run


def test_under_umockdev(umockdev: Callable[[str], subprocess.CompletedProcess[str]]) -> None:
    """umockdev stores any value: that 7 and 70000 become 2 is our doing."""
    done = umockdev(
        """
        set -e
        tune=/sys/bus/event_source/devices/hisi_ptt0_2/tune
        ptttool tune save before.toml
        ptttool tune set hisi_ptt0_2 qos_tx_p=7 qos_tx_np=70000 qos_tx_cpl=0 tx_path_tx_req_alloc_buf_level=1
        cat $tune/qos_tx_p $tune/qos_tx_np $tune/qos_tx_cpl $tune/tx_alloc_buf_level
        ptttool tune set hisi_ptt0_2 qos_tx_cpl=2 qos_tx_p=-1 || echo refused $?
        cat $tune/qos_tx_cpl
        ptttool tune diff before.toml > /dev/null || echo differs $?
        ptttool tune apply before.toml
        ptttool tune diff before.toml > /dev/null && echo equal
        cat $tune/qos_tx_p $tune/qos_tx_np $tune/qos_tx_cpl
        """
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    ports = lines.pop(4)
    assert "0000:00:14.0 (nvme1, enp7s0)" in ports
    assert lines == [
        "hisi_ptt0_2/qos_tx_p: 1 → 2",
        "hisi_ptt0_2/qos_tx_np: 1 → 2",
        "hisi_ptt0_2/qos_tx_cpl: 1 → 0",
        "hisi_ptt0_2/tx_alloc_buf_level: already 1",
        *"220",
        "1",
        "refused 2",
        "0",
        "differs 1",
        "hisi_ptt0_2/qos_tx_cpl: 0 → 1",
        "hisi_ptt0_2/qos_tx_np: 2 → 1",
        "hisi_ptt0_2/qos_tx_p: 2 → 1",
        "equal",
        "1",
        "1",
        "1",
    ]


# Permissions, on a plain tree with the modes that the driver gives.


@pytest.fixture
def unprivileged() -> Iterator[tuple[Path, Callable[..., subprocess.CompletedProcess[str]]]]:
    """A tree whose attributes are root's alone (0600), and ptttool run as someone else."""
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        top.chmod(0o755)
        tree = shutil.copytree(MACHINES / "kunpeng-6.12", top / "machine", symlinks=True)
        root = os.geteuid() == 0
        own = top / "own"
        own.mkdir()
        if root:
            os.chown(own, 1000, 1000)
        folders = {"PTTTOOL_RUNTIME_DIR": str(own / "run"), "PTTTOOL_STATE_DIR": str(own / "state")}
        for path in tree.glob("sys/devices/**/tune/*"):
            path.chmod(0o600 if root else 0)
        change = ["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups"] if root else []

        def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [*change, sys.executable, "-m", "ptttool", "tune", *arguments, "--sysfs", str(tree)],
                capture_output=True,
                text=True,
                timeout=60,
                cwd=ROOT,
                env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"} | folders,
            )

        yield tree, run


def test_without_permission(unprivileged: tuple[Path, Callable[..., subprocess.CompletedProcess[str]]]) -> None:
    _, run = unprivileged
    for arguments in (
        ["set", "hisi_ptt0_0", "qos_tx_p=2"],
        ["set", "hisi_ptt0_0", "qos_tx_p=2", "--dry-run"],
        ["get", "0_0"],
        ["save", "-"],
    ):
        done = run(*arguments)
        assert (done.returncode, done.stdout) == (4, ""), done.stderr
        assert "is not permitted" in done.stderr
        assert "as root" in done.stderr
    done = run("show", "hisi_ptt0_0")
    assert done.returncode == 4
    assert "weight of outbound (Tx) posted requests" in done.stdout
    assert "0000:00:10.0" in done.stdout
    assert "Traceback" not in done.stderr
    # Wrong usage comes first: it needs no permission to be told.
    assert run("set", "hisi_ptt0_0", "qos_tx_p=-1").returncode == 2


def test_attributes_that_may_be_read_and_not_written(unprivileged: tuple[Path, Callable[..., subprocess.CompletedProcess[str]]]) -> None:
    tree, run = unprivileged
    for path in tree.glob("sys/devices/**/tune/*"):
        path.chmod(0o444)
    done = run("set", "hisi_ptt0_0", "qos_tx_p=2", "--dry-run")
    assert done.returncode == 0, done.stderr
    done = run("set", "hisi_ptt0_0", "qos_tx_p=2")
    assert done.returncode == 4
    assert "writing 2 is not permitted; all tune attributes are as they were" in done.stderr
    tune_file(tree, "hisi_ptt0_0", "qos_tx_p").chmod(0o666)
    done = run("set", "hisi_ptt0_0", "qos_tx_p=2", "qos_tx_np=2")
    assert done.returncode == 4
    assert "hisi_ptt0_0/qos_tx_np: writing 2 is not permitted; all tune attributes are as they were" in done.stderr
    assert tune_file(tree, "hisi_ptt0_0", "qos_tx_p").read_text() == "1\n"
