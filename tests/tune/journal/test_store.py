"""The journal of changes: complete before the first write, readable after any end."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ptttool.errors import InputError
from ptttool.machine.discovery import list_devices
from ptttool.machine.sources.files import FolderFiles
from ptttool.machine.sources.recorded import RecordedSource
from ptttool.machine.sources.tree import TreeSource
from ptttool.tune.budget import MAX_JOURNAL_BYTES
from ptttool.tune.driver import set_attributes
from ptttool.tune.journal import records, store
from ptttool.tune.journal.author import Author
from ptttool.tune.journal.records import Outcome, Step, StepState, parse_change
from ptttool.tune.journal.store import Journal, journal_of
from ptttool.tune.journal.unfinished import find_unfinished
from tests import ROOT
from tests.support import machines

AUTHOR = Author("tune apply p.toml", "2026-01-01T00:00:00Z", 4194305, 1, 0, "root", "anna", "machine", "this machine", None, None, {})
STEPS = [Step("hisi_ptt0_0", "qos_tx_p", 1, 2), Step("hisi_ptt0_0", "qos_tx_np", 1, 0), Step("hisi_ptt0_2", "qos_tx_p", 0, 2)]


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal")


@pytest.fixture
def source(tmp_path: Path) -> TreeSource:
    return TreeSource(machines.copy_of(machines.NEW, tmp_path))


def in_memory() -> RecordedSource:
    return machines.in_memory(*machines.contents(machines.NEW))


def whole_file(journal: Journal) -> bytes:
    """A file with a line of every kind but those of failures."""
    writer = journal.begin(AUTHOR, STEPS, repairs=[7])
    for at in range(3):
        writer.step(at, StepState.WRITTEN)
    writer.end(Outcome.DONE)
    return (journal.folder / f"{writer.number:08}.closed").read_bytes()


def test_a_change_from_begin_to_end(journal: Journal) -> None:
    writer = journal.begin(AUTHOR, STEPS)
    assert (writer.number, journal.open_numbers()) == (1, [1])
    assert journal.read(1) == records.ChangeRecord(1, AUTHOR, tuple(STEPS))
    writer.step(0, StepState.WRITTEN)
    writer.step(1, StepState.NOT_RESTORED, holds=None)
    found = journal.read(1)
    assert found is not None
    assert [step.state for step in found.steps] == ["written", "not-restored", "planned"]
    writer.end(Outcome.DONE)
    assert writer.problem is None
    assert journal.open_numbers() == []
    (done,) = journal.changes()
    assert (done.outcome, done.by, done.failed, done.ended is not None) == ("done", None, False, True)
    assert journal.begin(AUTHOR, STEPS).number == 2


def test_files_are_of_their_user_alone(journal: Journal) -> None:
    before = os.umask(0)
    try:
        writer = journal.begin(AUTHOR, STEPS)
    finally:
        os.umask(before)
    assert stat.S_IMODE(journal.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(journal.path(writer.number).stat().st_mode) == 0o600


def test_the_journal_is_on_the_disk_before_the_first_write(
    source: TreeSource, journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In order: the whole change into the file, the file to the disk, its name to the disk, the first attribute."""
    (tmp_path / "own" / "run").mkdir(0o700, parents=True)
    events: list[str] = []
    fsync, write = os.fsync, FolderFiles.write

    def synchronize(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        events.append(f"fsync {path.name} {path.stat().st_size if path.is_file() else 'folder'}")
        fsync(descriptor)

    def write_attribute(self: FolderFiles, path: str, data: bytes) -> None:
        events.append(f"write {path.rpartition('/')[2]}")
        write(self, path, data)

    monkeypatch.setattr(os, "fsync", synchronize)
    monkeypatch.setattr(FolderFiles, "write", write_attribute)
    set_attributes(list_devices(source)[0], ["qos_tx_p=2", "qos_tx_np=0"], journal=journal.folder)
    data = (journal.folder / "00000001.closed").read_bytes()
    first = data.index(b"\n") + 1
    assert events == [
        f"fsync {journal.folder.parent.name} folder",
        f"fsync 00000001.open {first}",
        "fsync journal folder",
        "write qos_tx_p",
        "write qos_tx_np",
        f"fsync 00000001.open {len(data)}",
    ]


def test_every_end_of_a_file_is_a_state(journal: Journal) -> None:
    """A file that is cut off at any byte: nothing was begun, or the whole change is known."""
    data = whole_file(journal)
    lines = [at + 1 for at, byte in enumerate(data) if byte == ord("\n")]
    path = journal.path(1)
    source = in_memory()
    for cut in range(len(data) + 1):
        found = parse_change(data[:cut], 1, "file")
        if cut < lines[0] - 1:
            assert found is None
            continue
        if cut == lines[0] - 1:  # all but the line end: as good as whole
            continue
        assert found is not None
        assert [(step.old, step.new) for step in found.steps] == [(1, 2), (1, 0), (0, 2)]
        assert sum(step.state == "written" for step in found.steps) == min(sum(cut >= end for end in lines) - 1, 3)
        assert found.outcome == ("done" if cut == len(data) else None)
        assert found.damaged_lines == ()
        if cut % 16 == 0 or cut in lines:
            path.write_bytes(data[:cut])
            assert len(find_unfinished(source, journal).changes) == (0 if cut == len(data) else 1)
            # What is added later is read.
            journal.append(1, {"record": "settled", "step": 2, "by": 9})
            again = journal.read(1)
            assert again is not None
            assert again.steps[2].state == "settled"


def test_every_damaged_byte_of_the_first_line_is_seen(journal: Journal) -> None:
    data = whole_file(journal)
    for at in range(data.index(b"\n")):
        for changed in (data[at] ^ 1, 0, ord("\n")):
            broken = data[:at] + bytes([changed]) + data[at + 1 :]
            if broken == data:
                continue
            with pytest.raises(InputError) as caught:
                parse_change(broken, 1, "file")
            assert (caught.value.code, caught.value.exit_code) == ("journal-damaged", 6)


def line(text: str) -> bytes:
    import zlib

    return b"%08x %s\n" % (zlib.crc32(text.encode()), text.encode())


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{}", "journal-damaged"),
        ("[]", "journal-damaged"),
        ("1" * 5000, "journal-damaged"),
        ("[" * 100_000, "journal-damaged"),
        ('{"record": "begin"}', "journal-damaged"),
        ('{"record": "begin", "version": true}', "journal-damaged"),
        ('{"record": "begin", "version": 2}', "journal-version"),
        ('{"record": "begin", "version": 1, "steps": 5}', "journal-damaged"),
        ('{"record": "begin", "version": 1, "steps": [{"device": 1, "attribute": "a", "old": 1, "new": 1}]}', "journal-damaged"),
    ],
)
def test_lines_that_are_whole_and_wrong(text: str, code: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_change(line(text), 1, "file")
    assert caught.value.code == code


def test_how_far_a_step_is_no_first_line_says(journal: Journal) -> None:
    """Another version may write a key of that name, with another meaning."""
    data = whole_file(journal)
    begin = data[: data.index(b"\n")].split(b" ", 1)[1].decode().replace('"old"', '"state": "written", "old"')
    found = parse_change(line(begin), 1, "file")
    assert found is not None
    assert [step.state for step in found.steps] == ["planned"] * 3


def test_later_lines_that_are_wrong_are_left_out(journal: Journal) -> None:
    data = whole_file(journal)
    first = data[: data.index(b"\n") + 1]
    wrong = b"".join(
        map(line, ('{"record":"written","step":99}', '{"record":"written","step":-1}', '{"record":"x"}', '{"record":"end"}', "[]"))
    )
    found = parse_change(first + wrong + b"junk\n" + line('{"record":"written","step":0}'), 1, "file")
    assert found is not None
    assert found.damaged_lines == (2, 3, 4, 5, 6, 7)
    assert [step.state for step in found.steps] == ["written", "planned", "planned"]
    with pytest.raises(InputError):
        parse_change(b"x" * (MAX_JOURNAL_BYTES + 1), 1, "file")


def test_files_that_are_no_changes(journal: Journal, tmp_path: Path) -> None:
    journal.begin(AUTHOR, STEPS)
    (journal.folder / "notes.txt").write_text("x")
    (journal.folder / "00000002.part").write_text("x")
    (journal.folder / "00000003.open").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(journal.folder / "00000004.open")
    (journal.folder / "00000005.open").mkdir()
    found = find_unfinished(in_memory(), journal)
    assert [change.number for change in found.changes] == [1]
    assert [error.details["number"] for error in found.damaged] == [3, 4, 5]


def test_closed_changes_are_kept_up_to_a_number(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "KEPT", 3)
    journal.begin(AUTHOR, STEPS)  # stays open
    for _ in range(6):
        journal.begin(AUTHOR, STEPS).end(Outcome.DONE)
    assert sorted(path.name for path in journal.folder.iterdir()) == ["00000001.open", *(f"{at:08}.closed" for at in (5, 6, 7))]


def test_no_change_has_a_number_under_which_it_is_not_found(journal: Journal) -> None:
    whole_file(journal)
    (journal.folder / "00000001.closed").rename(journal.folder / "99999999.closed")
    with pytest.raises(OSError, match="99999999"):
        journal.begin(AUTHOR, STEPS)
    assert [path.name for path in journal.folder.iterdir()] == ["99999999.closed"]


def test_a_machine_in_memory_has_no_journal(tmp_path: Path) -> None:
    source = in_memory()
    assert journal_of(source) is None
    set_attributes(list_devices(source)[0], ["qos_tx_p=2"])
    assert not (tmp_path / "own").exists()


def test_each_folder_has_a_journal_of_its_own(tmp_path: Path) -> None:
    trees = [machines.copy_of(machines.NEW, tmp_path / name) for name in "ab"]
    identities = [TreeSource(tree).identity for tree in trees]
    assert len(set(identities)) == 2
    assert [TreeSource(tree / "sys").identity for tree in trees] == identities
    link = tmp_path / "link"
    link.symlink_to(trees[0])
    assert TreeSource(link).identity == identities[0]
    assert TreeSource("/sys").identity == "machine"


FULL = """
import resource, sys
from ptttool.cli.main import main

resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize(("lines", "code"), [(0, 6), (0.1, 6), (1, 0), (1.01, 0)])
def test_a_full_disk(source: TreeSource, tmp_path: Path, lines: float, code: int) -> None:
    """Without room for the first line nothing is changed; without room for the later ones everything is, and that is found out."""
    profile = tmp_path / "p.toml"
    names = ("qos_tx_cpl", "qos_tx_np", "qos_tx_p", "rx_alloc_buf_level", "tx_alloc_buf_level")
    devices = ("hisi_ptt0_0", "hisi_ptt0_2", "hisi_ptt2_0")
    profile.write_text("version = 1\n" + "".join(f"[devices.{one}]\n" + "".join(f"{name} = 2\n" for name in names) for one in devices))
    files = list(Path(source.origin).glob("sys/devices/**/tune/*"))

    def apply(limit: int) -> subprocess.CompletedProcess[str]:
        command = ["tune", "apply", str(profile), "--sysfs", source.origin]
        return subprocess.run(
            [sys.executable, "-B", "-c", FULL, str(limit), *command], capture_output=True, text=True, timeout=60, cwd=ROOT
        )

    assert apply(1 << 20).returncode == 0
    for path in files:
        path.write_text("1\n")
    journal = journal_of(source)
    assert journal is not None
    (closed,) = journal.folder.iterdir()
    # Numbers in the line can have one digit more the next time.
    first = closed.read_bytes().index(b"\n") + 8
    done = apply(int(lines * first))
    assert done.returncode == code, done.stderr
    assert "journal" in done.stderr
    found = find_unfinished(source)
    assert (found.changes, found.damaged) == ((), ())
    assert {path.read_text() for path in files} == {"1\n" if code else "2\n"}
    assert list(found.whole.values()) == ([] if code else [Outcome.COMPLETE])
