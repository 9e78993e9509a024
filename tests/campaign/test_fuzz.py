"""The corpus is replayed, and the judge finds what it is there for."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from campaign.fuzz import archive, judge
from campaign.fuzz.corpus import CORPUS, REGRESSIONS, inputs, kept, minimised
from campaign.fuzz.judge import Judge
from campaign.fuzz.mutate import mutated
from campaign.fuzz.targets.contract import Target, targets
from ptttool.errors import InputError, PtttoolError

pytestmark = pytest.mark.slow

TARGETS = targets()
every_target = pytest.mark.parametrize("name", TARGETS)
# Inputs of a target that also go through the command line.
COMMANDS = 3
MOST_BYTES = 400_000


@every_target
def test_corpus(name: str, tmp_path: Path) -> None:
    target = TARGETS[name]
    referee = Judge(target, tmp_path)
    for number, data in enumerate(inputs(target)):
        for command in (False, True) if number < COMMANDS else (False,):
            finding = referee.try_input(data, command=command)
            assert finding is None or finding.kind == "too much memory", finding.reason if finding else ""


def test_every_folder_is_of_a_target() -> None:
    """The corpus stays small, and nothing in it is never read."""
    folders = [path for home in (CORPUS, REGRESSIONS) if home.is_dir() for path in home.iterdir()]
    assert {path.name for path in folders} <= set(TARGETS)
    assert sum(path.stat().st_size for folder in folders for path in folder.iterdir()) <= MOST_BYTES
    for target in TARGETS.values():
        assert all(len(data) <= target.most for data in kept(target, CORPUS))


@every_target
def test_seeds_are_good(name: str, tmp_path: Path) -> None:
    """Every seed is read without an error, for at least one seed of a target: mutations of nothing but errors reach little."""
    target = TARGETS[name]
    good = 0
    for number, seed in enumerate(target.seeds()):
        place = tmp_path / str(number)
        place.mkdir()
        try:
            target.run(seed, place)
            good += 1
        except Exception:
            continue
    assert good


def kinds_of(data: bytes, _place: Path) -> None:
    match data:
        case b"bug":
            raise ValueError("a bug")
        case b"slow":
            while True:
                pass
        case b"ours":
            raise InputError("file", "with \x1b in it")
        case b"silent":
            raise PtttoolError(" ")


def test_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "CPU_SECONDS", 0.2)
    referee = Judge(Target("toy", lambda: [b"x"], kinds_of), tmp_path)
    assert referee.try_input(b"good") is None
    assert referee.try_input(b"ours") is None
    for data, kind in ((b"bug", "ValueError in outside"), (b"slow", "too slow"), (b"silent", "no message: PtttoolError")):
        finding = referee.try_input(data)
        assert finding is not None
        assert finding.kind == kind


def test_judge_of_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    referee = Judge(Target("toy", list, lambda *_: None, lambda data, _place: data.decode().split()), tmp_path)
    assert referee.try_input(b"explain 0x107280001 --demo", command=True) is None
    assert referee.try_input(b"explain nonsense --demo", command=True) is None

    def prints(arguments: list[str]) -> int:
        print("\x1b[31m" if arguments == ["red"] else "plain")
        return int(arguments[0]) if arguments[0].isdigit() else 0

    monkeypatch.setattr(judge, "run_command_line", prints)
    assert referee.try_input(b"plain", command=True) is None
    for data, kind in ((b"red", "a control character printed by red"), (b"1", "exit code 1 of 1"), (b"70", "exit code 70 of 70")):
        finding = referee.try_input(data, command=True)
        assert finding is not None
        assert finding.kind == kind


def test_archive(tmp_path: Path) -> None:
    files: dict[str, bytes | str] = {"a/b.ini": b"one\n", "c": b"", "link": "../target"}
    assert archive.unpack(archive.pack(files)) == ({"a/b.ini": b"one\n", "c": b""}, {"link": "../target"})
    archive.write(b"=== ../out\nx\n=== /abs\nx\n=== ok/in\ny\n=== ok\nz\n", tmp_path)
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == ["ok", "ok/in"]
    assert (tmp_path / "ok" / "in").read_bytes() == b"y"


def test_mutations_are_the_same_for_a_seed() -> None:
    def some(seed: int) -> list[bytes]:
        chance = random.Random(seed)
        return [mutated(chance, b"version = 1\n" * 9, [b"other"], [b"word"], 200) for _ in range(200)]

    assert some(1) == some(1)
    assert some(1) != some(2)
    assert max(map(len, some(1))) <= 200
    assert len(set(some(1))) > 150


def test_minimised() -> None:
    """Of inputs that reach the same lines the smallest stays; one that reaches nothing beyond the seeds goes."""
    target = TARGETS["tlp-header"]
    seeds = list(target.seeds())
    found = minimised(target, [b"zz", b"zzz", b"zzzz", seeds[0]])
    assert found == [b"zz"]
