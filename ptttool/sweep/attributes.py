"""The tune attributes of a sweep: values for a time, and the original ones afterwards, however it ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from ptttool.errors import HardwareError, InterruptedByUserError, PtttoolError
from ptttool.machine.model import PttDevice
from ptttool.sweep.design import Values
from ptttool.tune.driver import Change, Run, Setting, apply_changes, not_restored, plan_changes
from ptttool.tune.journal.records import Outcome, Step
from ptttool.tune.session import Session
from ptttool.tune.values import read_value, write_value


class BorrowedAttributes:
    """Tune attributes of a device, to be given back.

    Parameters
    ----------
    session : Session
        The right to change the attributes of the machine.
    device : PttDevice
        The device.
    originals : Mapping of str to int
        The attributes, with their original values.
    """

    def __init__(self, session: Session, device: PttDevice, originals: Mapping[str, int]) -> None:
        self.device = device
        self.originals = dict(originals)
        # The whole sweep is one change of the journal: its single writes are not changes there.
        self._session = replace(session, journal=None)

    def read(self) -> Values:
        """Read the values now."""
        return tuple(read_value(self.device, name) for name in self.originals)

    def set(self, setting: Values) -> None:
        """Write what differs, all or nothing, and read it back.

        Raises
        ------
        AccessError, HardwareError, DeviceError, InterruptedByUserError
            As :func:`~ptttool.tune.driver.apply_changes`.
        """
        settings = [Setting(self.device, name, value) for name, value in zip(self.originals, setting, strict=True)]
        apply_changes(plan_changes(settings), session=self._session)

    def probe(self, values: Mapping[str, Sequence[int]]) -> dict[str, dict[int, int]]:
        """Write each value once, and write the original one again.

        Returns
        -------
        dict
            What was read back, by attribute and value.
        """
        readings: dict[str, dict[int, int]] = {}
        for name, original in self.originals.items():
            readings[name] = {}
            for value in values[name]:
                try:
                    write_value(self.device, name, value)
                    readings[name][value] = value
                except HardwareError as error:
                    if error.code != "mismatch":
                        raise
                    readings[name][value] = int(error.details["got"])
            write_value(self.device, name, original)
        return readings


@contextmanager
def borrowed(
    session: Session, device: PttDevice, originals: Mapping[str, int], values: Mapping[str, Sequence[int]]
) -> Iterator[BorrowedAttributes]:
    """Change attributes for a time; they have their original values at the end, whatever ends it.

    The journal has the original values before the first write. After SIGKILL it says what is to be restored.

    Parameters
    ----------
    session : Session
        The right to change the attributes of the machine.
    device : PttDevice
        The device.
    originals : Mapping of str to int
        The attributes, with the values that they have.
    values : Mapping of str to Sequence of int
        The values to be tried, by attribute.

    Raises
    ------
    HardwareError
        ``not-restored``: an attribute could not be restored; ``details["state"]`` has the values.
    AccessError, OutputError
        ``no-journal``: the journal cannot be written. Nothing was changed.
    """
    steps = [
        Step(device.name, name, original, original, between=tuple(dict.fromkeys((*values[name], original))))
        for name, original in originals.items()
    ]
    run = Run(session.begin(steps, [device]), lambda _: None)
    run.touched = [Change(device.name, name, original, original, device) for name, original in originals.items()]
    try:
        yield BorrowedAttributes(session, device, originals)
    except PtttoolError as error:
        raise _given_back(session, run, error) from None
    except KeyboardInterrupt:
        raise _given_back(session, run, InterruptedByUserError("interrupted")) from None
    except BaseException as error:
        problem = _given_back(session, run, HardwareError(f"the sweep has failed ({type(error).__name__}: {error})"))
        if problem.code == "not-restored":
            raise problem from error
        raise
    problem = _given_back(session, run, HardwareError("the sweep is over"))
    if problem.code == "not-restored":
        raise problem


def _given_back(session: Session, run: Run, error: PtttoolError) -> PtttoolError:
    """Restore the original values; return the error, which says whether that worked."""
    failed = run.restore()
    if failed:
        session.fail(run.writer)
        error.message = error.message.replace("; all tune attributes are as they were", "")
        return not_restored(error, failed, run.touched)
    session.end(run.writer, Outcome.DONE)
    if "restored" in error.details:  # a write failed, and was undone already
        return error
    return error.amended("all tune attributes are as they were", restored=True)
