"""Profiles that come with ptttool, and values for every device."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ptttool.cli.main import main
from ptttool.errors import InputError, UsageError
from ptttool.testing import FakeMachine
from ptttool.tune.attributes import LARGEST, MEANINGS
from ptttool.tune.profiles.match import on_machine
from ptttool.tune.profiles.named import FROM_JOURNAL, built_in_names, built_in_profile, find_profile
from ptttool.tune.profiles.profile import EVERY_DEVICE, parse_profile
from tests.support.tune_driver import Driver


def test_each_says_what_and_why_and_has_known_attributes() -> None:
    assert built_in_names() == ["default", "network", "storage"]
    for name in built_in_names():
        profile = built_in_profile(name)
        assert profile.description
        assert len(profile.why.split()) > 20
        assert profile.clamped == {}
        if name != FROM_JOURNAL:
            assert list(profile.devices) == [EVERY_DEVICE]
            assert set(profile.devices[EVERY_DEVICE]) <= set(MEANINGS)
            assert all(0 <= value <= LARGEST for value in profile.devices[EVERY_DEVICE].values())


def test_an_unknown_name() -> None:
    with pytest.raises(UsageError) as caught:
        built_in_profile("../../etc/passwd")
    assert caught.value.code == "unknown-profile"


def test_a_name_that_is_nearly_one(ptt_machine: FakeMachine) -> None:
    with pytest.raises(InputError) as caught:
        find_profile("storag", Driver(ptt_machine))
    assert caught.value.code == "no-such-file"
    assert "storage" in str(caught.value.hint)


@pytest.mark.parametrize("name", ["network", "storage"])
def test_apply_sets_every_device(ptt_machine: FakeMachine, name: str) -> None:
    driver = Driver(ptt_machine)
    assert main(["tune", "apply", name]) == 0
    wanted = built_in_profile(name).devices[EVERY_DEVICE]
    assert {key: value for key, value in driver.attributes.items() if value != 1} == {
        f"{device}/{attribute}": value for device in ptt_machine.ptts for attribute, value in wanted.items()
    }
    assert main(["tune", "diff", name]) == 0


def test_a_name_counts_more_than_a_file(ptt_machine: FakeMachine) -> None:
    source = Driver(ptt_machine)
    Path("/folder").mkdir()
    os.chdir("/folder")  # of the fake file system, with which it goes
    Path("storage").write_text("version = 1\n[devices.hisi_ptt0_0]\nqos_tx_p = 0\n")
    assert find_profile("storage", source).devices == {EVERY_DEVICE: {"qos_tx_cpl": 2}}
    assert find_profile("./storage", source).devices == {"hisi_ptt0_0": {"qos_tx_p": 0}}


def test_what_is_below_a_device_counts_more() -> None:
    text = 'version = 1\n[devices."*"]\nqos_tx_p = 2\nrx_alloc_buf_level = 2\n[devices.b]\ntx_path_rx_req_alloc_buf_level = 0\n'
    known = {"a": ["qos_tx_p", "rx_alloc_buf_level"], "b": ["qos_tx_p", "rx_alloc_buf_level"], "without": []}
    assert on_machine(parse_profile(text.encode(), "p"), known).devices == {
        "a": {"qos_tx_p": 2, "rx_alloc_buf_level": 2},
        "b": {"tx_path_rx_req_alloc_buf_level": 0, "qos_tx_p": 2},
    }


@pytest.mark.parametrize("text", ["description = 1", "why = []"])
def test_texts_are_texts(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_profile(f"version = 1\n{text}\n".encode(), "p")
    assert caught.value.code == "bad-profile"


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "profiles", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["profiles"]
    assert [one["name"] for one in found] == built_in_names()
    assert main(["tune", "profiles", "network"]) == 0
    text = capsys.readouterr().out
    assert parse_profile(text.encode(), "network").devices == built_in_profile("network").devices
    assert main(["tune", "profiles", "nothing"]) == 2
    capsys.readouterr()
    assert main(["tune", "profiles"]) == 0
    assert "rx_alloc_buf_level=2" in capsys.readouterr().out
