"""Setting tune attributes: all or nothing, whatever the driver answers."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable

import pytest
from pyfakefs.fake_filesystem import FakeFilesystem

from ptttool.errors import AccessError, DeviceError, HardwareError, InterruptedByUserError, PtttoolError, UsageError
from ptttool.machine.model import PttDevice
from ptttool.testing import FakeMachine
from ptttool.tune.driver import (
    Change,
    ChangeState,
    Setting,
    apply_changes,
    plan_changes,
    set_attributes,
)
from ptttool.tune.values import attribute_names, read_attributes, read_value
from tests.support.tune_driver import ATTRIBUTES, Driver, failure


@pytest.fixture
def source(ptt_machine: FakeMachine) -> Driver:
    return Driver(ptt_machine)


def set_values(source: Driver, **values: int) -> tuple[Change, ...]:
    device = source.device()
    return apply_changes(plan_changes([Setting(device, attribute, value) for attribute, value in values.items()]))


def test_attributes_are_those_of_the_folder(source: Driver, fs: FakeFilesystem) -> None:
    device = source.device()
    assert attribute_names(device) == list(ATTRIBUTES)
    for name in ("new_attribute", "qos_tx_p~", ".hidden"):
        fs.create_file(f"{device.sysfs}/tune/{name}")
    assert attribute_names(device) == sorted(["new_attribute", *ATTRIBUTES])


def test_attributes_where_there_is_no_folder(source: Driver, fs: FakeFilesystem) -> None:
    device = source.device()
    fs.chmod(f"{device.sysfs}/tune", 0o700)
    with source.machine.as_user(), pytest.raises(AccessError):
        attribute_names(device)
    fs.remove_object(f"{device.sysfs}/tune")
    assert attribute_names(device) == []
    fs.remove_object(device.sysfs)
    with pytest.raises(DeviceError) as caught:
        attribute_names(device)
    assert (caught.value.code, caught.value.details) == ("device-gone", {"device": "hisi_ptt0_0"})


def test_writes_what_differs_once_and_reads_it_back(source: Driver) -> None:
    changes = set_values(source, qos_tx_p=2, qos_tx_np=1, qos_tx_cpl=0)
    assert [(c.attribute, c.old, c.new, c.differs) for c in changes] == [
        ("qos_tx_p", 1, 2, True),
        ("qos_tx_np", 1, 1, False),
        ("qos_tx_cpl", 1, 0, True),
    ]
    assert source.writes == ["hisi_ptt0_0/qos_tx_p=2", "hisi_ptt0_0/qos_tx_cpl=0"]
    assert read_value(source.device(), "qos_tx_p") == 2


@pytest.mark.parametrize("text", ["", "x", "-1", "0x1", "1 1", "١", "9" * 5000])
def test_what_reads_as_no_number(source: Driver, text: str) -> None:
    source.on_read = lambda attribute, _: text
    with pytest.raises(HardwareError) as caught:
        set_values(source, qos_tx_p=2)
    assert caught.value.code == "odd-value"
    assert source.writes == []


ANSWERS: list[tuple[int, type[PtttoolError], str]] = [
    (errno.ETIMEDOUT, HardwareError, "timeout"),
    (errno.EACCES, AccessError, "no-permission"),
    (errno.EPERM, AccessError, "no-permission"),
    (errno.EROFS, AccessError, "read-only"),
    (errno.EINVAL, HardwareError, "refused"),
    (errno.ENODEV, DeviceError, "device-gone"),
    (errno.ENOENT, DeviceError, "device-gone"),
    (errno.EIO, HardwareError, "io-error"),
]


@pytest.mark.parametrize(("code", "kind", "word"), ANSWERS)
def test_an_old_value_that_cannot_be_read_stops_before_the_first_write(
    source: Driver, code: int, kind: type[PtttoolError], word: str
) -> None:
    def fail(attribute: str, _: str) -> str | None:
        if attribute == "hisi_ptt0_0/qos_tx_np":
            raise failure(code)
        return None

    source.on_read = fail
    with pytest.raises(kind) as caught:
        set_values(source, qos_tx_p=2, qos_tx_np=2)
    assert caught.value.code == word
    assert "qos_tx_np" in caught.value.message
    assert source.writes == []


@pytest.mark.parametrize(("code", "kind", "word"), ANSWERS)
@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_failing_write_restores_the_others(source: Driver, code: int, kind: type[PtttoolError], word: str, failing: int) -> None:
    def fail(attribute: str, _: str) -> str | None:
        if len(source.writes) == failing:
            raise failure(code)
        return None

    source.on_write = fail
    with pytest.raises(kind) as caught:
        set_values(source, qos_tx_p=2, qos_tx_np=0, qos_tx_cpl=2)
    assert caught.value.code == word
    assert ("qos_tx_p", "qos_tx_np", "qos_tx_cpl")[failing - 1] in caught.value.message
    assert caught.value.details["restored"] is True
    assert set(source.attributes.values()) == {1}
    # The write that was refused changed nothing and is not repeated; the earlier ones are taken back, the last first.
    assert source.writes[failing:] == ["hisi_ptt0_0/qos_tx_np=1", "hisi_ptt0_0/qos_tx_p=1"][3 - failing :]


def test_a_write_that_times_out_and_is_stored_all_the_same(source: Driver) -> None:
    def fail(attribute: str, text: str) -> str | None:
        if text == "2\n":
            source.attributes[attribute] = 2
            raise failure(errno.ETIMEDOUT)
        return None

    source.on_write = fail
    with pytest.raises(HardwareError) as caught:
        set_values(source, qos_tx_p=0, qos_tx_np=2)
    assert caught.value.code == "timeout"
    assert caught.value.details == {"device": "hisi_ptt0_0", "attribute": "qos_tx_np", "restored": True}
    assert set(source.attributes.values()) == {1}


def test_another_value_read_back(source: Driver) -> None:
    source.on_write = lambda attribute, text: "0" if (attribute, text) == ("hisi_ptt0_0/qos_tx_np", "2\n") else None
    with pytest.raises(HardwareError) as caught:
        set_values(source, qos_tx_p=2, qos_tx_np=2)
    assert (caught.value.exit_code, caught.value.code) == (7, "mismatch")
    assert caught.value.details == {"device": "hisi_ptt0_0", "attribute": "qos_tx_np", "wanted": 2, "got": 0, "restored": True}
    assert set(source.attributes.values()) == {1}


def test_restoring_that_fails_says_what_each_attribute_holds(source: Driver) -> None:
    """The second write hangs the device for good: the first attribute keeps its new value, the second one's is unknown."""

    def hang(attribute: str, _: str) -> str | None:
        if len(source.writes) >= 2:
            raise failure(errno.ETIMEDOUT)
        return None

    def hang_reading(attribute: str, _: str) -> str | None:
        return hang(attribute, _) if attribute.endswith("qos_tx_np") else None

    source.on_write, source.on_read = hang, hang_reading
    with pytest.raises(HardwareError) as caught:
        set_values(source, qos_tx_p=2, qos_tx_np=2, qos_tx_cpl=2)
    error = caught.value
    assert error.code == "not-restored"
    assert error.details["cause"] == "timeout"
    assert error.details["state"] == [
        {"device": "hisi_ptt0_0", "attribute": "qos_tx_p", "was": 1, "holds": 2},
        {"device": "hisi_ptt0_0", "attribute": "qos_tx_np", "was": 1, "holds": None},
    ]
    assert error.hint is not None
    assert "ptttool tune set hisi_ptt0_0 qos_tx_p=1" in error.hint


def test_several_devices_are_one_transaction(source: Driver) -> None:
    settings = [Setting(source.device(name), "qos_tx_p", 2) for name in ("hisi_ptt0_0", "hisi_ptt0_2", "hisi_ptt2_0")]

    def fail(attribute: str, _: str) -> str | None:
        if attribute == "hisi_ptt2_0/qos_tx_p":
            raise failure(errno.ETIMEDOUT)
        return None

    source.on_write = fail
    with pytest.raises(HardwareError) as caught:
        apply_changes(plan_changes(settings))
    assert (caught.value.code, caught.value.details["device"]) == ("timeout", "hisi_ptt2_0")
    assert set(source.attributes.values()) == {1}
    assert "hisi_ptt0_2/qos_tx_p=2" in source.writes


HELD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGXCPU)


@pytest.mark.parametrize("number", HELD)
@pytest.mark.parametrize("during", [1, 2, 3])
def test_a_signal_restores(source: Driver, number: signal.Signals, during: int) -> None:
    def interrupt(attribute: str, _: str) -> str | None:
        if len(source.writes) == during:
            os.kill(os.getpid(), number)
        # A second one while restoring changes nothing.
        elif len(source.writes) == during + 1:
            os.kill(os.getpid(), signal.SIGINT)
        return None

    source.on_write = interrupt
    before = [signal.getsignal(held) for held in HELD]
    with pytest.raises(InterruptedByUserError) as caught:
        set_values(source, qos_tx_p=2, qos_tx_np=2, qos_tx_cpl=2)
    assert caught.value.details == {"signal": number.name, "restored": True}
    assert caught.value.exit_code == 128 + number
    assert set(source.attributes.values()) == {1}
    assert len(source.writes) == 2 * during
    assert [signal.getsignal(held) for held in HELD] == before


def test_a_signal_that_was_ignored_stays_ignored(source: Driver) -> None:
    def hang_up(attribute: str, _: str) -> str | None:
        os.kill(os.getpid(), signal.SIGHUP)
        return None

    source.on_write = hang_up
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        set_values(source, qos_tx_p=2)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert source.attributes["hisi_ptt0_0/qos_tx_p"] == 2


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("a fault of ours")])
def test_any_exception_restores(source: Driver, error: BaseException) -> None:
    def fail(attribute: str, _: str) -> str | None:
        if len(source.writes) == 2:
            raise error
        return None

    source.on_write = fail
    with pytest.raises(InterruptedByUserError if isinstance(error, KeyboardInterrupt) else RuntimeError):
        set_values(source, qos_tx_p=2, qos_tx_np=2)
    assert set(source.attributes.values()) == {1}


def test_all_readings_with_what_hides_the_others(source: Driver) -> None:
    def fail(attribute: str, _: str) -> str | None:
        if attribute.endswith("qos_tx_np"):
            raise failure(errno.ETIMEDOUT)
        return None

    source.on_read = fail
    readings = {reading.attribute: reading for reading in read_attributes(source.device())}
    assert [reading.value for reading in readings.values()] == [1, None, 1, 1, 1]
    assert isinstance(readings["qos_tx_np"].error, HardwareError)


def test_nothing_to_do_writes_nothing(source: Driver) -> None:
    refuse: Callable[[str, str], str | None] = lambda attribute, text: pytest.fail("written")  # noqa: E731
    source.on_write = refuse
    assert [change.differs for change in set_values(source, qos_tx_p=1)] == [False]


def test_an_observer_sees_each_change_before_and_after_it_is_written(source: Driver) -> None:
    seen: list[tuple[str, int, int, ChangeState, int]] = []

    def observe(change: Change) -> None:
        seen.append((change.attribute, change.old, change.new, change.state, len(source.writes)))

    plan = set_attributes(source.device(), {"qos_tx_p": 2, "qos_tx_np": 1, "qos_tx_cpl": 7}, on_change=observe)
    assert seen == [
        ("qos_tx_p", 1, 2, ChangeState.WRITING, 0),
        ("qos_tx_p", 1, 2, ChangeState.WRITTEN, 1),
        ("qos_tx_cpl", 1, 2, ChangeState.WRITING, 1),
        ("qos_tx_cpl", 1, 2, ChangeState.WRITTEN, 2),
    ]
    assert plan.done
    assert [change.state for change in plan.changes] == [ChangeState.WRITTEN, ChangeState.PLANNED, ChangeState.WRITTEN]
    assert [(one.code, one.where, one.details) for one in plan.diagnostics] == [
        ("clamped-value", "qos_tx_cpl", {"asked": "7", "taken": 2, "driver_accepts": True}),
    ]


def test_an_observer_sees_what_was_restored_and_what_was_not(source: Driver) -> None:
    def hang(attribute: str, _: str) -> str | None:
        if len(source.writes) >= 2 and attribute.endswith("qos_tx_np"):
            raise failure(errno.ETIMEDOUT)
        return None

    source.on_write = hang
    source.on_read = hang
    states: list[tuple[str, str]] = []
    with pytest.raises(HardwareError):
        set_attributes(
            source.device(), ["qos_tx_p=2", "qos_tx_np=2"], on_change=lambda change: states.append((change.attribute, change.state))
        )
    assert states[-2:] == [("qos_tx_p", "restored"), ("qos_tx_np", "not-restored")]


def test_an_observer_that_fails_stops_before_the_write(source: Driver) -> None:
    def full(change: Change) -> None:
        if change.attribute == "qos_tx_np":
            raise OSError(errno.ENOSPC, "the journal is full")

    with pytest.raises(OSError, match="journal"):
        set_attributes(source.device(), ["qos_tx_p=2", "qos_tx_np=2"], on_change=full)
    assert source.writes == ["hisi_ptt0_0/qos_tx_p=2", "hisi_ptt0_0/qos_tx_p=1"]


def test_values_as_numbers_are_checked_as_texts_are(source: Driver) -> None:
    for values in ({"qos_tx_p": -1}, {"qos_tx_p": True}, {"qos_tx_p": 1.5}, {"nothing": 1}):
        with pytest.raises(UsageError) as caught:
            set_attributes(source.device(), values)  # type: ignore[arg-type]
        assert caught.value.code == "bad-assignment"
    plan = set_attributes(source.device(), {"qos_tx_p": 2}, dry_run=True)
    assert not plan.done
    assert source.writes == []
    assert "<td>qos_tx_p</td><td>1</td><td>2</td>" in plan._repr_html_()


def test_a_device_from_a_file_cannot_be_tuned() -> None:
    with pytest.raises(DeviceError) as caught:
        set_attributes(PttDevice("hisi_ptt0_0", 0, 0, "/sys/devices/hisi_ptt0_0"), {"qos_tx_p": 2})
    assert caught.value.code == "no-machine"
