"""Profiles: read strictly, held against a machine, compared."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from ptttool.errors import DeviceError, InputError
from ptttool.machine.model import Machine, PttDevice
from ptttool.tune.attributes import MEANINGS, Change
from ptttool.tune.profile import DIFFERS, MAX_BYTES, MISSING, SAME, Row, compare, dumps, load, loads, match

NAMES = sorted(MEANINGS)
HEAD = "version = 1\n"
A, B = (PttDevice(name, 0, core, f"/sys/devices/{name}") for core, name in enumerate(("hisi_ptt0_0", "hisi_ptt0_1")))
MACHINE = Machine("a test", (A, B))
ATTRIBUTES = {A.name: NAMES, B.name: NAMES}


def test_round_trip() -> None:
    values = {"hisi_ptt0_0": {"qos_tx_p": 1, "qos_tx_np": 2}, "hisi_ptt0_1": {"qos_tx_p": 0}}
    text = dumps(values, hostname="node7", kernel="6.12.95")
    assert text.splitlines()[0].startswith("# Tune profile of node7, Linux 6.12.95")
    profile = loads(text.encode(), "p.toml")
    assert profile.devices == values
    assert profile.clamped == {}
    assert dumps(values, hostname="node7", kernel="6.12.95") == text


def test_a_hostile_host_name_stays_in_its_comment() -> None:
    text = dumps({}, hostname='x\n[devices.hisi_ptt0_0]\x1b[31m\u2028"', kernel="1\r2")
    assert tomllib.loads(text) == {"version": 1, "devices": {}}
    assert "\x1b" not in text


def test_a_machine_without_a_name() -> None:
    assert dumps({}).startswith("# Tune profile: every tune attribute")


WRONG = [
    ("", "empty", None),
    ("# only a comment\n", "empty", None),
    ("version = 1\n[devices.a]\nx = 7 7\n", "line 3", None),
    ("version = 1\nversion = 1\n", "line 2", None),
    ("[devices.a]\nx = 1\n", "version: missing", "version"),
    ("version = 2\n", "newer", "version"),
    ("version = true\n", "no version", "version"),
    ("version = '1'\n", "no version", "version"),
    ("version = 0\n", "no version", "version"),
    (HEAD + "author = 'me'\n", "author: unknown key", "author"),
    (HEAD + "devices = 1\n", "devices: not a table", "devices"),
    (HEAD + "[[devices]]\n", "devices: not a table", "devices"),
    (HEAD + "[devices]\na = 1\n", "devices.a: not a table", "devices.a"),
    (HEAD + "[devices.a]\nx = -1\n", "devices.a.x: -1 is no value", "devices.a.x"),
    (HEAD + "[devices.a]\nx = '1'\n", "devices.a.x: '1' is no value", "devices.a.x"),
    (HEAD + "[devices.a]\nx = 1.0\n", "devices.a.x: 1.0 is no value", "devices.a.x"),
    (HEAD + "[devices.a]\nx = true\n", "devices.a.x: True is no value", "devices.a.x"),
    (HEAD + "[devices.a.x]\ny = 1\n", "devices.a.x: a table is no value", "devices.a.x"),
    (HEAD + "[devices.a]\nx = 1" + "0" * 5000 + "\n", "not valid TOML", None),
    (HEAD + "x = " + "[" * 60_000, "not valid TOML", None),
    ("#" * (MAX_BYTES + 1), "larger than", None),
]


@pytest.mark.parametrize(("text", "reason", "key"), WRONG, ids=[reason for _, reason, _ in WRONG])
def test_damaged_profiles(text: str, reason: str, key: str | None) -> None:
    with pytest.raises(InputError, match=re.escape(reason)) as caught:
        loads(text.encode(), "p.toml")
    assert caught.value.message.startswith("p.toml: ")
    assert caught.value.exit_code == 6
    assert caught.value.details.get("key") == key


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(InputError, match="0xc: not UTF-8"):
        loads(HEAD.encode() + b"\xff\xfe", "p.toml")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load(str(tmp_path / "missing.toml"))
    with pytest.raises(InputError, match="Is a directory"):
        load(str(tmp_path))


def test_values_above_two_are_clamped() -> None:
    profile = loads((HEAD + "[devices.a]\nx = 70000\ny = 2\n").encode(), "p.toml")
    assert profile.devices == {"a": {"x": 2, "y": 2}}
    assert profile.clamped == {"devices.a.x": 70000}


def profile_of(text: str) -> tuple[str, ...]:
    """The settings of a profile on the test machine, as DEVICE/ATTRIBUTE=VALUE."""
    matched = match(loads((HEAD + text).encode(), "p.toml"), MACHINE, ATTRIBUTES)
    return tuple(f"{setting.device.name}/{setting.attribute}={setting.value}" for setting in matched.settings)


def test_match() -> None:
    assert profile_of("") == ()
    assert profile_of("[devices.hisi_ptt0_1]\nqos_tx_p = 2\ntx_path_rx_req_alloc_buf_level = 0\n") == (
        "hisi_ptt0_1/qos_tx_p=2",
        "hisi_ptt0_1/rx_alloc_buf_level=0",
    )


def test_match_what_the_profile_leaves_alone() -> None:
    matched = match(loads((HEAD + "[devices.hisi_ptt0_1]\n" + "".join(f"{n} = 1\n" for n in NAMES[:4])).encode(), "p"), MACHINE, ATTRIBUTES)
    assert matched.left_alone == (("hisi_ptt0_0", None), ("hisi_ptt0_1", NAMES[4]))


def test_match_both_names_of_one_attribute() -> None:
    text = "[devices.hisi_ptt0_0]\nrx_alloc_buf_level = 1\ntx_path_rx_req_alloc_buf_level = "
    assert profile_of(text + "1\n") == ("hisi_ptt0_0/rx_alloc_buf_level=1",)
    with pytest.raises(InputError, match="tx_path_rx_req_alloc_buf_level: rx_alloc_buf_level is there twice"):
        profile_of(text + "2\n")


def test_match_what_the_machine_has_not() -> None:
    text = "[devices.hisi_ptt0_0]\nqos_tx_q = 1\n[devices.hisi_ptt7_0]\nqos_tx_p = 1\n[devices.hisi_ptt7_2]\n"
    with pytest.raises(DeviceError, match="no hisi_ptt7_0, hisi_ptt7_2") as caught:
        profile_of(text)
    assert caught.value.exit_code == 3
    assert "--ignore-missing" in (caught.value.hint or "")
    with pytest.raises(InputError, match=r"p\.toml: devices\.hisi_ptt0_0\.qos_tx_q: no such tune attribute") as unknown:
        profile_of(text.split("[devices.hisi_ptt7_0]")[0])
    assert "did you mean qos_tx_p" in (unknown.value.hint or "")
    matched = match(loads((HEAD + text).encode(), "p"), MACHINE, ATTRIBUTES, ignore_missing=True)
    assert matched.settings == ()
    assert matched.missing == (("hisi_ptt0_0", "qos_tx_q"), ("hisi_ptt7_0", None), ("hisi_ptt7_2", None))


def test_compare() -> None:
    text = "[devices.hisi_ptt0_0]\nqos_tx_p = 1\nqos_tx_np = 2\nold = 0\n[devices.hisi_ptt7_0]\nqos_tx_p = 1\n[devices.hisi_ptt7_2]\n"
    profile = loads((HEAD + text).encode(), "p.toml")
    matched = match(profile, MACHINE, ATTRIBUTES, ignore_missing=True)
    rows = compare(profile, matched, [Change(s.device, s.attribute, 1, s.value) for s in matched.settings])
    assert rows == [
        Row("hisi_ptt0_0", "qos_tx_p", 1, 1, SAME),
        Row("hisi_ptt0_0", "qos_tx_np", 2, 1, DIFFERS),
        Row("hisi_ptt0_0", "old", 0, None, MISSING),
        Row("hisi_ptt7_0", "qos_tx_p", 1, None, MISSING),
        Row("hisi_ptt7_2", None, None, None, MISSING),
    ]


def test_no_device_at_all() -> None:
    with pytest.raises(DeviceError, match="no hisi_ptt0_0"):
        match(loads((HEAD + "[devices.hisi_ptt0_0]\n").encode(), "p"), replace(MACHINE, devices=()), {})
