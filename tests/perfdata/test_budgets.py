"""Small files that ask for much: each is read within its budget, in a process with little memory and little time."""

from __future__ import annotations

import json
import pickle
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.bombs import BOMBS
from bench.bombs.recordings import expanding
from ptttool.budget import Budget
from ptttool.perfdata import budget
from ptttool.perfdata.attributes import AttributeTable, parse_attribute, trailer_of
from ptttool.perfdata.model import Contents, Mode
from tests.support import recordings as rec

# Reads a recording to its end, also as units of TLPs, and looks for signs of loss.
READ = """
import json, sys
from ptttool.analyses.loss import signs_of_loss
from ptttool.decoders.hisi_ptt.splitter import HisiPttSettings, TlpSplitter
from ptttool.recording.opening import InputForm, open_source

with open_source(sys.argv[1], InputForm.PERF) as source:
    units = sum(1 for _ in TlpSplitter(source, HisiPttSettings()).units(1 << 18))
    contents = source.contents
    signs = len(signs_of_loss(contents))
    codes = [problem.code for problem in contents.problems]
    limits = [problem.details.get("limit") for problem in contents.problems]
    peak = int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
    records, attributes = contents.records, len(contents.attributes)
    print(json.dumps(dict(codes=codes, limits=limits, units=units, signs=signs, peak=peak, records=records, attributes=attributes)))
"""
SECONDS, MEMORY, FILES = 10, 800 << 20, 64


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))


def read(path: Path) -> Any:
    """What a process with limits finds in a recording."""
    done = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, preexec_fn=limited)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def made(name: str, folder: Path, size: int | None = None) -> Path:
    """Make a bomb of the benchmark and return its recording."""
    BOMBS[name].make(folder, BOMBS[name].size if size is None else size)
    return folder / "perf.data"


@pytest.mark.parametrize(
    ("name", "at_once"),
    [
        ("recording-shared-ids", 1),
        ("recording-pipe-ids", 1),
        ("recording-trailers", 0),
        ("recording-zstd-small", 1),
        ("recording-features", 18),
        ("recording-streams", 0),
        ("recording-marks", 0),
        ("recording-holes", 0),
        ("recording-holes-between", 0),
    ],
)
def test_little_memory(name: str, at_once: int, tmp_path: Path) -> None:
    """Problems name the limit; the memory is that of some hundred thousand objects."""
    found = read(made(name, tmp_path))
    assert found["codes"].count("over-budget") <= at_once
    assert bool(found["codes"]) == bool(at_once)
    assert all(limit for code, limit in zip(found["codes"], found["limits"], strict=True) if code == "over-budget")
    assert found["peak"] << 10 < 160 << 20


def test_what_is_within_the_budget_is_given(tmp_path: Path) -> None:
    assert read(made("recording-attributes-large", tmp_path))["attributes"] == budget.MAX_ATTRIBUTES
    path = tmp_path / "perf.data"
    path.write_bytes(expanding(rec.record(17, bytes(2040)), 3))
    found = read(path)
    assert budget.EXPANDED_FREE // 4096 < found["records"]["KSYMBOL"] < 2 * budget.EXPANDED_FREE // 2048


def test_a_folder_of_many_files_needs_few_descriptors(tmp_path: Path) -> None:
    folder = tmp_path / "perf.data"
    rec.build_directory(folder, [(0, 0, rec.words_8dw(3))])
    for number in range(1, 3 * FILES):
        (folder / f"data.{number}").write_bytes(rec.auxtrace(rec.words_8dw(1), cpu=number))
    found = read(folder)
    assert found["codes"] == []
    assert found["records"]["AUXTRACE"] == 3 * FILES


def test_a_trailer_is_found_by_its_id() -> None:
    """Attributes with different trailers: the id of a record says which one it has."""
    contents = Contents(Mode.FILE)
    table = AttributeTable(contents)
    types = (rec.SAMPLE_TYPE, rec.TID | rec.TIME | rec.ID, rec.TIME | rec.IDENTIFIER)
    for number, kind in enumerate(types):
        table.add(parse_attribute(memoryview(rec.attr(8, 0, sample_type=kind)), (10 + number, 20 + number)))
    assert table.common is None
    assert contents.revision == 3
    for number, kind in enumerate(types):
        record = bytes(16) + rec.trailer(77, id=20 + number, sample_type=kind)
        assert table.trailer(record, len(record), len(record) - 8) == trailer_of(contents.attributes[number])
    record = bytes(16) + rec.trailer(77, id=99)
    assert table.trailer(record, len(record), len(record) - 8) is None
    assert table.trailer(record, len(record), 0) is None


def test_every_limit_says_what_it_limits() -> None:
    limits = {name: value for name, value in vars(budget).items() if name.startswith(("MAX_", "EXPANDED_"))}
    assert limits
    assert all(isinstance(each, Budget) and each.unit and each.meaning.endswith(".") for each in limits.values())
    assert type(pickle.loads(pickle.dumps(budget.MAX_IDS))) is int
