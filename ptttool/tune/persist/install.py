"""Install what makes a profile permanent, and remove exactly that again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import ClassVar

from msgspec import Struct, field
from msgspec.structs import replace

from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import document
from ptttool.errors import OutputError, PtttoolError, UsageError
from ptttool.files.locks import hold
from ptttool.tune.persist.contract import TARGETS, PermanentFile
from ptttool.tune.persist.export import Export
from ptttool.tune.persist.record import VERSION, Installed, digest, read_record, remove_record, write_record
from ptttool.tune.persist.rooted import Rooted

# Seconds to wait for another process that installs.
WAIT = 5.0


class InstallPlan(Struct, frozen=True):
    """What installing writes.

    Parameters
    ----------
    export : Export
        What is installed.
    root : Path
        Below which folder.
    write : tuple of PermanentFile
        Files that are not there yet.
    replace : tuple of PermanentFile
        Files that replace ones that were installed before, and were not changed since.
    same : tuple of PermanentFile
        Files that are there as they are to be.
    remove : tuple of str
        Paths of files that were installed before, and are not needed any more.
    diagnostics : tuple of Diagnostic
        What was odd.
    """

    export: Export
    root: Path
    write: tuple[PermanentFile, ...] = ()
    replace: tuple[PermanentFile, ...] = ()
    same: tuple[PermanentFile, ...] = ()
    remove: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def is_needed(self) -> bool:
        """False if everything is installed already."""
        return bool(self.write or self.replace or self.remove)


@document("tune-uninstall")
class UninstallPlan(Struct, frozen=True):
    """What was removed again.

    Parameters
    ----------
    target : str
        What set the values.
    profile : str
        Name of the profile, in plain letters.
    root : Path
        Below which folder.
    remove : tuple of str
        Files that were as they had been installed.
    changed : tuple of str
        Files that were changed since: they stay.
    gone : tuple of str
        Files that were not there any more.
    folders : tuple of str
        Folders that were created, the outermost first.
    """

    json_hides: ClassVar = ("folders",)

    target: str
    profile: str
    root: Path
    remove: tuple[str, ...] = field(name="removed")
    changed: tuple[str, ...]
    gone: tuple[str, ...]
    folders: tuple[str, ...]


def installing(root: Path) -> AbstractContextManager[Path]:
    """Install or remove alone: another process waits for some seconds, then is refused. Raises BusyError, AccessError."""
    return hold("tune-install", purpose="tune export", subject=f"what is installed below {root}", wait=WAIT)


def plan_install(export: Export, root: Path) -> InstallPlan:
    """Look at what installing would write; write nothing.

    Raises
    ------
    UsageError
        ``not-installable``: the files belong to another machine.
    OutputError
        ``exists``: a file is there that was not installed by ptttool, or was changed since.
    AccessError, InputError
        A folder of a path is not safe; the record of what was installed is damaged.
    """
    if not export.installable:
        hint = f"write it to a file: ptttool tune export --to {export.target} … > {export.files[0].path}"
        raise UsageError(f"what is for {export.target} is not installed on this machine", hint=hint, code="not-installable")
    if not root.is_dir():
        raise OutputError(f"{root}: not a folder", hint="--root names the root of a system", code="no-such-folder")
    files, before = Rooted(root), read_record(root, export.target)
    digests = {} if before is None else before.files
    new: list[PermanentFile] = []
    replaced: list[PermanentFile] = []
    same: list[PermanentFile] = []
    for file in export.files:
        on_disk = _digest_at(files, file.path)
        if on_disk is None:
            new.append(file)
        elif on_disk == digest(file.text.encode(), file.is_link):
            same.append(file)
        elif on_disk in digests.get(file.path, ()):
            replaced.append(file)
        else:
            why = "it was changed since it was installed" if file.path in digests else "it was not installed by ptttool"
            raise OutputError(f"{files.shown(file.path)}: exists, and {why}", hint="look at it, then move it away", code="exists")
    others = set(digests) - {file.path for file in export.files}
    state = {path: _digest_at(files, path) for path in sorted(others)}
    stale = tuple(path for path, on_disk in state.items() if on_disk in digests[path])
    kept = [files.shown(path) for path, on_disk in state.items() if on_disk is not None and path not in stale]
    message = "{} was installed, and changed since: it stays"
    notes = [Diagnostic(Severity.WARNING, "changed-since-install", message.format(path), where=path) for path in kept]
    return InstallPlan(export, root, tuple(new), tuple(replaced), tuple(same), stale, (*notes, *_others(export, root)))


def install(plan: InstallPlan) -> None:
    """Write what a plan says. A run that is killed is completed by the next one, or taken back by :func:`uninstall`.

    Raises
    ------
    OutputError, AccessError
        A file cannot be written; what was written is recorded.
    """
    files = Rooted(plan.root)
    before = read_record(plan.root, plan.export.target) or Installed(VERSION, plan.export.target, plan.export.profile, {}, ())
    digests = {file.path: (digest(file.text.encode(), file.is_link),) for file in plan.export.files}
    both = {path: tuple(dict.fromkeys((*before.files.get(path, ()), *digests.get(path, ())))) for path in (*before.files, *digests)}
    # Before the first file: whatever is written, the record knows it.
    between = replace(before, profile=plan.export.profile, files=both)
    write_record(plan.root, between)
    try:
        for file in (*plan.write, *plan.replace):
            files.write(file.path, file.text.encode(), is_link=file.is_link, replace=file in plan.replace)
        for path in plan.remove:
            files.remove(path)
    finally:
        if files.made:
            between = replace(between, folders=tuple(dict.fromkeys((*before.folders, *files.made))))
            write_record(plan.root, between)
    write_record(plan.root, replace(between, files=digests))


def plan_uninstall(target: str, root: Path) -> UninstallPlan:
    """Look at what uninstalling would remove; remove nothing.

    Raises
    ------
    UsageError
        ``not-installed``: there is nothing to remove; ``unknown-target``.
    AccessError, InputError, OutputError
        A folder of a path is not safe; the record of what was installed is damaged.
    """
    TARGETS.get(target)
    installed = read_record(root, target)
    if installed is None:
        raise UsageError(f"nothing is installed for {target} below {root}", code="not-installed")
    files = Rooted(root)
    state = {path: _digest_at(files, path) for path in installed.files}
    gone = tuple(path for path, on_disk in state.items() if on_disk is None)
    ours = tuple(path for path, on_disk in state.items() if on_disk in installed.files[path])
    changed = tuple(path for path in state if path not in (*gone, *ours))
    return UninstallPlan(installed.target, installed.profile, root, ours, changed, gone, installed.folders)


def uninstall(plan: UninstallPlan) -> None:
    """Remove what a plan says; files that were changed since stay, and are no longer in the record.

    Raises
    ------
    OutputError
        A file cannot be removed. ``changed-since-install``: some were changed; the others are removed.
    """
    files = Rooted(plan.root)
    for path in plan.remove:
        files.remove(path)
    for path in reversed(plan.folders):
        files.remove_folder(path)
    remove_record(plan.root, plan.target)
    if plan.changed:
        shown = [files.shown(path) for path in plan.changed]
        raise OutputError(
            f"{', '.join(shown)}: changed since it was installed: left as it is",
            hint="remove it by hand",
            code="changed-since-install",
            kept=shown,
        )


def _digest_at(files: Rooted, path: str) -> str | None:
    """Return the digest of what is at a path; None if there is nothing."""
    content = files.read(path)
    return None if content is None else digest(*content)


def _others(export: Export, root: Path) -> Iterator[Diagnostic]:
    """Warn about other targets that are installed: two would set the values."""
    for name in TARGETS.names():
        if name == export.target:
            continue
        try:
            record = read_record(root, name)
        except PtttoolError:
            continue
        if record is not None:
            message = f"also installed: {name}, with the profile {record.profile}; what runs last at a start decides"
            hint = f"ptttool tune export --to {name} --uninstall"
            yield Diagnostic(Severity.WARNING, "installed-twice", message, hint=hint, where=name)
