"""Machines and tune attributes from Python: the examples of the docstrings, notebooks, errors as data."""

from __future__ import annotations

import doctest
import pickle
from pathlib import Path

import pytest

from ptttool.api import machine as api
from ptttool.errors import DeviceError, UsageError
from tests.support.machines import MACHINES, NEW, OLD


def examples() -> list[doctest.DocTest]:
    return [test for test in doctest.DocTestFinder().find(api, api.__name__) if test.examples]


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name.rpartition(".")[2])
def test_examples(example: doctest.DocTest, request: pytest.FixtureRequest) -> None:
    example.globs["getfixture"] = request.getfixturevalue
    assert doctest.DocTestRunner().run(example).failed == 0


def test_every_function_has_an_example() -> None:
    functions = {name for name in api.__all__ if name[0].islower()}
    assert functions == {example.name.rpartition(".")[2] for example in examples()}


def test_a_machine_in_a_folder() -> None:
    machine = api.find_machine(MACHINES / OLD, tune=True)
    assert [attribute.value for attribute in machine.devices[0].tune] == [1] * 5
    assert machine.devices[0].diagnostics[0].code == "pci-unknown"
    with pytest.raises(UsageError):
        api.find_machine(MACHINES / OLD, demo=True)


def test_names_that_are_unknown() -> None:
    machine = api.find_machine(MACHINES / NEW)
    with pytest.raises(DeviceError) as caught:
        api.find_device(machine, "0_9")
    assert (caught.value.code, caught.value.details["devices"][0]) == ("unknown-device", "hisi_ptt0_0")
    with pytest.raises(UsageError) as unknown:
        api.tune_attributes(machine.devices[0], ["qos"])
    assert (unknown.value.code, list(unknown.value.details["unknown"])) == ("unknown-attribute", ["qos"])


def test_profiles(tmp_path: Path) -> None:
    machine, file = api.find_machine(demo=True), tmp_path / "profile.toml"
    snapshot = api.save_tune_profile(file, machine)
    assert snapshot._repr_html_().count("<tr>") == 16
    file.write_text(file.read_text() + "\n[devices.hisi_ptt9_9]\nqos_tx_p = 7\n")
    with pytest.raises(DeviceError) as caught:
        api.apply_tune_profile(file, machine)
    assert (caught.value.code, caught.value.details) == ("profile-device-missing", {"missing": ["hisi_ptt9_9"]})
    plan = api.apply_tune_profile(file, machine, ignore_missing=True, dry_run=True)
    assert (plan.done, plan.missing, plan.left_alone) == (False, (("hisi_ptt9_9", None),), ())
    assert [(one.code, one.severity) for one in plan.diagnostics] == [("clamped-value", "info"), ("missing", "warning")]
    diff = api.diff_tune_profile(file, machine)
    assert not diff.equal
    assert "<td>hisi_ptt9_9</td><td>qos_tx_p</td><td>2</td><td></td><td>missing</td>" in diff._repr_html_()


def test_two_profiles_are_compared(tmp_path: Path) -> None:
    """Of either; values for every device stand for the devices of the machine, and both names of an attribute for it."""
    machine = api.find_machine(demo=True)
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    first.write_text('version = 1\n[devices."*"]\nqos_tx_p = 2\n[devices.hisi_ptt0_0]\nrx_alloc_buf_level = 0\n')
    second.write_text(
        "version = 1\n[devices.hisi_ptt0_0]\nqos_tx_p = 1\ntx_path_rx_req_alloc_buf_level = 0\n[devices.hisi_ptt9_9]\nqos_tx_p = 1\n"
    )
    diff = api.diff_tune_profile(first, machine, other=second)
    assert {(row.device, row.attribute, row.profile, row.machine, row.state) for row in diff.rows} == {
        ("hisi_ptt0_0", "rx_alloc_buf_level", 0, 0, "same"),
        ("hisi_ptt0_0", "qos_tx_p", 2, 1, "differs"),
        ("hisi_ptt0_2", "qos_tx_p", 2, None, "missing"),
        ("hisi_ptt2_0", "qos_tx_p", 2, None, "missing"),
        ("hisi_ptt9_9", "qos_tx_p", None, 1, "missing"),
    }
    assert (diff.equal, diff.other, diff.left_alone) == (False, str(second), ())
    assert api.diff_tune_profile(first, machine, other=first).equal


def test_a_notebook_shows_machines_and_devices() -> None:
    machine = api.find_machine(demo=True, tune=True)
    assert machine._repr_html_().count("<tr>") == 4
    assert "<td>0000:00:08.0</td>" in machine._repr_html_()
    assert "<tr><td>qos_tx_p</td><td>1</td></tr>" in machine.devices[0]._repr_html_()


def test_a_pickled_device_leaves_its_source_behind() -> None:
    device = api.find_devices(demo=True)[0]
    copy = pickle.loads(pickle.dumps(device))
    assert copy == device
    assert copy.source is None
    with pytest.raises(DeviceError) as caught:
        api.tune_attributes(copy)
    assert caught.value.code == "no-machine"
