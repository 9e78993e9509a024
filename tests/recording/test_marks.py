"""What AUX events mark in AUX streams."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from ptttool.recording.marks import Marks, all_contents, can_look_ahead
from ptttool.recording.opening import InputForm, open_source
from tests.support.recordings import build_perfdata

TRUNCATED, OVERWRITE, PARTIAL = 1, 2, 4
EVENTS = [(0, 0, 64, 0, 10), (0, 64, 32, TRUNCATED, 20), (1, 0, 16, PARTIAL, 30), (1, 16, 16, OVERWRITE, 40), (1, 32, 0, 0, 50)]
CONTENT = build_perfdata([(0, 0, bytes(96)), (1, 0, bytes(32))], aux_events=EVENTS)


def test_marks_of_a_recording_that_has_not_been_walked(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(CONTENT)
    for address in (str(path), f"file://{path}"):
        with open_source(address) as source:
            assert can_look_ahead(source)
            marks = Marks()
            marks.update(all_contents(source))
            assert source.position == 0 or source.contents.aux_events == []
        assert marks.breaks.by_cpu == {0: [96], 1: [0, 16]}
        assert marks.begins.by_cpu == {0: [0, 64], 1: [0, 16]}


def test_a_pipe_is_not_read_ahead(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    thread = threading.Thread(target=path.write_bytes, args=(CONTENT,))
    thread.start()
    with open_source(path, InputForm.PERF) as source:
        assert not can_look_ahead(source)
        assert all_contents(source) is source.contents
        assert len(list(source.chunks())) == 2
        assert len(all_contents(source).aux_events) == 5
    thread.join()
