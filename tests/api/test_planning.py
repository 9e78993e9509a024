"""``plan_for`` and ``record_plan`` on the recorded machine."""

from __future__ import annotations

from pathlib import Path

import pytest

import ptttool
from ptttool.errors import DeviceError


def test_a_plan_of_one_run(tmp_path: Path) -> None:
    plan = ptttool.plan_for(ptttool.find_machine(demo=True), "latency", root_ports=["nvme0"], output=tmp_path / "x.data")
    done = ptttool.record_plan(plan)
    assert [one.path for one in done.recordings] == [tmp_path / "x.data"]
    assert (done.series, done.missing, done.failure, done.ok) == (None, (), None, True)
    assert [check.code for check in done.checks] == ["seen", "open-ends"]


def test_a_run_that_is_missing(tmp_path: Path) -> None:
    said: list[ptttool.Diagnostic] = []
    plan = ptttool.plan_for(ptttool.find_machine(demo=True), ("errors", "payload"), root_ports=["ens2"], output=tmp_path / "x.data")
    done = ptttool.record_plan(plan, report=said.append)
    assert done.missing == ("outbound-cpl", "inbound-cpl")
    assert (done.ok, done.series) == (False, tmp_path / "x.series.json")
    assert isinstance(done.failure, DeviceError)


def test_nothing_is_recorded(tmp_path: Path) -> None:
    plan = ptttool.plan_for(ptttool.find_machine(demo=True), "mmio", root_ports=["nvme0"], output=tmp_path / "x.data")
    with pytest.raises(DeviceError):
        ptttool.record_plan(plan)
    assert not list(tmp_path.iterdir())
