"""What an input is taken for, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ptttool.errors import InputError
from ptttool.recording.opening import InputForm, form_of, open_source
from tests.support.recordings import build_directory, build_perfdata, words_8dw


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_the_first_bytes_tell_the_form(prefix: str, tmp_path: Path) -> None:
    perf, raw, empty = tmp_path / "perf.data", tmp_path / "trace.bin", tmp_path / "empty"
    perf.write_bytes(build_perfdata())
    raw.write_bytes(b"PERFILE1")
    empty.write_bytes(b"")
    assert [form_of(f"{prefix}{path}") for path in (perf, raw, empty)] == [InputForm.PERF, InputForm.RAW, InputForm.RAW]


def test_inputs_of_which_the_first_bytes_cannot_be_looked_at(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert [form_of(path) for path in ("-", tmp_path / "fifo", tmp_path / "none")] == [None, None, None]


def test_a_folder_of_perf_record(tmp_path: Path) -> None:
    folder = build_directory(tmp_path / "perf.data", [(0, 0, words_8dw(5)), (1, 0, words_8dw(6))])
    assert form_of(folder) is InputForm.PERF
    with open_source(folder) as source:
        assert [bytes(chunk.read()) for chunk in source.chunks()] == [words_8dw(5), words_8dw(6)]


@pytest.mark.parametrize("form", [None, *InputForm])
def test_a_folder_of_a_snapshot_is_refused(form: InputForm | None, tmp_path: Path) -> None:
    (tmp_path / "snapshot.ini").write_text("")
    with pytest.raises(InputError) as caught:
        open_source(tmp_path, form)
    assert caught.value.code == "snapshot-folder"


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_a_form_is_taken_at_its_word(prefix: str, tmp_path: Path) -> None:
    perf, raw = tmp_path / "perf.data", tmp_path / "trace.bin"
    perf.write_bytes(build_perfdata([(0, 0, words_8dw(1))]))
    raw.write_bytes(words_8dw(1))
    with pytest.raises(InputError), open_source(f"{prefix}{raw}", InputForm.PERF) as source:
        list(source.chunks())
    with pytest.raises(InputError) as caught, open_source(f"{prefix}{perf}", InputForm.RAW) as source:
        list(source.chunks())
    assert caught.value.code == "not-raw"


@pytest.mark.parametrize("prefix", ["", "file://"])
@pytest.mark.parametrize("form", list(InputForm))
def test_nothing_there_or_nothing_in_it(prefix: str, form: InputForm, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        open_source(f"{prefix}{tmp_path}/none", form)
    assert caught.value.code == "no-such-file"
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(InputError) as caught:
        open_source(f"{prefix}{tmp_path}/empty", form)
    assert caught.value.code == "empty-file"
