"""Changes that were cut off: found by the next command, restored or completed."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from pyfakefs.fake_filesystem import FakeFilesystem

from ptttool.cli.main import main
from ptttool.errors import BusyError, HardwareError, UsageError
from ptttool.machine.discovery import list_devices
from ptttool.machine.sources.tree import TreeSource
from ptttool.testing import FakeMachine
from ptttool.tune.driver import Change, apply_changes, plan_values, set_attributes
from ptttool.tune.journal.author import Author
from ptttool.tune.journal.records import Outcome, Step, StepState
from ptttool.tune.journal.store import Journal, journal_of
from ptttool.tune.journal.unfinished import ValueState, find_unfinished
from ptttool.tune.repair.recovery import RecoverAction, recover
from ptttool.tune.session import tuning
from tests import ROOT
from tests.support import machines
from tests.support.tune_driver import Driver
from tests.test_json import problems_of

DEVICES = ("hisi_ptt0_0", "hisi_ptt0_2", "hisi_ptt2_0")
NP, P, CPL = ((DEVICES[0], name) for name in ("qos_tx_np", "qos_tx_p", "qos_tx_cpl"))
BOOT_ID = "/proc/sys/kernel/random/boot_id"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return machines.copy_of(machines.NEW, tmp_path)


@pytest.fixture
def source(ptt_machine: FakeMachine) -> Driver:
    return Driver(ptt_machine)


def journal_here(source: Driver | TreeSource) -> Journal:
    journal = journal_of(source)
    assert journal is not None
    return journal


def cut_off(
    source: Driver | TreeSource, *steps: tuple[tuple[str, str], int, int], boot: str | None = None, repairs: tuple[int, ...] = ()
) -> int:
    """Note a change and leave it open, as a process does that is killed; return its number."""
    author = replace(Author.of_this_process(source, "tune apply wanted.toml", list_devices(source)), process_start=1)
    if boot is not None:
        author = replace(author, boot_id=boot)
    noted = [Step(device, attribute, old, new) for (device, attribute), old, new in steps]
    writer = journal_here(source).begin(author, noted, repairs)
    writer.step(0, StepState.WRITTEN)
    return writer.number


def hold(source: Driver, **values: int) -> None:
    """Let attributes of the first device hold values."""
    for name, value in values.items():
        source.attributes[f"{DEVICES[0]}/{name}"] = value


@pytest.mark.slow
@pytest.mark.parametrize(("action", "value"), [("restore", 1), ("complete", 2)])
def test_kills_at_every_write(tree: Path, tmp_path: Path, action: str, value: int) -> None:
    """Before and after each write of applying, and of recovering: the next command says so, and recovery ends with one of the states."""
    profile = tmp_path / "p.toml"
    profile.write_text("version = 1\n" + "".join(f"[devices.{name}]\nqos_tx_p = 2\nqos_tx_np = 2\n" for name in DEVICES[:2]))
    command = [sys.executable, "-m", "tests.support.tune_kills", str(tree), str(profile), action]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    points = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(points) == 9
    for at, point in enumerate(points):
        written = (at + 1) // 2
        half = 0 < written < 4
        assert point["code"] == (0 if at == 8 else None)
        assert sum(each == 2 for each in point["values"]) == written
        assert (point["warned"], point["shown"]) == (half, int(half)), point
        # Recovering was killed before and after each of its writes, too.
        assert len(point["again"]) >= (3 if half else 1)
        assert point["again"][-1] == point["rest"] == 0
        assert sum(each == 2 for each in point["after"]) == ((4 if value == 2 else 0) if half else written)


def test_what_is_half_done_is_found(source: Driver) -> None:
    number = cut_off(source, (P, 1, 2), (NP, 1, 0), (CPL, 1, 2))
    hold(source, qos_tx_p=2)
    found = find_unfinished(source)
    assert [change.number for change in found.changes] == [number]
    assert [(one.attribute, one.old, one.new, one.now, one.state) for one in found.attributes] == [
        ("qos_tx_p", 1, 2, 2, ValueState.NEW),
        ("qos_tx_np", 1, 0, 1, ValueState.OLD),
        ("qos_tx_cpl", 1, 2, 1, ValueState.OLD),
    ]
    (diagnostic,) = found.diagnostics
    assert (diagnostic.code, diagnostic.details) == ("half-done", {"changes": [number], "attributes": ["hisi_ptt0_0/qos_tx_p"]})


@pytest.mark.parametrize("action", ["restore", "complete"])
def test_a_sweep_that_was_cut_off_ends_with_the_old_values(source: Driver, action: str) -> None:
    author = replace(Author.of_this_process(source, "tune sweep", list_devices(source)), process_start=1)
    journal_here(source).begin(author, [Step(*P, 1, 1, between=(0, 2)), Step(*NP, 1, 1, between=(0, 2))])
    hold(source, qos_tx_p=2)
    assert [(one.attribute, one.old, one.new, one.now, one.state) for one in find_unfinished(source).attributes] == [
        ("qos_tx_p", 1, 1, 2, ValueState.BETWEEN),
        ("qos_tx_np", 1, 1, 1, ValueState.OLD),
    ]
    assert recover(source, RecoverAction(action)).settled
    assert source.attributes["hisi_ptt0_0/qos_tx_p"] == 1


def test_recovery_is_a_change_of_its_own(source: Driver) -> None:
    first = cut_off(source, (P, 1, 2), (NP, 1, 0))
    hold(source, qos_tx_p=2)
    planned = recover(source, RecoverAction.RESTORE, dry_run=True)
    assert ([(one.attribute, one.old, one.new) for one in planned.changes if one.differs], planned.done) == ([("qos_tx_p", 2, 1)], False)
    assert source.writes == []
    done = recover(source, RecoverAction.RESTORE)
    assert (done.settled, source.writes) == (True, ["hisi_ptt0_0/qos_tx_p=1"])
    old, new = journal_here(source).changes()
    assert (old.number, old.outcome, old.by) == (first, Outcome.RECOVERED, new.number)
    assert (new.outcome, new.repairs, new.author.command) == (Outcome.DONE, (first,), "tune recover --restore")
    assert recover(source).settled


def test_a_recovery_that_was_cut_off(source: Driver) -> None:
    """What the first change was to do counts, not what recovering was to do."""
    first = cut_off(source, (P, 1, 2), (NP, 1, 2), (CPL, 1, 2))
    cut_off(source, (P, 2, 1), (NP, 2, 1), repairs=(first,))
    hold(source, qos_tx_p=1, qos_tx_np=2)
    assert [(one.attribute, one.old, one.new) for one in find_unfinished(source).attributes] == [
        ("qos_tx_p", 1, 2),
        ("qos_tx_np", 1, 2),
        ("qos_tx_cpl", 1, 2),
    ]
    done = recover(source, RecoverAction.COMPLETE)
    assert (done.settled, done.diagnostics[1:]) == (True, ())
    assert [source.attributes[f"{DEVICES[0]}/{name}"] for name in ("qos_tx_p", "qos_tx_np", "qos_tx_cpl")] == [2, 2, 2]
    assert journal_here(source).open_numbers() == []


@pytest.mark.parametrize(("action", "value"), [(RecoverAction.RESTORE, 1), (RecoverAction.COMPLETE, 0)])
def test_two_changes_that_were_cut_off(source: Driver, action: RecoverAction, value: int) -> None:
    """Restored is what was before the first, complete is what was to be after the last."""
    cut_off(source, (P, 1, 2), (NP, 1, 2))
    cut_off(source, (P, 2, 0), (NP, 1, 0))
    hold(source, qos_tx_p=2, qos_tx_np=0)
    assert [(one.old, one.new, one.state) for one in find_unfinished(source).attributes] == [(1, 0, "between"), (1, 0, "new")]
    assert recover(source, action).settled
    assert {source.attributes[f"{DEVICES[0]}/{name}"] for name in ("qos_tx_p", "qos_tx_np")} == {value}


def test_what_somebody_else_has_set_since_is_left_alone(source: Driver) -> None:
    number = cut_off(source, (P, 1, 2), (NP, 1, 2), (CPL, 1, 2))
    hold(source, qos_tx_p=2, qos_tx_np=0)
    done = recover(source, RecoverAction.RESTORE)
    assert ([(one.attribute, one.now) for one in done.left], done.settled) == ([("qos_tx_np", 0)], False)
    assert source.writes == ["hisi_ptt0_0/qos_tx_p=1"]
    # What was restored is settled: somebody may set it again.
    hold(source, qos_tx_p=2)
    assert [one.attribute for one in find_unfinished(source).attributes] == ["qos_tx_np"]
    assert recover(source, RecoverAction.COMPLETE, force=True).settled
    assert source.writes[1:] == ["hisi_ptt0_0/qos_tx_np=2"]
    assert journal_here(source).open_numbers() == []
    assert next(change.outcome for change in journal_here(source).changes() if change.number == number) == Outcome.RECOVERED


def test_values_that_are_kept(source: Driver) -> None:
    cut_off(source, (P, 1, 2), (NP, 1, 2))
    hold(source, qos_tx_p=2)
    assert recover(source, RecoverAction.KEEP, dry_run=True).settled is False
    assert recover(source, RecoverAction.KEEP).settled
    assert source.writes == []
    assert [change.outcome for change in journal_here(source).changes()] == [Outcome.KEPT]


@pytest.mark.parametrize(("values", "outcome"), [((1, 1), Outcome.UNTOUCHED), ((2, 0), Outcome.COMPLETE)])
def test_a_change_that_left_nothing_half_done(source: Driver, values: tuple[int, int], outcome: Outcome) -> None:
    cut_off(source, (P, 1, 2), (NP, 1, 0))
    hold(source, qos_tx_p=values[0], qos_tx_np=values[1])
    assert (recover(source).settled, find_unfinished(source).diagnostics) == (True, ())
    set_attributes(source.device(), ["qos_tx_cpl=0"])
    assert [change.outcome for change in journal_here(source).changes()] == [outcome, Outcome.DONE]


def test_a_later_change_settles_what_it_sets(source: Driver) -> None:
    cut_off(source, (P, 1, 2), (NP, 1, 2))
    hold(source, qos_tx_p=2)
    set_attributes(source.device(), ["qos_tx_p=2"])  # already so, and now wanted: nothing to write
    assert [one.attribute for one in find_unfinished(source).attributes] == []
    cut_off(source, (P, 1, 2), (NP, 1, 2), (CPL, 0, 2))
    set_attributes(source.device(), ["qos_tx_np=0"])
    assert [one.attribute for one in find_unfinished(source).attributes] == ["qos_tx_p", "qos_tx_cpl"]
    set_attributes(source.device(), ["qos_tx_p=0", "qos_tx_cpl=0"])
    assert journal_here(source).open_numbers() == []


def test_after_a_reboot_nothing_is_half_done(source: Driver, fs: FakeFilesystem) -> None:
    fs.create_file(BOOT_ID, contents="2f1c\n")
    cut_off(source, (P, 1, 2), (NP, 1, 2), boot="0a0b")
    hold(source, qos_tx_p=2)
    found = find_unfinished(source)
    assert ([one.code for one in found.diagnostics], found.attributes, len(found.before_boot)) == (["restarted-since"], (), 1)
    done = recover(source, RecoverAction.RESTORE)
    assert (done.settled, source.writes) == (True, [])
    assert [change.outcome for change in journal_here(source).changes()] == [Outcome.REBOOT]


def test_a_driver_that_was_loaded_again(source: Driver) -> None:
    author = replace(Author.of_this_process(source, "tune set", [source.device()]), process_start=1, driver={DEVICES[0]: 1})
    journal_here(source).begin(author, [Step(*P, 1, 2), Step(*NP, 1, 2)])
    hold(source, qos_tx_p=2)
    assert [one.code for one in find_unfinished(source).diagnostics] == ["half-done", "driver-reloaded"]


def test_attributes_that_cannot_be_read_or_are_gone(source: Driver, ptt_machine: FakeMachine) -> None:
    cut_off(source, (P, 1, 2), (NP, 1, 2), ((DEVICES[1], "qos_tx_p"), 1, 2), (("hisi_ptt9_9", "qos_tx_p"), 1, 2))
    hold(source, qos_tx_p=2)
    ptt_machine[DEVICES[1]].hang(errno.ETIMEDOUT)
    done = recover(source, RecoverAction.RESTORE)
    assert [(one.device, one.state) for one in done.left] == [(DEVICES[1], "unreadable"), ("hisi_ptt9_9", "gone")]
    assert source.writes == ["hisi_ptt0_0/qos_tx_p=1"]
    assert not done.settled
    assert recover(source, RecoverAction.KEEP).settled


def test_a_change_that_could_not_be_undone(source: Driver, ptt_machine: FakeMachine) -> None:
    attribute = ptt_machine[DEVICES[0]].tune["qos_tx_np"]
    device = source.device()

    def hang(change: Change) -> None:
        if change.attribute == "qos_tx_np":
            ptt_machine[DEVICES[0]].tune["qos_tx_p"].fail_writes(errno.ETIMEDOUT)
            attribute.fail_writes(errno.ETIMEDOUT)

    with pytest.raises(HardwareError) as caught:
        set_attributes(device, ["qos_tx_p=2", "qos_tx_np=2"], on_change=hang)
    assert caught.value.code == "not-restored"
    found = find_unfinished(source)
    assert [(change.failed, [step.state for step in change.steps]) for change in found.changes] == [(True, ["not-restored", "restored"])]
    for one in ptt_machine[DEVICES[0]].tune.values():
        one.recover()
    assert recover(source, RecoverAction.RESTORE).settled
    assert set(source.attributes.values()) == {1}


@pytest.mark.parametrize(("data", "settled"), [(b"", True), (b"0bad", True), (b"00000000 {}\n", False), (b"\0" * 600 + b"\n", False)])
def test_a_damaged_journal_blocks_nothing(source: Driver, data: bytes, settled: bool) -> None:
    cut_off(source, (P, 1, 2), (NP, 1, 2))
    hold(source, qos_tx_p=2)
    journal = journal_here(source)
    (journal.folder / "00000002.open").write_bytes(data)
    codes = [one.code for one in find_unfinished(source).diagnostics]
    assert codes == ["half-done"] if settled else ["half-done", "journal-damaged"]
    done = recover(source, RecoverAction.RESTORE)
    assert done.settled is settled
    assert source.attributes["hisi_ptt0_0/qos_tx_p"] == 1
    assert set_attributes(source.device(), ["qos_tx_p=0"]).done
    assert recover(source, RecoverAction.KEEP).settled
    assert recover(source).settled
    assert (journal.folder / "00000002.damaged").exists() is not settled


def test_one_session_at_a_time(tree: Path, tmp_path: Path) -> None:
    here, elsewhere = TreeSource(tree), TreeSource(machines.copy_of(machines.OLD, tmp_path))
    with tuning(here, "tune apply a.toml"):
        with pytest.raises(BusyError) as caught, tuning(TreeSource(tree / "sys"), "tune set", wait=0):
            pytest.fail("tuned twice")
        assert caught.value.details["holder"]["purpose"] == "tune apply a.toml"
        with tuning(elsewhere, "tune set", wait=0):
            pass
    with tuning(here, "tune set", wait=0):
        pass


def test_a_change_under_way_is_not_half_done(tree: Path) -> None:
    source = TreeSource(tree)
    seen: list[list[str]] = []
    device = list_devices(source)[0]
    set_attributes(
        device, ["qos_tx_p=2", "qos_tx_np=2"], on_change=lambda _: seen.append([d.code for d in find_unfinished(source).diagnostics])
    )
    assert seen == [["change-under-way"]] * 4
    assert find_unfinished(source).diagnostics == ()


def test_a_plan_that_is_old(source: Driver) -> None:
    plan = plan_values(source.device(), ["qos_tx_p=2"])
    hold(source, qos_tx_p=0)
    with pytest.raises(HardwareError) as caught:
        plan.apply()
    assert (caught.value.code, caught.value.details["got"]) == ("changed-since", 0)
    assert source.writes == []


def test_without_a_journal(source: Driver, fs: FakeFilesystem, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    fs.create_file("/file")
    monkeypatch.setenv("PTTTOOL_STATE_DIR", "/file")
    assert main(["tune", "set", DEVICES[0], "qos_tx_p=2", "--json"]) == 6
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "no-journal"
    assert source.writes == []
    assert main(["tune", "set", DEVICES[0], "qos_tx_p=1"]) == 0  # nothing to write
    assert main(["tune", "set", DEVICES[0], "qos_tx_p=2", "--no-journal"]) == 0
    assert source.writes == ["hisi_ptt0_0/qos_tx_p=2"]


def test_changes_of_several_machines(tmp_path: Path) -> None:
    trees = [TreeSource(machines.copy_of(name, tmp_path)) for name in (machines.NEW, machines.OLD)]
    changes = [change for tree in trees for change in plan_values(list_devices(tree)[0], ["qos_tx_p=2"]).changes]
    with pytest.raises(UsageError) as caught:
        apply_changes(changes)
    assert caught.value.code == "several-machines"
    assert apply_changes([]) == ()


def test_where_no_lock_can_be_created(
    source: Driver, fs: FakeFilesystem, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Reading goes on, writing does not."""
    fs.create_file("/file")
    monkeypatch.setenv("PTTTOOL_RUNTIME_DIR", "/file/below")
    assert main(["tune", "save", "-"]) == 0
    said = capsys.readouterr()
    assert "qos_tx_p = 1" in said.out
    assert "while they are read" in said.err
    for command in (["set", DEVICES[0], "qos_tx_p=2"], ["recover", "--restore"]):
        assert main(["tune", *command, "--json"]) == 4
        assert json.loads(capsys.readouterr().out)["error"]["code"] == "no-lock"
    assert source.writes == []


def test_the_command(source: Driver, capsys: pytest.CaptureFixture[str]) -> None:
    number = cut_off(source, (P, 1, 2), (NP, 1, 2), (CPL, 1, 2))
    hold(source, qos_tx_p=2, qos_tx_cpl=0)
    for command in (["list"], ["tune", "show"], ["tune", "get", DEVICES[0]], ["tune", "save", "-"]):
        assert main(command) == 0
        assert f"change {number} (" in capsys.readouterr().err
    assert main(["tune", "recover"]) == 1
    out = capsys.readouterr().out
    assert ("wanted.toml" in out, "other" in out) == (True, True)
    assert main(["tune", "recover", "--restore", "--keep", "--json"]) == 2
    capsys.readouterr()
    assert main(["tune", "recover", "--complete"]) == 1
    assert "qos_tx_cpl" in capsys.readouterr().err
    assert main(["tune", "recover", "--complete", "--force"]) == 0
    assert {source.attributes[f"{DEVICES[0]}/{name}"] for name in ("qos_tx_p", "qos_tx_np", "qos_tx_cpl")} == {2}
    assert main(["list"]) == 0
    assert "change" not in capsys.readouterr().err


def test_the_document(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = TreeSource(tree)
    cut_off(source, (P, 1, 2), (NP, 1, 2), (CPL, 0, 2))
    (next(tree.glob(f"sys/devices/**/{DEVICES[0]}/tune")) / "qos_tx_p").write_text("2\n")
    for arguments, code, settled in ([], 1, False), (["--complete"], 1, False), (["--complete", "--force"], 0, True), ([], 0, True):
        assert main(["tune", "recover", *arguments, "--json", "--sysfs", str(tree)]) == code
        document = json.loads(capsys.readouterr().out)
        assert problems_of("tune-recover", document) == []
        assert (document["settled"], document["action"]) == (settled, "complete" if arguments else None)


RACE = """
import os, sys, time
from pathlib import Path
import ptttool.machine.sources.tree as tree
from ptttool.cli.main import main

write = tree.FolderFiles.write
ready = Path(sys.argv[1])

def slow(self, path, data):
    # Before its first write each gives the other the time to come as far.
    if not (ready / str(os.getpid())).exists():
        (ready / str(os.getpid())).touch()
        end = time.monotonic() + 0.5
        while len(list(ready.iterdir())) < 2 and time.monotonic() < end:
            time.sleep(0.005)
    write(self, path, data)

tree.FolderFiles.write = slow
sys.stdin.readline()
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize("kill", [False, True])
def test_two_profiles_at_once(tree: Path, tmp_path: Path, kill: bool) -> None:
    """Both are applied, one after the other; if the first one is killed, the second one is whole all the same."""
    attributes = ("qos_tx_cpl", "qos_tx_np", "qos_tx_p", "rx_alloc_buf_level", "tx_alloc_buf_level")
    running = []
    (tmp_path / "ready").mkdir()
    # Each profile has values that the machine has, so it writes only a part of them.
    for at, path in enumerate(sorted(tree.glob("sys/devices/**/tune/*"))):
        path.write_text(f"{at % 2 * 2}\n")
    for value in (0, 2):
        profile = tmp_path / f"p{value}.toml"
        profile.write_text(
            "version = 1\n" + "".join(f"[devices.{name}]\n" + "".join(f"{a} = {value}\n" for a in attributes) for name in DEVICES)
        )
        command = [sys.executable, "-c", RACE, str(tmp_path / "ready"), "tune", "apply", str(profile), "--sysfs", str(tree)]
        running.append(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
        )
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    if kill:
        while not list((tmp_path / "ready").iterdir()):
            pass
        (first,) = (one for one in running if (tmp_path / "ready" / str(one.pid)).exists())
        first.kill()
    results = [process.communicate(timeout=60) for process in running]
    codes = [process.returncode for process in running]
    assert sorted(codes) == ([-9, 0] if kill else [0, 0]), results
    values = "".join(path.read_text().strip() for path in tree.glob("sys/devices/**/tune/*"))
    assert values in ("0" * 15, "2" * 15)
    if kill:
        assert find_unfinished(TreeSource(tree)).diagnostics == ()


def test_what_is_left_of_a_recovery_stays_half_done(source: Driver) -> None:
    """The rest alone has all new values; with what was restored, the change is half done."""
    cut_off(source, (P, 1, 2), (NP, 1, 2))
    hold(source, qos_tx_p=2, qos_tx_np=0)
    assert not recover(source, RecoverAction.RESTORE).settled  # somebody set qos_tx_np
    hold(source, qos_tx_np=2)
    assert [(one.attribute, one.old, one.new) for one in find_unfinished(source).attributes] == [("qos_tx_np", 1, 2)]
    assert recover(source, RecoverAction.RESTORE).settled
    assert [source.attributes[f"{DEVICES[0]}/{name}"] for name in ("qos_tx_p", "qos_tx_np")] == [1, 1]
