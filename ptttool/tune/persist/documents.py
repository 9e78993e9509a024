"""What ``tune export`` prints with ``--json``."""

from __future__ import annotations

from dataclasses import dataclass

from ptttool.diagnostics import Diagnostic
from ptttool.documents import document
from ptttool.tune.persist.contract import PermanentFile
from ptttool.tune.persist.export import Export
from ptttool.tune.persist.install import UninstallPlan


@document("tune-export")
@dataclass(frozen=True)
class TuneExportDocument:
    """What makes a profile permanent.

    Parameters
    ----------
    target : str
        What sets the values.
    profile : str
        Name of the profile, in plain letters.
    root : str or None
        Below which folder the files were installed; null if they were not.
    files : list of PermanentFile
        The files.
    activation : list of str
        The commands after which the values are set without a restart.
    limits : str
        What to know about it.
    diagnostics : list of Diagnostic
        What was odd.
    """

    target: str
    profile: str
    root: str | None
    files: list[PermanentFile]
    activation: list[str]
    limits: str
    diagnostics: list[Diagnostic]

    @classmethod
    def of(cls, export: Export, root: str | None, diagnostics: tuple[Diagnostic, ...] = ()) -> TuneExportDocument:
        """Make the document of what was exported."""
        every = [*export.diagnostics, *diagnostics]
        return cls(export.target, export.profile, root, list(export.files), list(export.activation), export.limits, every)


@document("tune-uninstall")
@dataclass(frozen=True)
class TuneUninstallDocument:
    """What was removed again.

    Parameters
    ----------
    target : str
        What set the values.
    profile : str
        Name of the profile, in plain letters.
    root : str
        Below which folder.
    removed : list of str
        Files that were as they had been installed.
    changed : list of str
        Files that were changed since: they stay.
    gone : list of str
        Files that were not there any more.
    """

    target: str
    profile: str
    root: str
    removed: list[str]
    changed: list[str]
    gone: list[str]

    @classmethod
    def of(cls, plan: UninstallPlan) -> TuneUninstallDocument:
        """Make the document of what was removed."""
        return cls(plan.installed.target, plan.installed.profile, str(plan.root), list(plan.remove), list(plan.changed), list(plan.gone))
