"""``ptttool view``: keys by textual's pilot, and the command itself on a terminal."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import ptttool
from ptttool.api.viewing.notes import SUFFIX
from ptttool.api.viewing.view import View
from ptttool.cli.main import main
from ptttool.pipeline.scope import TimeOptions
from tests.support import captures


@contextmanager
def screen_of(path: Path, *, keep_index: bool = False) -> Iterator[Any]:
    from ptttool.cli.views.view.screen import ViewScreen

    with ptttool.open(path) as recording, View(recording, None, TimeOptions("counter")) as view:
        screen = ViewScreen(view, "view", keep_index=keep_index)
        yield screen
        screen.end()


async def until(pilot: Any, is_so: Callable[[], object]) -> None:
    for _ in range(400):
        await pilot.pause(0.02)
        if is_so():
            return
    raise AssertionError("it did not happen")


def rows_of(app: Any) -> list[str]:
    from ptttool.cli.views.view.parts import Rows

    table = app.query_one(Rows)
    return ["".join(segment.text for segment in table.render_line(y)) for y in range(table.size.height)]


def test_keys(tmp_path: Path) -> None:
    path = tmp_path / "a.data"
    path.write_bytes(captures.content("workloads/w-randread-4dw"))
    beside = Path(f"{path}{SUFFIX}")

    async def use(app: Any) -> None:
        from ptttool.cli.views.view.parts import Rows

        view = app.view
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: app.survey_job.is_stopped and view.survey.time is not None)
            await pilot.press("down", "down", "pagedown", "up")
            assert view.index == 2 + (len(rows_of(app)) - 2) - 1
            assert sum(row.startswith(">") for row in rows_of(app)) == 1
            await pilot.press("end")
            assert view.index == 141_927
            await pilot.press("home", "2")
            await until(pilot, lambda: view.level == 2)
            await pilot.press("down")
            assert view.index == 2
            assert "complete" in "\n".join(rows_of(app)) or view.level == 2
            await pilot.press("3")
            await until(pilot, lambda: view.level == 3)
            assert "queue" in rows_of(app)[0]
            await pilot.press("home")
            await until(pilot, lambda: app.job is None and view.index == 2)
            await pilot.press("1", "g", "2", "enter")
            await until(pilot, lambda: app.job is None and view.index == 2)
            await pilot.press("f")
            await until(pilot, lambda: app.job is None)
            assert {view.pages.index_of(place) for place in view.marked} == {2, 3}
            await pilot.press("f")
            assert view.marked == set()
            await pilot.press("m", "down", "down", "down", "M")
            await until(pilot, lambda: "outstanding" in app.message)
            await pilot.press("slash", *"index = 70000", "enter")
            await until(pilot, lambda: view.index == 70_000)
            await pilot.press("n")
            await until(pilot, lambda: app.job is None)
            assert view.index == 70_000
            await pilot.press("g", *"1,233", "enter")
            await until(pilot, lambda: view.index == 1233)
            await pilot.press("g", *"@40000000", "enter")
            await until(pilot, lambda: view.index > 100_000)
            assert view.here.ticks >= 40_000_000
            await pilot.press("x")
            await until(pilot, lambda: app.query_one("#list").has_class("shown"))
            await pilot.press("down", "down", "enter")
            await until(pilot, lambda: app.job is None)
            assert view.index == app._listed[2]
            await pilot.press("d")
            await until(pilot, lambda: "DW0" in str(app.query_one("#fields").render()))
            await pilot.press("b", *"[bold]odd", "enter", "B")
            assert view.notes[0].text == "[bold]odd"
            assert not beside.exists()
            await pilot.press("escape", "w")
            assert json.loads(beside.read_text())["notes"] == [{"index": view.index, "text": "[bold]odd"}]
            await pilot.press("y")
            assert app.message == view.command()
            await pilot.press("question_mark")
            assert app.query_one("#help").has_class("shown")
            await pilot.press("escape")
            for width, height in ((60, 12), (200, 50), (20, 5), (100, 30)):
                await pilot.resize_terminal(width, height)
                await until(pilot, lambda: len(app.query_one(Rows).lines) == app.query_one(Rows).size.height - 1)
            await pilot.resize_terminal(120, 10)
            await pilot.press("g", "x", "enter")
            await until(pilot, lambda: getattr(app.failure, "code", None) == "bad-place" and app.job is None)
            await pilot.pause(0.1)
            assert app.query_one("#pane").has_class("shown")
            assert app.query_one("#status").region.bottom == 9  # it is seen, above the keys
            app.failure = None
            await pilot.press("question_mark", *["down"] * 30)
            await until(pilot, lambda: app.query_one("#help").is_vertical_scroll_end)
            await pilot.press("question_mark")
            failures = [app.failure]
            await pilot.press("slash", *"nothing = 1", "enter")
            failures.append(getattr(app.failure, "code", None))
            assert failures == [None, "unknown-column"]
            await pilot.press("q")

    with screen_of(path) as app:
        asyncio.run(use(app))


def test_the_mouse(tmp_path: Path) -> None:
    async def use(app: Any) -> None:
        from ptttool.cli.views.view.parts import Overview, Rows

        async with app.run_test(size=(106, 30)) as pilot:
            await until(pilot, lambda: app.survey_job.is_stopped)
            await pilot.click(Rows, offset=(10, 5))
            assert app.view.index == 4
            await pilot.click(Overview, offset=(Overview.LABEL + 50, 0))
            assert app.view.index == pytest.approx(141_928 * 0.5, rel=0.02)
            await pilot.click(Overview, offset=(Overview.LABEL + 99, 1))
            assert app.view.index > 139_000

    with screen_of(captures.path_of("workloads/w-randread-4dw", tmp_path)) as app:
        asyncio.run(use(app))


def test_what_is_typed_at_once_is_for_the_line(tmp_path: Path) -> None:
    from textual.events import Key

    async def use(app: Any) -> None:
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: app.survey_job.is_stopped)
            for letter in ("slash", *"requester/g b"):
                app.post_message(Key("space" if letter == " " else letter, "/" if letter == "slash" else letter))
            await until(pilot, lambda: app.query_one("#ask").value == "requester/g b")
            await pilot.press("escape", "g", "5", "enter")
            await until(pilot, lambda: app.view.index == 5)

    with screen_of(captures.path_of("6.12/m-4dw-port10-type7-dir2", tmp_path)) as app:
        asyncio.run(use(app))


def test_a_search_is_ended_by_escape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from threading import Event

    begun, go = Event(), Event()
    search = View.search

    def slow(self: View, step: Any, *, backwards: bool = False) -> Any:
        begun.set()
        go.wait(20)
        return search(self, step, backwards=backwards)

    monkeypatch.setattr(View, "search", slow)

    async def use(app: Any) -> None:
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: app.survey_job.is_stopped)
            await pilot.press("slash", *"index = 1000", "enter")
            await until(pilot, begun.is_set)
            assert "Esc" in app.status()[0]
            await pilot.press("escape")
            go.set()
            await pilot.pause(0.3)
            assert app.job is None
            assert app.view.index == 0

    with screen_of(captures.path_of("workloads/w-randread-4dw", tmp_path)) as app:
        asyncio.run(use(app))


def test_a_damaged_or_shortened_file_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.data"
    path.write_bytes(captures.content("workloads/w-download-8dw"))

    async def use(app: Any) -> None:
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: app.survey_job.is_stopped)
            os.truncate(path, path.stat().st_size // 2)
            app.view.pages._rows.cache_clear()
            await pilot.press("end")
            assert app.failure.code == "truncated"
            assert app.is_running
            await pilot.press("q")

    with screen_of(path) as app:
        asyncio.run(use(app))


def test_a_file_that_is_cut_is_said_so(tmp_path: Path) -> None:
    path = tmp_path / "a.data"
    path.write_bytes(captures.content("workloads/w-download-8dw")[:500_000])

    async def use(app: Any) -> None:
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: app.survey_job.is_stopped)
            assert app.failure.exit_code == 6
            assert app.message in app.status()
            await pilot.press("end")
            assert app.status()[0].endswith("damaged")
            assert app.view.index > 10_000

    with screen_of(path) as app:
        asyncio.run(use(app))


def test_other_content_under_way_ends_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.data"
    path.write_bytes(captures.content("workloads/w-download-8dw"))

    async def use(app: Any) -> None:
        async with app.run_test(size=(100, 40)) as pilot:
            await until(pilot, lambda: app.survey_job.is_stopped)
            size = path.stat().st_size
            with path.open("r+b") as file:
                file.seek(size // 3)
                file.write(bytes(size // 2))
            app.view.pages._rows.cache_clear()
            app.view._ticks.cache_clear()
            for key in ("end", "pageup", "2", "home", "pagedown", "end", "1", "up", "f", "m", "home", "M", "x"):
                await pilot.press(key)
                await pilot.pause(0.05)
            with path.open("ab") as file:  # it grows
                file.write(b"more" * 1000)
            await pilot.press("escape", "end", "d")
            await until(pilot, lambda: app.job is None)
            assert app.is_running
            assert app.return_code in (None, 0)
            await pilot.press("q")

    with screen_of(path) as app:
        asyncio.run(use(app))


def test_the_index_is_kept_only_if_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.data"
    path.write_bytes(captures.content("workloads/w-download-8dw"))

    async def use(app: Any) -> None:
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: app.survey_job.is_stopped)

    for keep in (False, True):
        with screen_of(path, keep_index=keep) as app:
            asyncio.run(use(app))
        assert {each.name for each in tmp_path.iterdir()} == {"a.data", *(["a.data.view-index"] if keep else [])}


def test_without_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = captures.path_of("6.12/x-idle", tmp_path)
    assert main(["view", str(path)]) == 2
    assert "decode" in capsys.readouterr().err
    assert main(["view"]) == 2


class Terminal:
    """A real terminal with the command in it."""

    def __init__(self, *arguments: str, width: int = 100, **environment: str) -> None:
        self._ours, theirs = os.openpty()
        self.resize(width, 30)
        variables = {
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            **{k: v for k, v in os.environ.items() if k in ("PATH", "HOME")},
            **environment,
        }
        command = [sys.executable, "-P", "-m", "ptttool", "view", *arguments]
        self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=variables, start_new_session=True)
        os.close(theirs)
        self.shown = b""

    def resize(self, width: int, height: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def until(self, text: str) -> None:
        """Wait until this text was written."""
        end = time.monotonic() + 60
        while text.encode() not in self.shown:
            ready, _, _ = select.select([self._ours], [], [], 1)
            try:
                self.shown += os.read(self._ours, 1 << 16) if ready else b""
            except OSError:
                break
            assert time.monotonic() < end, self.shown[-2000:]
        assert text.encode() in self.shown, self.shown[-2000:]

    def end(self) -> int:
        while self.process.poll() is None:
            ready, _, _ = select.select([self._ours], [], [], 0.1)
            try:
                self.shown += os.read(self._ours, 1 << 16) if ready else b""
            except OSError:
                self.process.wait(30)
        os.close(self._ours)
        return self.process.returncode


def test_on_a_terminal(tmp_path: Path) -> None:
    path = captures.path_of("workloads/w-randread-4dw", tmp_path)
    terminal = Terminal(str(path), "--at", "1233")
    terminal.until("TLP 1,233 of")
    terminal.resize(60, 20)
    os.kill(terminal.process.pid, signal.SIGWINCH)
    terminal.press("G")
    terminal.until("TLP 141,927 of")
    terminal.press("q")
    assert terminal.end() == 0
    assert b"\x1b[?1049l" in terminal.shown  # the terminal is as it was


def test_it_is_drawn_anew_when_it_goes_on(tmp_path: Path) -> None:
    terminal = Terminal(str(captures.path_of("6.12/m-4dw-port10-type7-dir2", tmp_path)))
    terminal.until("TLP 0 of")
    terminal.press("\x1a")
    terminal.until("\x1b[?1049l")
    terminal.shown = b""
    time.sleep(0.5)
    os.kill(terminal.process.pid, signal.SIGCONT)
    terminal.until("ptttool view")
    terminal.until("Quit")
    terminal.press("q")
    assert terminal.end() == 0


def test_ascii_and_no_colour(tmp_path: Path) -> None:
    path = captures.path_of("workloads/w-randread-4dw", tmp_path)
    terminal = Terminal(str(path), LANG="C", LC_ALL="C", NO_COLOR="1")
    terminal.until("TLP 0 of 141,928")
    terminal.press("q")
    assert terminal.end() == 0
    text = terminal.shown.decode()
    assert not {letter for letter in text if letter in "▁▂▃▄▅▆▇█…"}
    assert not re.search(r"\x1b\[[0-9;]*(?:38;|48;|[349][0-7]m)", text)


@pytest.mark.parametrize("kind", ["dumb", ""])
def test_a_terminal_that_cannot_do_it(kind: str, tmp_path: Path) -> None:
    terminal = Terminal(str(captures.path_of("6.12/x-idle", tmp_path)), TERM=kind)
    assert terminal.end() == 2
    assert b"terminal" in terminal.shown


def test_a_folder_and_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty.data").touch()
    for path in (tmp_path, tmp_path / "empty.data", tmp_path / "missing.data"):
        assert Terminal(str(path)).end() == 6
