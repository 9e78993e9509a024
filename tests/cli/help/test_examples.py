"""The examples in ``--help`` and the manual pages work: each is run on the recorded machine, in one folder with a few recordings."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ptttool.cli.app import app
from ptttool.cli.help.about import Example, about
from ptttool.cli.main import load_commands, main
from tests import ROOT
from tests.generated import manpages


def examples() -> Iterator[tuple[str, Example]]:
    load_commands()
    seen: set[str] = set()
    for path, command in manpages.walk(app.tree, "ptttool"):
        for example in about(command).examples:
            if example.line not in seen:  # the first page shows some of a command's
                seen.add(example.line)
                yield path, example


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What examples read: recordings of the demo machine, a profile, a program and its trace."""
    folder = tmp_path_factory.mktemp("examples")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        trace = ["trace", "--demo", "--no-decode", "--rootport", "0000:00:10.0", "--duration", "1"]
        assert main([*trace, "-o", "nvme.data"]) == 0
        assert main([*trace, "--direction", "both", "-o", "both.data"]) == 0
        for name in ("before", "after", "before1", "before2", "after1", "after2"):
            shutil.copy("nvme.data", f"{name}.data")
            shutil.copy("nvme.data.ptttool.json", f"{name}.data.ptttool.json")
        assert main(["tune", "save", "--demo", "raid.toml"]) == 0
    text = (folder / "raid.toml").read_text(encoding="utf-8")
    (folder / "raid.toml").write_text(text.replace("qos_tx_p = 1", "qos_tx_p = 2"), encoding="utf-8")
    shutil.copy(ROOT / "fixtures" / "riscv" / "program.elf", folder / "program.elf")
    shutil.copy(ROOT / "fixtures" / "etrace" / "median-basic.bin", folder / "hart.bin")
    shutil.copytree(ROOT / "fixtures" / "anchors", folder / "anchors")
    return folder


def words_of(path: str, example: Example) -> list[str]:
    """The command line without ``ptttool``; with ``--demo`` behind the command's name where it is for the machine it runs on."""
    words = shlex.split(example.line)
    name = len(path.split()) if path != "ptttool" else 2
    return [*words[1:name], *(["--demo"] if example.on_demo else []), *words[name:]]


@pytest.mark.parametrize(("path", "example"), list(examples()), ids=lambda value: value.line if isinstance(value, Example) else "")
def test_examples_work(path: str, example: Example, recordings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert f"{example.line} ".startswith(f"{path} ") or path == "ptttool"
    for one in recordings.iterdir():
        if one.is_dir():
            shutil.copytree(one, tmp_path / one.name)
        else:
            shutil.copy(one, tmp_path)
    (tmp_path / "image").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    words = words_of(path, example)
    if example.needs_terminal:
        words.append("--help")
    if words[0] == "trace" and "-o" in words:
        Path(words[words.index("-o") + 1]).unlink(missing_ok=True)  # an existing recording is not replaced
    assert main(words) == example.exit_code
