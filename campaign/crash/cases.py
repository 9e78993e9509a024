"""The commands that are killed and disturbed: the folder they run in, their outputs, and what must hold afterwards."""

from __future__ import annotations

import io
import json
import lzma
import os
import re
import shutil
import stat
import tarfile
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from campaign.crash.client import REPOSITORY, Ended, Job
from campaign.crash.events import Event, Kind, Point
from ptttool.errors import ExitCode

MACHINE = REPOSITORY / "fixtures" / "machines" / "kunpeng-6.12"
RECORDINGS = REPOSITORY / "ptttool" / "demo" / "recordings"
STANDIN = REPOSITORY / "tests" / "standin"
TUNE = "sys/devices/platform/4010000000.pcie/pci0000:00/*/hisi_ptt*/tune/*"


State: TypeAlias = dict[str, tuple[int, bytes]]
"""Files by path relative to the folder, with mode and content; an empty folder has the content ``b""``."""

Runner: TypeAlias = Callable[[Job], Ended]
"""Runs a job."""


def files_below(folder: Path, without: Sequence[str] = ()) -> State:
    """Read every file and every empty folder below a folder, except the named entries of the folder itself."""
    found: State = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name.split("/", 1)[0] in without:
            continue
        if path.is_symlink() or path.is_file():
            data = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()  # noqa: PTH115
            found[name] = (stat.S_IMODE(path.lstat().st_mode), data)
        elif not any(path.iterdir()):
            found[name + "/"] = (stat.S_IMODE(path.lstat().st_mode), b"")
    return found


def without_time(profile: bytes) -> bytes:
    """Leave out the comments of a tune profile, which hold the time."""
    return b"".join(line for line in profile.splitlines(keepends=True) if not line.startswith(b"#"))


def members(archive: bytes) -> bytes:
    """Return what is in a tar archive, without times; what is no whole archive, as it is."""
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            files = {one: tar.extractfile(one) for one in tar}
            found = [(one.name, one.mode, one.linkname, file.read() if file else b"") for one, file in files.items()]
    except (tarfile.TarError, EOFError, OSError):
        return archive
    return re.sub(rb'"(collected|of)": [^,}]*', b"", repr(found).encode())  # when, and of which folder


def rows(table: bytes) -> bytes:
    """Return the rows of a sweep without times; what is no whole table, as it is."""
    import polars

    try:
        return repr(polars.read_parquet(table).drop("seconds", "started").rows()).encode()
    except polars.exceptions.PolarsError:
        return table


TOLD: dict[str, Callable[[bytes], bytes]] = {".toml": without_time, ".gz": members}
"""How outputs are compared, by suffix."""


class Case(ABC):
    """A command in a folder.

    Parameters
    ----------
    name : str
        Its name in the report.
    arguments : Sequence of str
        The command line.
    again : Sequence of str or None
        The next run; None: the same command line.
    """

    machine: str | None = None

    def __init__(self, name: str, arguments: Sequence[str], again: Sequence[str] | None = None) -> None:
        self.name = name
        self.arguments = arguments
        self.again = arguments if again is None else again

    @abstractmethod
    def build(self, folder: Path) -> None:
        """Fill an empty folder with what never changes."""

    @abstractmethod
    def reset(self, folder: Path) -> None:
        """Put what changes into the state before the command."""

    @abstractmethod
    def outputs(self, folder: Path) -> State:
        """Read what has to be old or new."""

    @abstractmethod
    def leftovers(self, folder: Path) -> set[str]:
        """Name what is there beside inputs and outputs."""

    def environment(self, folder: Path) -> dict[str, str]:
        """Return the variables for a run: locks and journal are in the folder, too."""
        return {"PTTTOOL_RUNTIME_DIR": str(folder / "run"), "PTTTOOL_STATE_DIR": str(folder / "kept")}

    def prime(self, folder: Path, run: Runner) -> None:  # noqa: B027 - most need nothing
        """Run what has to be run once before the command can be."""

    def concerns(self, point: Point) -> bool:
        """Tell whether a point is run."""
        return True

    def job(self, folder: Path, arguments: Sequence[str], point: Point | None = None) -> Job:
        """Describe a run, with the event of a point."""
        job = Job(folder, arguments, machine=folder / self.machine if self.machine else None, environment=self.environment(folder))
        if point is None:
            return job
        return replace(job, mode=point.event.mode, at=point.call.number, error=point.event.error)

    def following(self, folder: Path) -> Sequence[str]:
        """Return the next run."""
        return self.again

    def repair(self, folder: Path, point: Point, old: State, new: State, run: Runner) -> list[str]:
        """Do what an administrator is told to do after a kill, before the next run; return what was wrong."""
        return []

    def may_leave(self, point: Point) -> bool:
        """Tell whether a fault prevents tidying up: the removal itself fails."""
        return point.event is Event.EIO and point.call.kind is Kind.REMOVE

    def lacks(self, point: Point, now: State, new: State) -> bool:
        """Tell whether an output is whole, and says that it lacks what could not be read."""
        return False

    def judge(self, folder: Path, point: Point, ended: Ended, old: State, new: State, run: Runner) -> list[str]:
        """Return what is wrong after an event."""
        wrong = judge_report(point, ended)
        if point.event is Event.KILL:
            wrong += self.repair(folder, point, old, new, run)
        now = self.outputs(folder)
        lacks = point.event is Event.EIO and ended.status == 0 and self.lacks(point, now, new)
        if now not in (old, new) and not lacks:
            wrong.append(f"neither old nor new: {describe(now, old, new)}")
        elif point.event is not Event.KILL and ended.status == 0 and now != new and not lacks:
            wrong.append("exit code 0, and the output is the old one")
        # Removing the old one may have failed, which is reported.
        if point.event is not Event.KILL and now != new and not self.may_leave(point) and (left := self.leftovers(folder)):
            wrong.append(f"left behind: {', '.join(sorted(left))}")
        after = run(self.job(folder, self.following(folder)))
        if after.status != 0:
            wrong.append(f"the next run: exit code {after.status}: {after.err.strip()}")
        elif (now := self.outputs(folder)) != new:
            wrong.append(f"after the next run: {describe(now, old, new)}")
        elif left := self.leftovers(folder):
            wrong.append(f"left behind after the next run: {', '.join(sorted(left))}")
        return wrong


def judge_report(point: Point, ended: Ended) -> list[str]:
    """Check exit code and messages of a run."""
    wrong = []
    if ended.late:
        wrong.append("it did not end")
    if point.event is Event.KILL:
        if ended.status != -9:
            wrong.append(f"it was not killed: {ended.status}")
        return wrong
    if ended.status in (1, 70) or not 0 <= ended.status < 128:
        wrong.append(f"exit code {ended.status}")
    if "Traceback" in ended.err or "Exception ignored" in ended.err:
        wrong.append(f"a traceback: {ended.err.strip()[-600:]}")
    errors = ended.err.count("ptttool: error: ")
    if errors != (1 if ended.status else 0):
        wrong.append(f"{errors} errors for exit code {ended.status}: {ended.err.strip()[:300]}")
    # Of two runs a call may be missing, and then the next one was disturbed.
    meant = not ended.calls or point.event.concerns(ended.calls[0])
    if point.event in (Event.EINTR, Event.SHORT) and meant and ended.status != 0:
        wrong.append(f"an interrupted or short call is an error: {ended.err.strip()[:300]}")
    return wrong


def describe(now: State, old: State, new: State) -> str:
    """Say where a state differs from the old and the new one."""
    parts = []
    for word, state in (("old", old), ("new", new)):
        names = sorted(name for name in now.keys() | state.keys() if now.get(name) != state.get(name))
        parts.append(f"differs from {word} in {', '.join(names) or 'nothing'}")
    return "; ".join(parts)


class FileCase(Case):
    """A command that writes one file, or one folder, beside its input.

    Parameters
    ----------
    output : str
        The output's name.
    before : bytes or None
        What is there before; None: nothing.
    fill : Callable or None
        Makes the input, once.
    lack : bytes or None
        Regular expression of what an output says of each thing that could not be read; None: it lacks nothing.
    """

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        *,
        output: str,
        again: Sequence[str] | None = None,
        before: Callable[[Path], None] | None = None,
        fill: Callable[[Path], None] | None = None,
        machine: bool = False,
        lack: bytes | None = None,
    ) -> None:
        super().__init__(name, arguments, [*arguments, "--force"] if again is None else again)
        self._output, self._before, self._fill, self._lack = output, before, fill, lack
        self.machine = "machine" if machine else None

    def build(self, folder: Path) -> None:
        if self.machine:
            shutil.copytree(MACHINE, folder / self.machine, symlinks=True)
        if self._fill is not None:
            self._fill(folder)
        (folder / "work").mkdir()

    def reset(self, folder: Path) -> None:
        shutil.rmtree(folder / "work")
        (folder / "work").mkdir()
        if self._before is not None:
            self._before(folder / "work" / self._output)

    def outputs(self, folder: Path) -> State:
        found = {name: self._told(each) for name, each in self._all(folder).items() if self._is_output(name)}
        place = folder / "work" / self._output
        if not found and place.is_dir():  # nothing in it, or nothing but what is hidden
            found[f"{self._output}/"] = (stat.S_IMODE(place.stat().st_mode), b"")
        return found

    def leftovers(self, folder: Path) -> set[str]:
        return {name for name in self._all(folder) if not self._is_output(name) and name != f"{self._output}/"}

    def following(self, folder: Path) -> Sequence[str]:
        place = folder / "work" / self._output
        if place.is_dir() and any(place.iterdir()):  # it is not replaced
            shutil.rmtree(place)
        return self.again

    def _all(self, folder: Path) -> State:
        return files_below(folder / "work")

    def _is_output(self, name: str) -> bool:
        inside = name.removeprefix(f"{self._output}/")
        return name == self._output or (inside not in ("", name) and not inside.startswith("."))

    def lacks(self, point: Point, now: State, new: State) -> bool:
        if self._lack is None or "/work/" in point.call.path or now.keys() != new.keys():
            return False
        said = [sum(len(re.findall(self._lack, data, re.MULTILINE)) for _, data in state.values()) for state in (now, new)]
        return said[0] > said[1]

    def _told(self, file: tuple[int, bytes]) -> tuple[int, bytes]:
        told = TOLD.get(Path(self._output).suffix)
        return (file[0], told(file[1])) if told else file


class ApplyCase(Case):
    """``tune apply``: the outputs are the values of all tune attributes.

    A kill leaves some old and some new; what "tune recover" does then depends on the point: it restores, or completes, or is not run,
    and the next "tune apply" does all of it.
    """

    machine = "machine"
    repairs: tuple[str | None, ...] = ("--restore", "--complete", None)

    def build(self, folder: Path) -> None:
        shutil.copytree(MACHINE, folder / "machine", symlinks=True)
        (folder / "kept").mkdir(mode=0o700)
        lines = ["version = 1"]
        for attribute in sorted((folder / "machine").glob(TUNE)):
            if f"[devices.{attribute.parent.parent.name}]" not in lines:
                lines.append(f"[devices.{attribute.parent.parent.name}]")
            lines.append(f"{attribute.name} = 2")
        (folder / "profile.toml").write_text("\n".join(lines) + "\n")

    def reset(self, folder: Path) -> None:
        for name in ("kept", "run"):
            shutil.rmtree(folder / name, ignore_errors=True)
            (folder / name).mkdir(mode=0o700)
        for attribute in (folder / "machine").glob(TUNE):
            attribute.write_text("1\n")

    def outputs(self, folder: Path) -> State:
        return {f"{path.parent.parent.name}/{path.name}": (0, path.read_bytes()) for path in (folder / "machine").glob(TUNE)}

    def may_leave(self, point: Point) -> bool:
        return "/kept/" in point.call.path  # the journal cannot be written: the next run closes it

    def leftovers(self, folder: Path) -> set[str]:
        return {path.name for path in (folder / "kept").rglob("*") if path.is_file() and path.suffix != ".closed"}

    def repair(self, folder: Path, point: Point, old: State, new: State, run: Runner) -> list[str]:
        now = self.outputs(folder)
        half = now not in (old, new)
        looked = run(self.job(folder, ["tune", "recover"]))
        if looked.status not in ((1,) if half else (0, 1)):
            return [f"half done, and tune recover ends with {looked.status}: {looked.err.strip()}"]
        what = self.repairs[point.call.number % len(self.repairs)]
        done = run(self.job(folder, ["tune", "recover", what] if what else self.following(folder)))
        if done.status != 0:
            return [f"tune recover {what}: exit code {done.status}: {done.err.strip()}"]
        wanted = old if what == "--restore" else new
        if half and self.outputs(folder) != wanted:
            return [f"after tune recover {what}: {describe(self.outputs(folder), old, new)}"]
        left = run(self.job(folder, ["tune", "recover"]))
        return [] if left.status == 0 else [f"recovered, and tune recover ends with {left.status}"]


class RecoverCase(ApplyCase):
    """``tune recover`` after a ``tune apply`` that was killed in the middle: killed itself, it is run once more."""

    def prime(self, folder: Path, run: Runner) -> None:
        apply = ["tune", "apply", "profile.toml"]
        super().reset(folder)
        calls = run(self.job(folder, apply)).calls
        written = [call for call in calls if call.kind is Kind.WRITE and "/tune/" in call.path]
        super().reset(folder)
        run(self.job(folder, apply, Point(Event.KILL, written[len(written) // 2])))
        shutil.copytree(folder / "kept", folder / "primed")
        (folder / "values.json").write_text(json.dumps({name: data.decode() for name, (_, data) in self.outputs(folder).items()}))

    def reset(self, folder: Path) -> None:
        super().reset(folder)
        shutil.rmtree(folder / "kept")
        shutil.copytree(folder / "primed", folder / "kept")
        values = json.loads((folder / "values.json").read_text())
        for attribute in (folder / "machine").glob(TUNE):
            attribute.write_text(values[f"{attribute.parent.parent.name}/{attribute.name}"])

    def may_leave(self, point: Point) -> bool:
        return True  # it was not recovered

    def judge(self, folder: Path, point: Point, ended: Ended, old: State, new: State, run: Runner) -> list[str]:
        if point.event is Event.EIO and ended.status == 1:  # an attribute that cannot be read is left alone, and that is reported
            wrong = [] if "cannot be read" in ended.err else [f"exit code 1 without a reason: {ended.err.strip()}"]
            run(self.job(folder, self.again))
            return wrong if self.outputs(folder) == new else [*wrong, f"after the next run: {describe(self.outputs(folder), old, new)}"]
        return super().judge(folder, point, ended, old, new, run)

    def repair(self, folder: Path, point: Point, old: State, new: State, run: Runner) -> list[str]:
        done = run(self.job(folder, self.again))
        return [] if done.status == 0 else [f"once more: exit code {done.status}: {done.err.strip()}"]


class UndoCase(ApplyCase):
    """``tune undo`` of a ``tune apply``; it is refused as long as a change is half done."""

    repairs = ("--restore", "--complete")

    def prime(self, folder: Path, run: Runner) -> None:
        super().reset(folder)
        run(self.job(folder, ["tune", "apply", "profile.toml"]))
        shutil.copytree(folder / "kept", folder / "primed")

    def reset(self, folder: Path) -> None:
        super().reset(folder)
        shutil.rmtree(folder / "kept")
        shutil.copytree(folder / "primed", folder / "kept")
        for attribute in (folder / "machine").glob(TUNE):
            attribute.write_text("2\n")

    def following(self, folder: Path) -> Sequence[str]:
        # Once more would go further back.
        undone = all(data.strip() == b"1" for _, data in self.outputs(folder).values())
        return ["tune", "recover", "--complete"] if undone else self.again


class SweepCase(ApplyCase):
    """``tune sweep``: the tune attributes have their original values, and the results are there, or the runs so far."""

    _results = "work/r.parquet"

    def reset(self, folder: Path) -> None:
        super().reset(folder)
        shutil.rmtree(folder / "work", ignore_errors=True)
        (folder / "work").mkdir()

    def outputs(self, folder: Path) -> State:
        results = folder / self._results
        found = {self._results: (0, rows(results.read_bytes()))} if results.exists() else {}
        return {**super().outputs(folder), **found}

    def leftovers(self, folder: Path) -> set[str]:
        # The runs so far are what the next run goes on with.
        kept = {self._results, f"{self._results}.runs"} if not (folder / self._results).exists() else {self._results}
        beside = {f"work/{name}" for name in files_below(folder / "work")}
        return (super().leftovers(folder) | beside) - kept

    def following(self, folder: Path) -> Sequence[str]:
        log = f"{self._results}.runs"
        has_begun = (folder / log).exists() and (folder / log).stat().st_size
        more = ["--resume", log, "--force"] if has_begun else ["--force"]
        return [*self.arguments[:2], *more, *self.arguments[2:]]

    def may_leave(self, point: Point) -> bool:
        # The disk stays full: values are restored, and the journal cannot be closed before the next run.
        return point.event is Event.ENOSPC or super().may_leave(point)

    def judge(self, folder: Path, point: Point, ended: Ended, old: State, new: State, run: Runner) -> list[str]:
        if point.event is Event.EIO and ended.status == ExitCode.HARDWARE:  # a value could not be restored, and that is reported
            wrong = [*judge_report(point, ended), *self.repair(folder, point, old, new, run)]
            run(self.job(folder, self.following(folder)))
            now = self.outputs(folder)
            return wrong if now == new else [*wrong, f"after the next run: {describe(now, old, new)}"]
        return super().judge(folder, point, ended, old, new, run)

    def repair(self, folder: Path, point: Point, old: State, new: State, run: Runner) -> list[str]:
        looked = run(self.job(folder, ["tune", "recover"]))
        if looked.status not in (0, 1):
            return [f"tune recover ends with {looked.status}: {looked.err.strip()}"]
        done = run(self.job(folder, ["tune", "recover", "--restore"])) if looked.status else looked
        return [] if done.status == 0 else [f"tune recover --restore: exit code {done.status}: {done.err.strip()}"]


class InstallCase(FileCase):
    """``tune export --install``: the rule is there or not, and the next run knows it; the record and folders are beside it.

    Parameters
    ----------
    removes : bool
        Whether it is installed before, and is removed.
    """

    def __init__(self, name: str, option: str) -> None:
        self._removes = option == "--uninstall"
        words = ["tune", "export", *([] if self._removes else ["storage"]), option, "--yes", "--root", "work"]
        super().__init__(name, words, output=RULE, again=words, machine=True)

    def prime(self, folder: Path, run: Runner) -> None:
        if self._removes:
            run(self.job(folder, INSTALL))
            shutil.copytree(folder / "work", folder / "installed")

    def reset(self, folder: Path) -> None:
        super().reset(folder)
        if self._removes:
            shutil.copytree(folder / "installed", folder / "work", dirs_exist_ok=True)

    def leftovers(self, folder: Path) -> set[str]:
        found = files_below(folder / "work")
        known = {RULE, RECORD} if RULE in found or not self._removes else set()
        return {name for name in found if name not in known and not name.endswith("/")}

    def may_leave(self, point: Point) -> bool:
        return True  # the record is written before, and removed afterwards: the next run needs it

    def following(self, folder: Path) -> Sequence[str]:
        return ["list"] if self._removes and not (folder / "work" / RECORD).exists() else self.again


RULE = "etc/udev/rules.d/90-ptttool-tune.rules"
RECORD = "var/lib/ptttool/installed/udev.json"
INSTALL = ["tune", "export", "storage", "--install", "--yes", "--root", "work"]


class TraceCase(Case):
    """``trace`` with the stand-in perf: no byte of the old or the new recording may be lost.

    Parameters
    ----------
    old : bool
        Whether there is a recording already.
    """

    machine = "machine"

    def __init__(self, name: str, *, old: bool) -> None:
        super().__init__(
            name, ["trace", "--rootport", "0000:00:10.0", "--format", "8dw", "--duration", "0.1", "--force", "-o", "work/perf.data"]
        )
        self._old = lzma.decompress((RECORDINGS / "m-4dw-port10-type1-dir1.data.xz").read_bytes()) if old else None
        self._new = lzma.decompress((RECORDINGS / "m-8dw-port10-type7-dir2.data.xz").read_bytes())

    def build(self, folder: Path) -> None:
        shutil.copytree(MACHINE, folder / "machine", symlinks=True)
        (folder / "work").mkdir()

    def reset(self, folder: Path) -> None:
        shutil.rmtree(folder / "work")
        (folder / "work").mkdir()
        if self._old is not None:
            (folder / "work" / "perf.data").write_bytes(self._old)
            (folder / "work" / "perf.data.ptttool.json").write_text('{"version": 1}')

    def concerns(self, point: Point) -> bool:
        return "/machine/" not in point.call.path  # tune attributes are read for the sidecar; "tune apply" has those points

    def environment(self, folder: Path) -> dict[str, str]:
        return {**super().environment(folder), "PATH": f"{STANDIN}:{os.environ['PATH']}", "STANDIN_CASE": "good"}

    def outputs(self, folder: Path) -> State:
        return {name: (0, data) for name, (_, data) in files_below(folder / "work").items() if name in ("perf.data", "perf.data.old")}

    def leftovers(self, folder: Path) -> set[str]:
        return set(files_below(folder / "work")) - set(NAMED)

    def judge(self, folder: Path, point: Point, ended: Ended, old: State, new: State, run: Runner) -> list[str]:
        wrong = judge_report(point, ended)
        now = files_below(folder / "work")
        contents = [data for _, data in now.values()]
        if self._old is not None and self._old not in contents:
            wrong.append("the old recording is lost")
        named = now.get("perf.data", (0, b""))[1]
        if named and named not in (self._old, self._new):
            wrong.append(f"perf.data is neither old nor new: {len(named)} bytes")
        if ended.status == 0 and named != self._new:
            wrong.append("exit code 0, and perf.data is not the new recording")
        unfinished = [data for name, (_, data) in now.items() if name not in NAMED and data.startswith(b"PERFILE2")]
        if unfinished and self._new not in (*unfinished, named):
            wrong.append("perf finished, and its recording is damaged")
        if point.event is not Event.KILL and unfinished and ended.status == 0:
            wrong.append("exit code 0, and an unfinished recording is left")
        wrong += self._judge_sidecar(folder)
        if unfinished:
            wrong += self._recover(folder, run)
        after = run(self.job(folder, self.again))
        if after.status != 0:
            wrong.append(f"the next run: exit code {after.status}: {after.err.strip()}")
        elif self.outputs(folder).get("perf.data", (0, b""))[1] != self._new:
            wrong.append("the next run did not record")
        recovered = run(self.job(folder, ["recover", "work"]))
        if recovered.status != 0:
            wrong.append(f"recover: exit code {recovered.status}: {recovered.err.strip()}")
        left = [name for name in files_below(folder / "work") if RECOVERED.fullmatch(name) is None]
        if left:
            wrong.append(f"left behind after the next run and recover: {', '.join(sorted(left))}")
        contents = [data for _, data in files_below(folder / "work").values()]
        if unfinished and self._new in unfinished and contents.count(self._new) < 2:
            wrong.append("the recording of the killed run is lost")
        return wrong

    def _recover(self, folder: Path, run: Runner) -> list[str]:
        """Have the unfinished recording found; "recover" gives it a name beside the recording that is there."""
        done = run(self.job(folder, ["recover", "work/perf.data"]))
        named = [data for name, (_, data) in files_below(folder / "work").items() if not name.endswith((".part", ".json"))]
        if done.status != 0:
            return [f"recover: exit code {done.status}: {done.err.strip()}"]
        return [] if self._new in named else ["recover did not give the new recording a name"]

    def _judge_sidecar(self, folder: Path) -> list[str]:
        for path in (folder / "work").glob("*.ptttool.json"):
            try:
                json.loads(path.read_bytes())
            except ValueError:
                return [f"{path.name} is half written"]
        return []


class SeriesCase(TraceCase):
    """``trace`` of a series: each recording is whole or has an unfinished name, and their list can be read."""

    def __init__(self, name: str) -> None:
        super().__init__(name, old=False)
        self.arguments, self.again = [*SERIES, "work/perf.data"], [*SERIES, "work/next.data"]

    def outputs(self, folder: Path) -> State:
        return {
            name: (0, data) for name, (_, data) in files_below(folder / "work").items() if re.fullmatch(r"perf\.\d-[a-z-]+\.data", name)
        }

    def judge(self, folder: Path, point: Point, ended: Ended, old: State, new: State, run: Runner) -> list[str]:
        wrong = judge_report(point, ended)
        now, before = self.outputs(folder), [data for _, data in files_below(folder / "work").values()]
        wrong += [f"{name} is half a recording" for name in now if now[name] != new[name]]
        if ended.status == 0 and now != new:
            wrong.append(f"exit code 0: {describe(now, old, new)}")
        for path in (folder / "work").glob("*.json"):
            try:
                json.loads(path.read_bytes())
            except ValueError:
                wrong.append(f"{path.name} is half written")
        for words in (["recover", "work"], self.again, ["recover", "work"]):
            done = run(self.job(folder, words))
            if done.status != 0:
                wrong.append(f"{words[0]}: exit code {done.status}: {done.err.strip()}")
        after = files_below(folder / "work")
        if left := [name for name in after if IN_SERIES.fullmatch(name) is None]:
            wrong.append(f"left behind after the next run and recover: {', '.join(sorted(left))}")
        contents = [data for _, data in after.values()]
        if any(contents.count(whole) < before.count(whole) + 1 for _, whole in new.values()):
            wrong.append("a recording is lost")
        return wrong


class UnfinishedCase(Case):
    """``recover`` of a recording that a killed run has left: it has its old or its new name, and never both or none."""

    def __init__(self) -> None:
        super().__init__("recover a recording", ["recover", "work"])
        self._data = lzma.decompress((RECORDINGS / "m-8dw-port10-type7-dir2.data.xz").read_bytes())

    def build(self, folder: Path) -> None:
        (folder / "work").mkdir()

    def reset(self, folder: Path) -> None:
        shutil.rmtree(folder / "work")
        (folder / "work").mkdir()
        (folder / "work" / LEFT).write_bytes(self._data)
        (folder / "work" / f"{LEFT}.ptttool.json").write_text(unfinished_sidecar())

    def outputs(self, folder: Path) -> State:
        return {name: one for name, one in files_below(folder / "work").items() if name in (LEFT, "perf.data")}

    def leftovers(self, folder: Path) -> set[str]:
        # The sidecar comes after the recording.
        beside = {f"{name}.ptttool.json" for name in (LEFT, "perf.data")}
        return set(files_below(folder / "work")) - {LEFT, "perf.data"} - beside

    def judge(self, folder: Path, point: Point, ended: Ended, old: State, new: State, run: Runner) -> list[str]:
        wrong = super().judge(folder, point, ended, old, new, run)
        if not wrong and (left := set(files_below(folder / "work")) - {"perf.data", "perf.data.ptttool.json"}):
            wrong.append(f"left behind at the end: {', '.join(sorted(left))}")
        return wrong


LEFT = f"perf.data.{'0' * 16}.part"


def unfinished_sidecar() -> str:
    """Return what ``trace`` writes beside an unfinished recording."""
    from ptttool.capture.sidecar import Sidecar, part_of, save
    from ptttool.machine.discovery import read_machine
    from ptttool.machine.sources.recorded import DemoSource

    machine = read_machine(DemoSource())
    with tempfile.TemporaryDirectory() as folder:
        recording = Path(folder, "x")
        recording.write_bytes(b"")
        known = Sidecar(machine=part_of(machine, machine.devices[0]))
        return save(recording, known, name="perf.data", finished=False).read_text(encoding="utf-8")


SERIES = ["trace", "--rootport", "0000:00:10.0", "--direction", "outbound", "--type", "p,np", "--duration", "0.1", "-o"]
IN_SERIES = re.compile(r"(perf|next)\.(series\.json|\d-[a-z-]+\.data(\.old|\.[1-9])?(\.ptttool\.json)?)")

# What recover names: the wanted name is taken by the next run.
RECOVERED = re.compile(r"perf\.data(\.old|\.[1-9])?(\.ptttool\.json)?")
NAMED = ("perf.data", "perf.data.old", "perf.data.ptttool.json", "perf.data.old.ptttool.json")


def recording(folder: Path) -> None:
    """Unpack a bundled recording of a few thousand TLPs as ``in.data``."""
    (folder / "in.data").write_bytes(lzma.decompress((RECORDINGS / "m-4dw-port10-type7-dir2.data.xz").read_bytes()))


def old_file(path: Path) -> None:
    """Write a file that is to be replaced."""
    path.write_bytes(b"the old one\n" * 1000)
    path.chmod(0o640)


DECODE = ["decode", "in.data", "--jobs", "1"]
COLLECT = ["collect", "-o", "work/out.tar.gz"]
METRICS = ["metrics", "-o", "work/out.prom"]
SWEPT = "machine/sys/bus/event_source/devices/hisi_ptt0_0/tune/qos_tx_p"
SWEEP = ["tune", "sweep", "--device", "0_0", "--events", "qos_tx_p", "--values", "0,2", "--rounds", "1", "--seed", "1",
         "--metric", "rate=([0-9]+)", "-o", "work/r.parquet", "--", "sh", "-c", f"echo rate=$(cat {SWEPT})"]  # fmt: skip
GENERATE = ["generate", "--size", "1M"]


def all_cases() -> list[Case]:
    """Return the cases in the order of the report."""
    return [
        FileCase("decode to CSV", [*DECODE, "-o", "work/out.csv"], output="out.csv", fill=recording),
        FileCase("decode to CSV, --force", [*DECODE, "-o", "work/out.csv", "--force"], output="out.csv", fill=recording,
                 before=old_file, again=[*DECODE, "-o", "work/out.csv", "--force"]),
        FileCase("decode to Parquet", [*DECODE, "-o", "work/out.parquet"], output="out.parquet", fill=recording),
        FileCase("decode to Parquet, --force", [*DECODE, "-o", "work/out.parquet", "--force"], output="out.parquet", fill=recording,
                 before=old_file, again=[*DECODE, "-o", "work/out.parquet", "--force"]),
        FileCase("decode to Arrow", [*DECODE, "-o", "work/out.arrow"], output="out.arrow", fill=recording),
        FileCase("decode to JSON lines", [*DECODE, "-o", "work/out.jsonl"], output="out.jsonl", fill=recording),
        FileCase("decode to a folder", [*DECODE, "-o", "work/out/"], output="out", fill=recording),
        FileCase("decode to an empty folder", [*DECODE, "-o", "work/out/"], output="out", fill=recording, before=Path.mkdir),
        FileCase("decode to a folder, two processes", [*DECODE[:-1], "2", "-o", "work/out/"], output="out", fill=recording),
        FileCase("decode to pcapng", [*DECODE, "-o", "work/out.pcapng"], output="out.pcapng", fill=recording),
        FileCase("decode to Perfetto", [*DECODE, "--to", "perfetto", "-o", "work/out.pftrace"], output="out.pftrace", fill=recording),
        FileCase("report", ["report", "in.data", "--jobs", "1", "-o", "work/out.html"], output="out.html", fill=recording),
        FileCase("metrics", METRICS, output="out.prom", again=METRICS, before=old_file, machine=True,
                 lack=rb'readable{.*} 0$|"unknown"} 1$|"registers",status="warning"} 1$'),
        FileCase("collect", COLLECT, output="out.tar.gz", machine=True, lack=rb'/tune/[^"]*": 5'),
        FileCase("generate", [*GENERATE, "-o", "work/new.data"], output="new.data"),
        FileCase("generate, --force", [*GENERATE, "-o", "work/new.data", "--force"], output="new.data", before=old_file,
                 again=[*GENERATE, "-o", "work/new.data", "--force"]),
        FileCase("tune save", ["tune", "save", "work/now.toml"], output="now.toml", machine=True),
        FileCase("tune save, --force", ["tune", "save", "work/now.toml", "--force"], output="now.toml", machine=True, before=old_file,
                 again=["tune", "save", "work/now.toml", "--force"]),
        InstallCase("tune export --install", "--install"),
        InstallCase("tune export --uninstall", "--uninstall"),
        ApplyCase("tune apply", ["tune", "apply", "profile.toml"]),
        ApplyCase("tune set", ["tune", "set", "--all", "qos_tx_p=2", "qos_tx_np=0"]),
        UndoCase("tune undo", ["tune", "undo"]),
        SweepCase("tune sweep", SWEEP),
        RecoverCase("tune recover --restore", ["tune", "recover", "--restore"]),
        RecoverCase("tune recover --complete", ["tune", "recover", "--complete"]),
        TraceCase("trace", old=False),
        TraceCase("trace over a recording", old=True),
        SeriesCase("trace a series"),
        UnfinishedCase(),
    ]  # fmt: skip
