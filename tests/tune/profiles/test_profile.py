"""Profiles: read strictly, held against a machine, compared."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from ptttool.errors import DeviceError, InputError
from ptttool.machine.model import PttDevice
from ptttool.tune.attributes import MEANINGS
from ptttool.tune.budget import MAX_DOTS, MAX_PROFILE_BYTES
from ptttool.tune.driver import Change
from ptttool.tune.profiles.match import DiffRow, RowState, compare, match_profile
from ptttool.tune.profiles.profile import load_profile, parse_profile
from ptttool.tune.profiles.snapshot import Snapshot

NAMES = sorted(MEANINGS)
HEAD = "version = 1\n"
A, B = (PttDevice(name, 0, core, f"/sys/devices/{name}") for core, name in enumerate(("hisi_ptt0_0", "hisi_ptt0_1")))
DEVICES = (A, B)
SAME, DIFFERS, MISSING = RowState.SAME, RowState.DIFFERS, RowState.MISSING
ATTRIBUTES = {A.name: NAMES, B.name: NAMES}


def test_round_trip() -> None:
    values = {"hisi_ptt0_0": {"qos_tx_p": 1, "qos_tx_np": 2}, "hisi_ptt0_1": {"qos_tx_p": 0}}
    text = Snapshot(values, "node7", "6.12.95").text
    assert text.splitlines()[0].startswith("# Tune profile of node7, Linux 6.12.95")
    profile = parse_profile(text.encode(), "p.toml")
    assert profile.devices == values
    assert profile.clamped == {}
    assert Snapshot(values, "node7", "6.12.95").text == text


def test_a_hostile_host_name_stays_in_its_comment() -> None:
    text = Snapshot({}, 'x\n[devices.hisi_ptt0_0]\x1b[31m\u2028"', "1\r2").text
    assert tomllib.loads(text) == {"version": 1, "devices": {}}
    assert "\x1b" not in text


def test_a_machine_without_a_name() -> None:
    assert Snapshot({}).text.startswith("# Tune profile: every tune attribute")


WRONG = [
    ("", "not-a-profile", None),
    ("# only a comment\n", "not-a-profile", None),
    ("version = 1\n[devices.a]\nx = 7 7\n", "bad-toml", None),
    ("version = 1\nversion = 1\n", "bad-toml", None),
    ("[devices.a]\nx = 1\n", "bad-profile", "version"),
    ("version = 2\n", "bad-profile", "version"),
    ("version = true\n", "bad-profile", "version"),
    ("version = '1'\n", "bad-profile", "version"),
    ("version = 0\n", "bad-profile", "version"),
    (HEAD + "author = 'me'\n", "bad-profile", "author"),
    (HEAD + "devices = 1\n", "bad-profile", "devices"),
    (HEAD + "[[devices]]\n", "bad-profile", "devices"),
    (HEAD + "[devices]\na = 1\n", "bad-profile", "devices.a"),
    (HEAD + "[devices.a]\nx = -1\n", "bad-profile", "devices.a.x"),
    (HEAD + "[devices.a]\nx = '1'\n", "bad-profile", "devices.a.x"),
    (HEAD + "[devices.a]\nx = 1.0\n", "bad-profile", "devices.a.x"),
    (HEAD + "[devices.a]\nx = true\n", "bad-profile", "devices.a.x"),
    (HEAD + "[devices.a.x]\ny = 1\n", "bad-profile", "devices.a.x"),
    (HEAD + "[devices.a]\nx = 1" + "0" * 5000 + "\n", "bad-toml", None),
    (HEAD + "x = " + "[" * 60_000, "bad-toml", None),
    ("#" * (MAX_PROFILE_BYTES + 1), "over-budget", None),
    ("a." * (MAX_DOTS + 1) + "a = 1", "over-budget", None),
    ("version = [{" + "a." * MAX_DOTS + "a = [[[1]]]}]", "bad-profile", "version"),
    ("version = 0x" + "f" * 20_000, "bad-profile", "version"),
    ("version = 1\n[devices.a]\nb = 0x" + "f" * 20_000, "bad-profile", "devices.a.b"),
]


@pytest.mark.parametrize(("text", "code", "key"), WRONG, ids=range(len(WRONG)))
def test_damaged_profiles(text: str, code: str, key: str | None) -> None:
    with pytest.raises(InputError) as caught:
        parse_profile(text.encode(), "p.toml")
    assert (caught.value.path, caught.value.code, caught.value.details.get("key")) == ("p.toml", code, key)
    assert key is None or f"p.toml: {key}: " in caught.value.message
    assert caught.value.exit_code == 6


@pytest.mark.parametrize("value", ["1979-01-01", "07:32:00", "1979-01-01T00:00:00Z", "1" + "0" * 5000])
def test_a_problem_is_said_without_python(value: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_profile(f"version = {value}".encode(), "p.toml")
    assert not any(word in caught.value.message for word in ("datetime.", "sys."))


@pytest.mark.parametrize(("text", "line"), [("version = 1\n[devices.a]\nx = 7 7\n", 3), ("version = 1\nversion = 1\n", 2)])
def test_the_line_of_bad_toml_is_named(text: str, line: int) -> None:
    with pytest.raises(InputError, match=f"line {line}"):
        parse_profile(text.encode(), "p.toml")


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(InputError) as caught:
        parse_profile(HEAD.encode() + b"\xff\xfe", "p.toml")
    assert (caught.value.code, caught.value.offset) == ("not-a-profile", 0xC)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_profile(tmp_path / "missing.toml")
    assert caught.value.code == "no-such-file"
    with pytest.raises(InputError, match="a folder"):
        load_profile(str(tmp_path))


def test_values_above_two_are_clamped() -> None:
    profile = parse_profile((HEAD + "[devices.a]\nx = 70000\ny = 2\n").encode(), "p.toml")
    assert profile.devices == {"a": {"x": 2, "y": 2}}
    assert profile.clamped == {"devices.a.x": 70000}


def profile_of(text: str) -> tuple[str, ...]:
    """The settings of a profile on the test machine, as DEVICE/ATTRIBUTE=VALUE."""
    matched = match_profile(parse_profile((HEAD + text).encode(), "p.toml"), DEVICES, ATTRIBUTES)
    return tuple(f"{setting.device.name}/{setting.attribute}={setting.value}" for setting in matched.settings)


def test_match_profile() -> None:
    assert profile_of("") == ()
    assert profile_of("[devices.hisi_ptt0_1]\nqos_tx_p = 2\ntx_path_rx_req_alloc_buf_level = 0\n") == (
        "hisi_ptt0_1/qos_tx_p=2",
        "hisi_ptt0_1/rx_alloc_buf_level=0",
    )


def test_match_what_the_profile_leaves_alone() -> None:
    matched = match_profile(
        parse_profile((HEAD + "[devices.hisi_ptt0_1]\n" + "".join(f"{n} = 1\n" for n in NAMES[:4])).encode(), "p"), DEVICES, ATTRIBUTES
    )
    assert matched.left_alone == (("hisi_ptt0_0", None), ("hisi_ptt0_1", NAMES[4]))


def test_match_both_names_of_one_attribute() -> None:
    text = "[devices.hisi_ptt0_0]\nrx_alloc_buf_level = 1\ntx_path_rx_req_alloc_buf_level = "
    assert profile_of(text + "1\n") == ("hisi_ptt0_0/rx_alloc_buf_level=1",)
    with pytest.raises(InputError) as caught:
        profile_of(text + "2\n")
    assert (caught.value.code, caught.value.details) == (
        "attribute-twice",
        {"key": "devices.hisi_ptt0_0.tx_path_rx_req_alloc_buf_level"},
    )


def test_match_what_the_machine_has_not() -> None:
    text = "[devices.hisi_ptt0_0]\nqos_tx_q = 1\n[devices.hisi_ptt7_0]\nqos_tx_p = 1\n[devices.hisi_ptt7_2]\n"
    with pytest.raises(DeviceError) as caught:
        profile_of(text)
    assert (caught.value.exit_code, caught.value.code) == (3, "profile-device-missing")
    assert caught.value.details == {"missing": ["hisi_ptt7_0", "hisi_ptt7_2"]}
    assert "--ignore-missing" in (caught.value.hint or "")
    with pytest.raises(InputError) as unknown:
        profile_of(text.split("[devices.hisi_ptt7_0]")[0])
    assert (unknown.value.path, unknown.value.code) == ("p.toml", "profile-attribute-missing")
    assert unknown.value.details == {"keys": ["devices.hisi_ptt0_0.qos_tx_q"]}
    assert "qos_tx_p" in (unknown.value.hint or "")
    matched = match_profile(parse_profile((HEAD + text).encode(), "p"), DEVICES, ATTRIBUTES, ignore_missing=True)
    assert matched.settings == ()
    assert matched.missing == (("hisi_ptt0_0", "qos_tx_q"), ("hisi_ptt7_0", None), ("hisi_ptt7_2", None))


def test_compare() -> None:
    text = "[devices.hisi_ptt0_0]\nqos_tx_p = 1\nqos_tx_np = 2\nold = 0\n[devices.hisi_ptt7_0]\nqos_tx_p = 1\n[devices.hisi_ptt7_2]\n"
    profile = parse_profile((HEAD + text).encode(), "p.toml")
    matched = match_profile(profile, DEVICES, ATTRIBUTES, ignore_missing=True)
    rows = compare(matched, [Change(s.device.name, s.attribute, 1, s.value, s.device) for s in matched.settings])
    assert rows == [
        DiffRow("hisi_ptt0_0", "qos_tx_p", 1, 1, SAME),
        DiffRow("hisi_ptt0_0", "qos_tx_np", 2, 1, DIFFERS),
        DiffRow("hisi_ptt0_0", "old", 0, None, MISSING),
        DiffRow("hisi_ptt7_0", "qos_tx_p", 1, None, MISSING),
        DiffRow("hisi_ptt7_2", None, None, None, MISSING),
    ]


def test_no_device_at_all() -> None:
    with pytest.raises(DeviceError) as caught:
        match_profile(parse_profile((HEAD + "[devices.hisi_ptt0_0]\n").encode(), "p"), (), {})
    assert caught.value.details == {"missing": ["hisi_ptt0_0"]}
