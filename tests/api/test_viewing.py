"""The model of the viewer: rows at random, search, transactions, markers, notes; against plain lists and the slow references."""

from __future__ import annotations

import json
import os
import shlex
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

import ptttool
from ptttool.analyses.io.commands.entries import CommandEntries
from ptttool.api.viewing import pages as pages_module
from ptttool.api.viewing.notes import SUFFIX, Note, load_notes, save_notes
from ptttool.api.viewing.pages import PacketPages, Place
from ptttool.api.viewing.survey import SUFFIX as INDEX_SUFFIX
from ptttool.api.viewing.transactions import between
from ptttool.api.viewing.view import View
from ptttool.cli.main import main
from ptttool.documents import Hex
from ptttool.errors import InputError, OutputError, UsageError
from ptttool.files.progress import Progress, StoppedError, unwatched
from ptttool.machine.discovery import open_source, require_machine
from ptttool.machine.model import Bar, Machine, PciFunctions
from ptttool.pci import PciAddress
from ptttool.pipeline.analyzing.ask import Ask, run
from ptttool.pipeline.scope import TimeOptions
from ptttool.tlp.transactions import Ending
from tests import ROOT
from tests.generated.schemas import schemas
from tests.reference.matching import match, ticks_between
from tests.support import captures, machines
from tests.support.records import eight, packed
from tests.support.traffic import Traffic, traffic

ETRACE = ROOT / "fixtures" / "etrace" / "median-basic"
QUICK = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


DOORBELL = 0x40001008


def with_drive() -> Machine:
    """A machine with a drive whose registers begin a page in front of that doorbell."""
    machine = require_machine(open_source(str(machines.MACHINES / machines.NEW)), tune=False)
    address = PciAddress(0, 1, 0, 0)
    bars = (Bar(0, Hex(0x40000000), Hex(0x40001FFF), "memory", False),)
    return structs.replace(machine, functions=PciFunctions({address: structs.replace(machine.functions[address], bars=bars)}))


def nothing(_: int) -> None:
    """Wait for it."""


def grown(view: View) -> View:
    """A view that knows everything."""
    while not view.pages.is_whole:
        view.grow(3)
    if view.survey is not None:
        for _ in view.survey.run():
            pass
        view.survey.finish()
    return view


@contextmanager
def viewed(path: Path, **options: Any) -> Iterator[View]:
    with ptttool.open(path, **options) as recording, View(recording, None, TimeOptions("counter")) as view:
        yield grown(view)


@contextmanager
def of_traffic(made: Traffic, folder: Path) -> Iterator[tuple[View, list[dict[str, Any]]]]:
    """A view of records in one stream, and the rows of the reference."""
    alone = Traffic(made.eight_dw, made.pattern)
    for _, _, words in made.records:
        alone.add_words(words)
    if not alone.records:
        alone.add_words((0,) * (alone.size // 4))
    path = folder / "made.bin"
    path.write_bytes(b"".join(struct.pack(f"<{len(words)}I", *words) for _, _, words in alone.records))
    parameters = {"input": "8dw" if made.eight_dw else "4dw", "pattern": "v1" if made.pattern else "legacy"}
    with viewed(path, protocol="hisi-ptt", form="raw", parameters=parameters) as view:
        yield view, alone.rows()


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of seven records."""
    monkeypatch.setattr(pages_module, "_LEAST_RECORDS", 7)


def all_places(view: View, level: str | None = None) -> list[Place]:
    first = view.pages.first(level)
    return [] if first is None else view.pages.listed(first, 1 << 30, level)


@given(made=traffic(most=80), data=st.data())
@QUICK
def test_rows_are_where_a_list_has_them(made: Traffic, data: st.DataObject, small_parts: None, tmp_path_factory: Any) -> None:
    with of_traffic(made, tmp_path_factory.mktemp("made")) as (view, rows):
        pages = view.pages
        assert pages.size == len(rows)
        places = all_places(view)
        assert [pages.index_of(place) for place in places] == list(range(len(rows)))
        if not rows:
            return
        assert [pages.find(index) for index in range(len(rows))] == places
        frame = pages.frame(places, ("index", "kind", "tag"))
        assert frame.rows() == [(row["index"], row["kind"], row["tag"]) for row in rows]
        for level in (None, "CPL"):
            shown = [place for place, row in zip(places, rows, strict=True) if row["class"] != level or level is None]
            assert all_places(view, level) == shown
            start, by = data.draw(st.integers(0, len(rows) - 1)), data.draw(st.integers(-90, 90))
            if not shown:
                continue
            at = places[start]
            if by < 0:
                before = [place for place in shown if place < at]
                wanted = before[by:][0] if before else shown[0]
            else:
                behind = [place for place in shown if place >= at]
                skip = by if at in shown else max(by - 1, 0)
                wanted = behind[min(skip, len(behind) - 1)] if behind else shown[-1]
            assert pages.moved(at, by, level) == wanted
        with pytest.raises(UsageError) as caught:
            pages.find(len(rows))
        assert caught.value.code == "no-such-index"


@given(made=traffic(most=80), data=st.data())
@QUICK
def test_search(made: Traffic, data: st.DataObject, small_parts: None, tmp_path_factory: Any) -> None:
    with of_traffic(made, tmp_path_factory.mktemp("made")) as (view, rows):
        if not rows:
            return
        places = all_places(view)
        matching = [number for number, row in enumerate(rows) if row["kind"] == "CplD" and row["tag"] == 1]
        view.look_for("kind = 'CplD' AND tag = 1")
        start = data.draw(st.integers(0, len(rows) - 1))
        view.go(places[start])
        behind, before = [one for one in matching if one > start], [one for one in matching if one < start]
        assert view.search(nothing) == (places[behind[0]] if behind else None)
        assert view.search(nothing, backwards=True) == (places[before[-1]] if before else None)
        view.choose_level(2)
        assert view.search(nothing, backwards=True) is None  # completions are no rows there
        requests = [number for number, row in enumerate(rows) if row["class"] != "CPL" and row["tag"] == 1]
        view.look_for("tag = 1")
        view.cursor = places[start]
        behind, before = [one for one in requests if one > start], [one for one in requests if one < start]
        assert view.search(nothing) == (places[behind[0]] if behind else None)
        assert view.search(nothing, backwards=True) == (places[before[-1]] if before else None)


@given(made=traffic(most=80))
@QUICK
def test_transactions_are_those_of_the_reference(made: Traffic, small_parts: None, tmp_path_factory: Any) -> None:
    with of_traffic(made, tmp_path_factory.mktemp("made")) as (view, rows):
        assert view.survey is not None
        wanted = {one["request"]: one for one in match(rows).transactions}
        for place, row in zip(all_places(view), rows, strict=True):
            found = view._requests(place.part).get(place.row)
            one = wanted.get(row["index"])
            assert (found is None) == (one is None)
            if found is not None and one is not None:
                assert (found.completions, found.received, found.ending) == (one["completions"], one["received"], Ending(one["ending"]))
                assert (found.to_last, found.to_first) == tuple(None if one[name] < 0 else one[name] for name in ("to_last", "to_first"))


@given(made=traffic(most=80))
@QUICK
def test_following_a_tlp_gives_the_whole_transaction(made: Traffic, small_parts: None, tmp_path_factory: Any) -> None:
    with of_traffic(made, tmp_path_factory.mktemp("made")) as (view, rows):
        places = all_places(view)
        for one in match(rows).transactions:
            view.go(places[one["request"]])
            found, marked = view.follow(nothing)
            assert found is not None
            assert found.first == one["request"]
            indexes = [view.pages.index_of(place) for place in marked]
            assert len(indexes) == one["completions"] + 1
            for place in marked:
                view.go(place)
                again = view.follow(nothing)[0]
                assert again is not None
                assert again.first == one["request"]


@given(made=traffic(most=80, holes=False), data=st.data())
@QUICK
def test_time_and_what_lies_between(made: Traffic, data: st.DataObject, small_parts: None, tmp_path_factory: Any) -> None:
    with of_traffic(made, tmp_path_factory.mktemp("made")) as (view, rows):
        if not rows:
            return
        assert view.survey is not None
        places, times = all_places(view), [ticks for ticks, _ in ticks_between(rows, "counter")]
        assert [view.ticks_at(place) for place in places] == times
        first, last = sorted((data.draw(st.integers(0, len(rows) - 1)), data.draw(st.integers(0, len(rows) - 1))))
        found = between(view.pages, view.survey.scope, places[last], places[first])
        chosen = rows[first : last + 1]
        assert found.tlps == len(chosen)
        assert sum(found.bytes.values()) == sum(row["payload_bytes"] for row in chosen)
        assert found.ticks == times[last] - times[first]
        whole = [one for one in match(rows).transactions if one["ended"]]
        begins, ends = Counter(one["request"] for one in whole), Counter(one["last"] for one in whole)
        level, levels = 0, []
        for row in rows:
            level += begins[row["index"]] - ends[row["index"]]
            levels.append(level)
        shown = levels[first : last + 1]
        if found.outstanding is None:
            assert not any(levels)
            return
        low, mean, high = found.outstanding
        assert (low, high, found.left_out) == (min(shown), max(shown), 0)
        if times[last] > times[first]:
            area = sum(levels[at] * (times[at + 1] - times[at]) for at in range(first, last))
            assert mean == pytest.approx(area / (times[last] - times[first]))
        at = data.draw(st.integers(0, times[-1]))
        assert view.find(f"@{at}", nothing) == places[next(number for number, ticks in enumerate(times) if ticks >= at)]


@pytest.mark.parametrize("name", ["workloads/w-randread-4dw", "workloads/w-download-8dw", "6.1/m-4dw-port10-type7-dir2"])
def test_real_recordings(name: str, tmp_path: Path) -> None:
    """Lines, the survey and the whole range between markers are what decode and the analyses say."""
    path = captures.path_of(name, tmp_path)
    with viewed(path) as view, ptttool.open(path) as recording:
        frame = recording.to_polars(["kind", "payload_bytes"])
        assert view.pages.size == frame.height
        assert view.survey is not None
        entries = view.survey.array
        assert int(entries["bytes"].sum()) == frame["payload_bytes"].sum()
        assert int(entries["rows"].sum()) == frame.height
        view.home()
        view.mark("m")
        view.end()
        view.mark("M")
        found = view.between(nothing)
        result = recording.analyze("outstanding", time_model="counter")
        assert found.ticks == result.time.elapsed_ticks == entries["ticks"][-1]
        if len(result.directions) == 1:
            (load,) = result.directions
            assert found.outstanding is not None
            assert found.outstanding[1] == pytest.approx(load.mean)
            assert found.outstanding[2] == load.peak
        named = view.extremes(unwatched, nothing)
        texts = {one.text.partition(" ")[2]: one.index for one in named if one.text.startswith("first ")}
        assert texts == {kind: frame["kind"].index_of(kind) for kind in frame["kind"].unique()}
        slowest = recording.analyze("latency", time_model="counter").ticks
        if slowest is not None and slowest.max_index is not None:
            assert slowest.max_index in {one.index for one in named}


@pytest.mark.parametrize("name", ["rr-qd8-4dw", "mix-4dw"])
def test_commands_are_those_of_the_kernel(name: str, tmp_path: Path) -> None:
    """Their number by queue is what the kernel counted; their times are those of a search from the fetch on, entry by entry."""
    truth = json.loads((captures.FOLDER / "kernel" / "truth.json").read_text(encoding="utf-8"))[name]["commands by queue"]
    path = captures.path_of(f"kernel/{name}", tmp_path)
    with viewed(path) as view, ptttool.open(path) as recording:
        view.find_commands(unwatched)
        assert view.commands is not None
        view.choose_level(3)
        view.home()
        places = all_places(view, view.left_out)
        assert [view.pages.index_of(place) for place in places] == view.commands.fetches.tolist()
        counts: Counter[str] = Counter()
        entries = {each.queue: each for each in run(recording, Ask(time=TimeOptions("counter")), [CommandEntries]).results["entries"]}
        for index in view.commands.fetches.tolist():
            one = view.commands.of(index)
            assert one is not None
            assert one.number == counts[str(one.queue)]
            counts[str(one.queue)] += one.count
            ended = entries[one.queue].ended.tolist()
            begin = next(ticks for ticks, number in entries[one.queue].fetched.tolist() if number == index)
            assert one.at_least == next((ticks - begin for ticks, number in ended if number > index), None)
            assert (one.entry, one.to_entry) == (ended[one.number][1], ended[one.number][0] - begin)
        assert counts == truth
        assert view.commands.of(1 << 40) is None
        for width in (60, 120):
            head, lines = view.window(10, width)
            assert head
            assert [line.place for line in lines] == places[:10]


def test_a_recording_without_commands(tmp_path: Path) -> None:
    """A network controller has rings, too: they are not those of a drive."""
    with viewed(captures.path_of("workloads/w-download-8dw", tmp_path)) as view:
        view.find_commands(unwatched)
        with pytest.raises(UsageError) as caught:
            view.choose_level(3)
        assert caught.value.code == "no-commands"
        assert view.level == 1


def test_registers_have_names_where_the_machine_is_known(tmp_path: Path) -> None:
    path = tmp_path / "made.bin"
    path.write_bytes(packed([eight(0x40000001, 0x0F, DOORBELL, 0), eight(0x40000001, 0x01000000 | 0x0F, DOORBELL, 0)]))
    parameters = {"input": "8dw", "downstream": "01"}
    with ptttool.open(path, "hisi-ptt", parameters=parameters, form="raw") as recording:
        for machine, expected in ((with_drive(), [True, False]), (None, [False, False])):
            with View(recording, machine, TimeOptions("counter")) as view:
                grown(view)
                for level in (1, 2):
                    view.choose_level(level)
                    assert ["SQ 1 tail doorbell" in line.text for line in view.window(2, 200)[1]] == expected
                assert [any("SQ 1 tail doorbell" in line for line in view.lines.details(Place(0, row))) for row in (0, 1)] == expected


def test_completions_alone_have_no_transactions(tmp_path: Path, small_parts: None) -> None:
    path = tmp_path / "made.bin"
    completions = [eight(0x4A000001, 0x00800004, 0x01000000 | tag << 8, 0) for tag in range(64)]
    request = eight(0x40000001, 0x0F, DOORBELL, 0)
    for records, expected in ((completions, None), ([*completions, request, *completions], 64)):
        path.write_bytes(packed(records))
        with viewed(path, protocol="hisi-ptt", form="raw", parameters={"input": "8dw"}) as view:
            if expected is None:
                with pytest.raises(UsageError) as caught:
                    view.choose_level(2)
                assert (caught.value.code, view.level) == ("no-requests", 1)
            else:
                view.choose_level(2)
                for go in (view.home, view.end, lambda: view.move(1), lambda: view.move(-5)):
                    go()
                    assert view.index == expected
                    assert len(view.window(10, 80)[1]) == 1


@pytest.mark.parametrize("level", [2, 3])
def test_narrow_terminals_see_what_became_of_it(level: int, tmp_path: Path) -> None:
    with viewed(captures.path_of("kernel/mix-4dw", tmp_path)) as view:
        view.find_commands(unwatched)
        view.choose_level(level)
        view.end()
        for width in (58, 78, 118, 198):
            head, lines = view.window(10, width)
            assert [line.place for line in lines] == all_places(view, view.left_out)[-10:]
            name, text = ("state", "complete") if level == 2 else ("entry", "29071")
            at = head.rindex(name)
            shown = [line.text[at:width].split() for line in lines]
            assert [text] in [words[:1] for words in shown]


def test_the_window_holds_the_cursor(tmp_path: Path) -> None:
    with viewed(captures.path_of("workloads/w-randread-4dw", tmp_path)) as view:
        for steps in ("end", "home", 5, 3, 40, -1, -60, 100_000, "end", -1, 2, -141_000, "level", 30, -2, "end"):
            if isinstance(steps, int):
                view.move(steps)
            elif steps == "level":
                view.choose_level(2)
            else:
                getattr(view, steps)()
            for height in (1, 17, 17, 40):
                head, lines = view.window(height, 120)
                assert view.cursor in [line.place for line in lines]
                assert len(lines) == height
                assert head


def test_details_have_every_bit_in_its_place(tmp_path: Path) -> None:
    with viewed(captures.path_of("workloads/w-randread-4dw", tmp_path)) as view:
        place = view.find("1", nothing)
        lines = view.lines.details(place)
        (row,) = view.pages.frame([place], ("kind", "byte_count", "time", "dw1")).to_dicts()
        fields = {words[0]: words for words in map(str.split, lines)}
        assert fields["byte_count"][1:3] == ["DW1", "11:0"]
        assert fields["byte_count"][3] == str(row["byte_count"])
        assert fields["time"][1:4] == ["DW0", "10:0", str(row["time"])]
        assert "tc" not in fields  # 4DW records do not keep it
        assert "".join(fields["DW1"][2:]) == f"{row['dw1']:032b}"


def test_packets_are_rows_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["--protocol", "riscv-etrace", "--params", f"{ETRACE}.params"]
    parameters = dict(line.split("=") for line in Path(f"{ETRACE}.params").read_text().split() if "=" in line)
    with ptttool.open(f"{ETRACE}.bin", "riscv-etrace", parameters=parameters) as recording, View(recording, words=words) as view:
        grown(view)
        assert isinstance(view.pages, PacketPages)
        frame = recording.to_polars(["index", "kind"])
        assert view.pages.frame(all_places(view), ("index", "kind")).rows() == frame.rows()
        view.end()
        assert view.index == frame.height - 1
        assert any(line.startswith("byte 0") for line in view.lines.details(Place(0, 1)))
        for act in (lambda: view.follow(nothing), lambda: view.choose_level(2), lambda: view.extremes(unwatched, nothing)):
            with pytest.raises(UsageError) as caught:
                act()
            assert caught.value.code == "no-tlps"
        line = shlex.split(view.command())
    assert line[:2] == ["ptttool", "decode"]
    assert main(line[1:]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 12


def test_the_command_line_shows_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = captures.path_of("6.12/m-4dw-port10-type7-dir2", tmp_path)
    with viewed(path) as view:
        view.go(view.find("20", nothing))
        lines = [view.command()]
        view.choose_level(2)
        lines.append(view.command())
        view.mark("m")
        view.move(4)
        view.mark("M")
        lines.append(view.command())
        last = view.index
    for line in lines:
        assert main(shlex.split(line)[1:]) == 0
        assert capsys.readouterr().out
    assert f"--limit {last - 20 + 1}" in lines[2] or "--offset" in lines[2]


@pytest.mark.parametrize(
    ("text", "code"),
    [("", "bad-place"), ("zz", "bad-place"), ("-1", "bad-place"), ("²", "bad-place"), ("99999999", "no-such-index"),
     ("9" * 40, "bad-place"),
     ("@99999999999", "no-such-time"), ("@1ms", "time-unknown"), ("@", "bad-place")],
)  # fmt: skip
def test_places_that_are_none(text: str, code: str, tmp_path: Path) -> None:
    with viewed(captures.path_of("workloads/w-config-dir3-4dw", tmp_path)) as view, pytest.raises(UsageError) as caught:
        view.find(text, nothing)
    assert caught.value.code == code


# ---- the index and notes


def test_the_index_is_kept_and_of_this_recording_only(tmp_path: Path) -> None:
    path = tmp_path / "a.data"
    path.write_bytes(captures.content("6.1/m-4dw-port10-type7-dir2"))
    with viewed(path) as view:
        assert view.survey is not None
        kept = view.survey.save()
        entries, time = view.survey.entries, view.survey.time
        assert time is not None
        assert time.hides_time
        assert kept == Path(f"{path}{INDEX_SUFFIX}")
    data = kept.read_bytes()

    def loads(tick_ns: float | None = None) -> bool:
        with ptttool.open(path) as recording, View(recording, None, TimeOptions("counter", tick_ns)) as view:
            while not view.pages.is_whole:
                view.grow(1)
            assert view.survey is not None
            is_loaded = view.survey.load()
            assert view.survey.entries == (entries if is_loaded else [])
            assert view.survey.time == (time if is_loaded else None)
            return is_loaded

    assert loads()
    assert not loads(4.0)
    for damaged in (data[:-1], data + b"\0", data[:20], b"", b"\xff" * len(data), data[:40] + b"\xff" * (len(data) - 40)):
        kept.write_bytes(damaged)
        assert not loads()
    kept.write_bytes(data)
    os.utime(path, ns=(1, 1))
    assert not loads()
    kept.unlink()
    other = tmp_path / "other"
    other.write_bytes(data)
    kept.symlink_to(other)
    assert not loads()


def test_notes(tmp_path: Path) -> None:
    path = tmp_path / "a.data"
    path.write_bytes(captures.content("6.12/m-4dw-port10-type7-dir2"))
    beside = Path(f"{path}{SUFFIX}")
    path.chmod(0o640)
    with viewed(path) as view:
        view.load_notes()
        assert view.notes == []
        view.note("first\x1b[31m")
        view.move(2)
        view.note("third")
        view.note("")
        assert not beside.exists()
        save_notes(str(path), [Note(7, "of a colleague")], [])
        assert view.save_notes() == beside
        assert view.notes == [Note(0, "first\x1b[31m"), Note(7, "of a colleague")]
        assert not view.has_unsaved
    text = beside.read_text(encoding="utf-8")
    assert "\x1b" not in text
    jsonschema.Draft202012Validator(schemas()["notes"]).validate(json.loads(text))
    assert beside.stat().st_mode & 0o777 == 0o640
    with viewed(path) as view:
        view.load_notes()
        assert [note.index for note in view.notes] == [0, 7]


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"\xff\xfe", b'{"ptttool_notes": 2, "recording": "a", "size": 1, "notes": []}', b"[" * 9999]
)
def test_what_is_no_file_of_notes_is_neither_read_nor_replaced(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.data"
    path.touch()
    beside = Path(f"{path}{SUFFIX}")
    beside.write_bytes(content)
    for act in (lambda: load_notes(str(path)), lambda: save_notes(str(path), [], [])):
        with pytest.raises(InputError) as caught:
            act()
        assert caught.value.code == "bad-notes"
    assert beside.read_bytes() == content


def test_links_are_not_followed(tmp_path: Path) -> None:
    path, target = tmp_path / "a.data", tmp_path / "target"
    path.touch()
    Path(f"{path}{SUFFIX}").symlink_to(target)
    with pytest.raises(OutputError) as caught:
        save_notes(str(path), [Note(1, "x")], [])
    assert caught.value.code == "untrusted-link"
    assert not target.exists()
    target.write_text('{"ptttool_notes": 1, "recording": "a", "size": 1, "notes": []}')
    with pytest.raises(InputError) as bad:
        load_notes(str(path))
    assert bad.value.code == "bad-notes"


# ---- what can go wrong


def test_an_empty_recording_has_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "empty.bin"
    path.write_bytes(bytes(64))
    with viewed(path, protocol="hisi-ptt", form="raw", parameters={"input": "8dw"}) as view:
        assert view.cursor is None
        view.move(1)
        view.home()
        view.end()
        view.mark("m")
        assert view.window(10, 80) == ("", [])
        assert view.here is None


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = Thread(target=path.write_bytes, args=(bytes(64),), daemon=True)
    writer.start()
    with ptttool.open(path, "hisi-ptt", form="raw", parameters={"input": "8dw"}) as recording, pytest.raises(UsageError) as caught:
        View(recording)
    writer.join(5)
    assert caught.value.code == "pipe-view"


def test_a_recording_that_becomes_shorter_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.data"
    path.write_bytes(captures.content("workloads/w-download-8dw"))
    with viewed(path) as view:
        size = path.stat().st_size
        os.truncate(path, size // 2)
        view._requests.cache_clear()
        view.pages._rows.cache_clear()
        with pytest.raises(InputError) as caught:
            view.end()
        assert caught.value.code == "truncated"
        view.home()
        assert view.window(10, 80)[1]


def test_work_can_be_stopped(tmp_path: Path) -> None:
    def stop(_: int) -> None:
        raise StoppedError

    class Stopped:
        def __init__(self, progress: Progress) -> None:
            progress.is_stopped = True

        def __enter__(self) -> None: ...
        def __exit__(self, *_: object) -> None: ...

    with viewed(captures.path_of("workloads/w-randread-4dw", tmp_path)) as view:
        view.look_for("kind = 'Msg'")
        view.mark("m")
        view.mark("M")
        for work in (lambda: view.search(stop), lambda: view.between(stop), lambda: view.extremes(Stopped, nothing)):
            with pytest.raises(StoppedError):
                work()
