"""A series that is cut off: by Ctrl-C between runs, a full disk, a file of the series that cannot be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptttool.api.capture import build_event, plan_recording
from ptttool.api.machine import find_machine
from ptttool.capture.keep import Recorded
from ptttool.capture.plan import Plan
from ptttool.capture.series.manifest import Series, load
from ptttool.capture.series.manifest import save as write
from ptttool.capture.series.record import plan_series, record_series
from ptttool.diagnostics import Diagnostic
from ptttool.errors import OutputError

NAMES = ("outbound-p", "outbound-np", "outbound-cpl")


@pytest.fixture
def plans(tmp_path: Path) -> list[Plan]:
    machine = find_machine(demo=True)
    chosen = [build_event(machine, root_ports=["nvme0"], direction="outbound", types=[one]) for one in ("p", "np", "cpl")]
    return plan_series([plan_recording(one, output=tmp_path / "x.data", duration=1) for one in chosen], NAMES)


class Recording:
    """Records nothing; raises at a run."""

    def __init__(self, at: int, error: BaseException) -> None:
        self._at, self._error = at, error

    def __call__(self, number: int, plan: Plan) -> Recorded:
        if number == self._at:
            raise self._error
        plan.output.write_bytes(b"PERFILE2")
        return Recorded(path=plan.output, size=8)


def states(tmp_path: Path) -> list[str]:
    return [run.state.value for run in load(tmp_path / "x.series.json").runs]


def test_ctrl_c_between_runs(plans: list[Plan], tmp_path: Path) -> None:
    said: list[Diagnostic] = []
    with pytest.raises(KeyboardInterrupt):
        record_series(plans, NAMES, tmp_path / "x.data", Recording(1, KeyboardInterrupt()), report=said.append)
    assert [one.details["missing"] for one in said] == [list(NAMES[1:])]
    assert states(tmp_path) == ["recorded", "failed", "planned"]


def test_ctrl_c_before_anything(plans: list[Plan], tmp_path: Path) -> None:
    said: list[Diagnostic] = []
    with pytest.raises(KeyboardInterrupt):
        record_series(plans, NAMES, tmp_path / "x.data", Recording(0, KeyboardInterrupt()), report=said.append)
    assert (said, list(tmp_path.iterdir())) == ([], [])


def test_a_full_disk(plans: list[Plan], tmp_path: Path) -> None:
    done = record_series(plans, NAMES, tmp_path / "x.data", Recording(2, OutputError("no space left", code="disk-full")))
    assert done.failure is not None
    assert (done.failure.code, len(done.recorded), [one.code for one in done.diagnostics]) == ("disk-full", 2, ["runs-missing"])
    assert states(tmp_path) == ["recorded", "recorded", "failed"]


def test_the_file_of_the_series_cannot_be_written_any_more(plans: list[Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was recorded is reported all the same, with what is missing."""
    saves = iter([True, False])

    def save(path: Path, series: Series) -> None:
        if not next(saves, False):
            raise OSError(28, "No space left on device")
        write(path, series)

    monkeypatch.setattr("ptttool.capture.series.record.save", save)
    done = record_series(plans, NAMES, tmp_path / "x.data", Recording(9, KeyboardInterrupt()))
    assert done.failure is not None
    assert done.failure.exit_code == 6
    assert [recorded.path.name for _, recorded in done.recorded] == ["x.1-outbound-p.data"]
    assert [run.name for run in done.series.missing] == list(NAMES[1:])
