"""A fake machine, the recorded one it stands for, and that one under the real libudev: the same questions, the same answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from pyfakefs.fake_filesystem import FakeFilesystem

from ptttool.testing import FakeMachine, kunpeng
from tests.support.machines import REPOSITORY, copy_of, umockdev
from tests.testing.questions import QUESTIONS, ask_all

RELEASES = ("6.12", "6.1")
Answers = dict[str, Any]


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def recorded(release: str, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    folder = tmp_path_factory.mktemp("recorded")
    return ask_all(str(folder), ["--sysfs", str(copy_of(f"kunpeng-{release}", folder))])


@pytest.fixture(scope="module")
def live(release: str, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    folder = tmp_path_factory.mktemp("live")
    done = subprocess.run(
        [*umockdev(f"kunpeng-{release}", folder), sys.executable, "-m", "tests.testing.questions", str(folder)],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        env={**os.environ, "PTTTOOL_STATE_DIR": str(folder / "state"), "PTTTOOL_RUNTIME_DIR": str(folder / "run")},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    answers: Answers = json.loads(done.stdout)
    return answers


def test_the_questions_have_answers_of_all_kinds(recorded: Answers) -> None:
    codes = [code for code, _ in recorded.values()]
    assert len(codes) == len(QUESTIONS)
    assert set(codes) == {0, 2, 3, 6}
    assert codes.count(0) > len(codes) / 2


def test_under_umockdev(live: Answers, recorded: Answers) -> None:
    for question, answer in recorded.items():
        assert live[question] == answer, question


def without_details(answers: Answers) -> Answers:
    """Leave out what the configuration space of a fake function does not hold."""
    kept: Answers = json.loads(json.dumps(answers))
    for _, document in kept.values():
        for function in document.get("functions", []):
            for name in ("bars", "transfers", "iommu", "msix"):
                function.pop(name, None)
    return kept


def test_on_the_fake_machine(
    release: str, recorded: Answers, fs: FakeFilesystem, mount_ptt_machine: Callable[[FakeMachine], FakeMachine]
) -> None:
    machine = mount_ptt_machine(kunpeng(release))
    folder = "/home/administrator/tuning"
    fs.create_dir(folder)
    answers = without_details(ask_all(folder))
    for question, answer in without_details(recorded).items():
        assert answers[question] == answer, question
    assert machine.writes[:3] == ["hisi_ptt0_0/qos_tx_p=2", "hisi_ptt0_0/qos_tx_np=0", "hisi_ptt0_0/qos_tx_p=0"]
