"""Workers that merge results, too, give rows the numbers that they have in the recording."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ptttool.pipeline import jobs
from ptttool.pipeline.analyzing.ask import Ask, run
from ptttool.pipeline.recording import OpenRecording, Request
from ptttool.pipeline.walk import RecordWalk
from ptttool.pipeline.workers.pool import Workers
from tests.support import captures
from tests.support.recordings import build_perfdata


class Kept:
    """A result that is there already."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def result(self) -> Any:
        return self._value

    def cancel(self) -> None:
        pass


class Merging(Workers):
    """Workers of a cluster, in this process; what goes to them and comes back is pickled."""

    jobs, batch_bytes, reduces = 2, 1 << 14, True

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        function, arguments = pickle.loads(pickle.dumps((function, arguments)))
        return Kept(pickle.loads(pickle.dumps(function(*arguments))))

    def reduce(self, promises: Sequence[Any], merge: Callable[[Any, Any], Any], done: Callable[[int], None]) -> Any:
        values = [promise.result() for promise in promises]
        for number in range(len(values)):
            done(number)
        while len(values) > 1:
            pairs = [values[at : at + 2] for at in range(0, len(values), 2)]
            values = [merge(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return values[0] if values else None


@pytest.mark.parametrize("zeros", [0, 3])
@pytest.mark.parametrize("name", ["bandwidth", "outstanding"])
def test_numbers_of_rows(name: str, zeros: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All-zero records have no number: then rows are counted first."""
    with OpenRecording(Request(str(captures.path_of("6.12/m-4dw-port10-type7-dir2", tmp_path)))) as recording:
        data = b"".join(bytes(chunk.read()) for chunk in recording.source().chunks())
    half = len(data) // 2 // 16 * 16
    data = data[:half] + bytes(16 * zeros) + data[half:]
    pieces = [data[at : at + (1 << 14)] for at in range(0, len(data), 1 << 14)]
    path = tmp_path / "perf.data"
    path.write_bytes(build_perfdata([(0, at << 14, piece) for at, piece in enumerate(pieces)], config=0x7280001))
    monkeypatch.setattr(jobs, "_MERGED_BYTES", 1 << 14)
    units = RecordWalk._units
    monkeypatch.setattr(RecordWalk, "_units", lambda walk, _most: units(walk, 1000))
    with OpenRecording(Request(str(path))) as recording:
        alone = run(recording, Ask(), (name,)).results
        together = run(recording, Ask(Merging()), (name,)).results
    assert together == alone
