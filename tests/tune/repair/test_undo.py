"""History and undo: values from before the last changes, and nothing that somebody else has set."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace
from pyfakefs.fake_filesystem import FakeFilesystem

from ptttool.cli.main import main
from ptttool.errors import PtttoolError
from ptttool.machine.discovery import list_devices
from ptttool.machine.sources.contract import Source
from ptttool.machine.sources.tree import TreeSource
from ptttool.testing import FakeMachine
from ptttool.tune.driver import Change, ChangeState, set_attributes
from ptttool.tune.journal import history as history_module
from ptttool.tune.journal.author import Author
from ptttool.tune.journal.history import read_history
from ptttool.tune.journal.records import Outcome, Step, StepState
from ptttool.tune.journal.store import Journal, journal_of
from ptttool.tune.repair.recovery import RecoverAction, recover
from ptttool.tune.repair.undo import undo
from tests.support import machines
from tests.support.tune_driver import Driver

P, NP = "hisi_ptt0_0/qos_tx_p", "hisi_ptt0_0/qos_tx_np"


@pytest.fixture
def source(ptt_machine: FakeMachine) -> Driver:
    return Driver(ptt_machine)


def journal_here(source: Source) -> Journal:
    journal = journal_of(source)
    assert journal is not None
    return journal


def changed(source: Driver, *texts: str) -> None:
    set_attributes(source.device(), list(texts))


def cut_off(source: Driver, *steps: Step, written: int, undoes: Sequence[int] = ()) -> None:
    """A change that was killed after some of its writes."""
    author = Author.of_this_process(source, "tune set", [source.device()])
    writer = journal_here(source).begin(replace(author, pid=4194305), steps, undoes=undoes)
    for at, step in enumerate(steps[:written]):
        source.attributes[f"{step.device}/{step.attribute}"] = step.new
        writer.step(at, StepState.WRITTEN)


def refused(code: str, source: Driver, count: int = 1, *, dry_run: bool = False) -> PtttoolError:
    before, files = dict(source.attributes), len(list(journal_here(source).changes()))
    with pytest.raises(PtttoolError) as caught:
        undo(source, count, dry_run=dry_run)
    assert caught.value.code == code
    assert (dict(source.attributes), len(list(journal_here(source).changes()))) == (before, files)
    return caught.value


def test_undo_goes_back_change_by_change(source: Driver) -> None:
    changed(source, "qos_tx_p=2")
    changed(source, "qos_tx_p=0", "qos_tx_np=2")
    changed(source, "qos_tx_np=0")
    assert [change.number for change in undo(source).undone] == [3]
    assert (source.attributes[P], source.attributes[NP]) == (0, 2)
    assert [change.number for change in undo(source, 2).undone] == [1, 2]
    assert (source.attributes[P], source.attributes[NP]) == (1, 1)
    assert refused("nothing-to-undo", source).details["possible"] == 0
    history = read_history(source)
    assert history.undone == {3: 4, 1: 5, 2: 5}
    assert [(change.number, change.undoes) for change in history.changes[3:]] == [(4, (3,)), (5, (1, 2))]
    # A change after that is undone alone.
    changed(source, "qos_tx_p=2")
    assert [change.number for change in undo(source).undone] == [6]
    assert source.attributes[P] == 1


def test_several_at_once_have_the_oldest_values(source: Driver) -> None:
    for value in (2, 0, 2):
        changed(source, f"qos_tx_p={value}")
    done = undo(source, 3)
    assert [(change.old, change.new, change.state) for change in done.changes] == [(2, 1, ChangeState.WRITTEN)]


def test_dry_run_writes_nothing(source: Driver) -> None:
    changed(source, "qos_tx_p=2")
    source.writes.clear()
    done = undo(source, dry_run=True)
    assert ([change.new for change in done.changes], done.done) == ([1], False)
    assert (source.writes, len(list(journal_here(source).changes()))) == ([], 1)


def test_more_than_there_are(source: Driver) -> None:
    changed(source, "qos_tx_p=2")
    assert refused("too-many-changes", source, 2).details["possible"] == 1
    assert refused("bad-count", source, 0).exit_code == 2


def test_what_somebody_else_has_set_is_not_overwritten(source: Driver) -> None:
    changed(source, "qos_tx_p=2", "qos_tx_np=2")
    source.attributes[P] = 0
    assert refused("changed-since", source).details["attributes"] == [P]
    undo(source, force=True)
    assert (source.attributes[P], source.attributes[NP]) == (1, 1)


def test_what_somebody_else_has_undone_already(source: Driver) -> None:
    """Nothing is to be written, and the change counts as undone."""
    changed(source, "qos_tx_p=0")
    changed(source, "qos_tx_p=2")
    source.attributes[P] = 0
    source.writes.clear()
    undo(source)
    assert source.writes == []
    undo(source)
    assert source.attributes[P] == 1


def test_an_attribute_that_is_gone(tmp_path: Path) -> None:
    tree = machines.copy_of(machines.NEW, tmp_path)
    source = TreeSource(tree)
    set_attributes(list_devices(source)[0], ["qos_tx_p=2", "qos_tx_np=2"])
    folder = tree / "sys/bus/event_source/devices/hisi_ptt0_0/tune"
    (folder / "qos_tx_p").unlink()
    with pytest.raises(PtttoolError) as caught:
        undo(source)
    assert (caught.value.code, caught.value.details["attributes"]) == ("attribute-gone", [P])
    assert (folder / "qos_tx_np").read_text().strip() == "2"
    done = undo(source, force=True)
    assert [one.code for one in done.diagnostics] == ["attribute-gone"]
    assert (folder / "qos_tx_np").read_text().strip() == "1"


def test_changes_that_had_no_effect_do_not_count(source: Driver) -> None:
    changed(source, "qos_tx_p=2")

    def fail(change: Change) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        set_attributes(source.device(), ["qos_tx_p=0"], on_change=fail)
    author = Author.of_this_process(source, "tune sweep", [])
    writer = journal_here(source).begin(author, [Step("hisi_ptt0_0", "qos_tx_p", 2, 2, between=(0, 1))])
    writer.end(Outcome.DONE)
    assert [change.outcome for change in read_history(source).changes] == ["done", "restored", "done"]
    assert [change.number for change in undo(source).undone] == [1]
    assert source.attributes[P] == 1


def test_half_done_changes_come_first(source: Driver) -> None:
    changed(source, "qos_tx_p=2")
    cut_off(source, Step("hisi_ptt0_0", "qos_tx_p", 2, 0), Step("hisi_ptt0_0", "qos_tx_np", 1, 0), written=1)
    refused("half-done", source)
    refused("half-done", source, dry_run=True)
    recover(source, RecoverAction.COMPLETE)
    assert (source.attributes[P], source.attributes[NP]) == (0, 0)
    # The change that was cut off and the one that completed it are one.
    assert [change.number for change in undo(source).undone] == [2, 3]
    assert (source.attributes[P], source.attributes[NP]) == (2, 1)
    undo(source)
    assert source.attributes[P] == 1


@pytest.mark.parametrize("action", [RecoverAction.RESTORE, RecoverAction.COMPLETE])
def test_an_undo_that_was_cut_off(source: Driver, action: RecoverAction) -> None:
    changed(source, "qos_tx_p=0")
    changed(source, "qos_tx_p=2", "qos_tx_np=2")
    cut_off(source, Step("hisi_ptt0_0", "qos_tx_p", 2, 0), Step("hisi_ptt0_0", "qos_tx_np", 2, 1), written=1, undoes=[2])
    refused("half-done", source)
    recover(source, action)
    if action is RecoverAction.RESTORE:
        assert (source.attributes[P], source.attributes[NP]) == (2, 2)
        assert [change.number for change in undo(source).undone] == [2]
    assert (source.attributes[P], source.attributes[NP]) == (0, 1)
    assert [change.number for change in undo(source).undone] == [1]
    assert source.attributes[P] == 1
    refused("nothing-to-undo", source)


def test_a_change_that_was_recovered_by_restoring_does_not_count(source: Driver) -> None:
    changed(source, "qos_tx_p=2")
    cut_off(source, Step("hisi_ptt0_0", "qos_tx_p", 2, 0), Step("hisi_ptt0_0", "qos_tx_np", 1, 0), written=1)
    recover(source, RecoverAction.RESTORE)
    assert [change.number for change in undo(source).undone] == [1]


def test_a_failure_restores_everything(source: Driver) -> None:
    changed(source, "qos_tx_p=2", "qos_tx_np=2")

    def refuse(name: str, text: str) -> str | None:
        if name == NP and text.strip() == "1":
            raise OSError(22, "Invalid argument")
        return None

    source.on_write = refuse
    with pytest.raises(PtttoolError) as caught:
        undo(source)
    assert caught.value.details["restored"] is True
    assert (source.attributes[P], source.attributes[NP]) == (2, 2)
    source.on_write = lambda name, text: None
    undo(source)
    assert (source.attributes[P], source.attributes[NP]) == (1, 1)


def test_changes_before_a_reboot_are_history_and_not_undone(source: Driver, fs: FakeFilesystem) -> None:
    changed(source, "qos_tx_p=2")
    source.attributes[P] = 1
    boot = Path("/proc/sys/kernel/random/boot_id")
    boot.write_text("another-boot\n") if boot.exists() else fs.create_file(str(boot), contents="another-boot\n")
    assert len(read_history(source).changes) == 1
    assert read_history(source).of_this_boot == ()
    refused("nothing-to-undo", source)


def test_a_damaged_file_is_named_and_stops_nothing(source: Driver, capsys: pytest.CaptureFixture[str]) -> None:
    changed(source, "qos_tx_p=2")
    changed(source, "qos_tx_p=0")
    first = journal_here(source).folder / "00000001.closed"
    first.write_bytes(b"x" + first.read_bytes()[1:])
    history = read_history(source)
    assert ([change.number for change in history.changes], [one.code for one in history.damaged]) == ([2], ["journal-damaged"])
    assert not history.reaches_back
    assert main(["tune", "history", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert ([change["number"] for change in found["changes"]], len(found["damaged"])) == ([2], 1)
    undo(source)
    assert source.attributes[P] == 2


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), NotADirectoryError(20, "Not a directory")])
def test_a_journal_that_cannot_be_read(source: Driver, monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    def fail(self: Journal, **_: object) -> None:
        raise error

    changed(source, "qos_tx_p=2")
    monkeypatch.setattr(Journal, "entries", fail)
    for use in (lambda: read_history(source), lambda: undo(source)):
        with pytest.raises(PtttoolError) as caught:
            use()
        assert caught.value.code == "journal-unreadable"
    assert source.attributes[P] == 2


def test_default_has_the_values_from_before_the_first_change(source: Driver, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "apply", "default"]) == 0
    assert source.writes == []
    changed(source, "qos_tx_p=2")
    changed(source, "qos_tx_p=0", "qos_tx_np=2")
    assert main(["tune", "diff", "default", "--json"]) == 1
    capsys.readouterr()
    assert main(["tune", "apply", "default"]) == 0
    assert (source.attributes[P], source.attributes[NP]) == (1, 1)


def test_default_says_where_the_journal_begins_later(source: Driver, capsys: pytest.CaptureFixture[str]) -> None:
    for value in (2, 0):
        changed(source, f"qos_tx_p={value}")
    (journal_here(source).folder / "00000001.closed").unlink()
    assert not read_history(source).reaches_back
    assert main(["tune", "apply", "default"]) == 0
    assert "warning" in capsys.readouterr().err
    assert source.attributes[P] == 2


@pytest.mark.parametrize("arguments", [["history"], ["undo", "--dry-run"], ["undo"]])
def test_the_commands(source: Driver, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert main(["tune", "set", "hisi_ptt0_0", "qos_tx_p=2"]) == 0
    capsys.readouterr()
    assert main(["tune", *arguments]) == 0
    out = capsys.readouterr().out
    assert f"{P}: " in out
    assert source.attributes[P] == (1 if arguments == ["undo"] else 2)


def test_history_has_no_more_than_asked_for(source: Driver, capsys: pytest.CaptureFixture[str]) -> None:
    for value in (2, 0, 2):
        changed(source, f"qos_tx_p={value}")
    assert main(["tune", "history", "--limit", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert ([change["number"] for change in found["changes"]], found["total"]) == ([3, 2], 3)


def test_a_hostile_command_in_the_journal_is_cleaned(source: Driver, capsys: pytest.CaptureFixture[str]) -> None:
    author = Author.of_this_process(source, "tune \x1b[31mred\nevil", [])
    journal_here(source).begin(author, [Step("hisi_ptt0_0", "qos_tx_\x9bp", 1, 2)]).end(Outcome.DONE)
    assert main(["tune", "history"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\x9b" not in out
    assert len(out.splitlines()) == 2


def test_every_end_is_explained() -> None:
    from ptttool.cli.views.tune.history import ENDS

    assert set(ENDS) == set(Outcome)
    assert set(history_module.EFFECTIVE) <= set(Outcome)
