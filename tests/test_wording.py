"""Words for people."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import unicodedata
from pathlib import Path

import pytest

from ptttool.documents import dumps
from ptttool.wording import as_root, clean


def shown(text: str) -> list[str]:
    return shlex.split(text[text.index("(") + 1 : text.rindex(")")]) if "(" in text else []


@pytest.mark.parametrize("sudo", [None, "/usr/bin/sudo"])
@pytest.mark.parametrize("folder", ["bin", "a folder; of 'mine'"])
def test_as_root_by_an_absolute_path(folder: str, sudo: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: sudo)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [f"{folder}/ptttool", "trace"])
    assert shown(as_root()) == [*(["sudo"] if sudo else []), str(tmp_path / folder / "ptttool"), "…"]


def test_as_root_by_the_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    monkeypatch.setattr(sys, "argv", ["/somewhere/ptttool/__main__.py"])
    assert shown(as_root()) == [sys.executable, "-P", "-m", "ptttool", "…"]


@pytest.mark.parametrize("argv", [[], [""], ["-c"], ["/usr/bin/pytest"], ["/home/me/script.py"]])
def test_a_library_does_not_know_its_command(argv: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", argv)
    assert shown(as_root()) == []


def test_nothing_of_a_path_is_obeyed_by_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/home/\x1b[31m/ptttool"])
    assert "\x1b" not in as_root()


def test_nothing_that_a_terminal_obeys_or_hides_is_left() -> None:
    """By Unicode's own table: controls, formats, surrogates, separators of lines."""
    wild = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
    for char in wild:
        assert clean(char).isascii() and clean(char).isprintable(), hex(ord(char))
        found = dumps(char)
        assert json.loads(found) == char
        assert found.isascii() and found.isprintable(), hex(ord(char))
    assert clean("\U000e0041\u061c") == "\\U000e0041\\u061c"
    assert clean("Lüfter 风扇 🙂") == "Lüfter 风扇 🙂"
