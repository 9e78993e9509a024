"""Profiles by name: those that come with ptttool, and files."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import document
from ptttool.errors import InputError, UsageError
from ptttool.machine.sources.contract import Source
from ptttool.tune.journal.history import read_history
from ptttool.tune.profiles.profile import EVERY_DEVICE, Profile, load_profile, parse_profile
from ptttool.wording import did_you_mean

FOLDER = Path(__file__).with_name("built_in")
FROM_JOURNAL = "default"


class BuiltInProfileDocument(Struct, frozen=True):
    """A profile that comes with ptttool.

    Parameters
    ----------
    name : str
        Its name.
    description : str
        What it is for.
    why : str
        The reasons.
    values : Mapping[str, int]
        The value of each tune attribute, for every device; empty for the profile with values from the journal.
    """

    name: str
    description: str
    why: str
    values: Mapping[str, int]


@document("tune-profiles")
class TuneProfilesDocument(Struct, frozen=True):
    """The profiles that come with ptttool.

    Parameters
    ----------
    profiles : tuple of BuiltInProfileDocument
        The profiles.
    """

    profiles: tuple[BuiltInProfileDocument, ...]

    @classmethod
    def of(cls, profiles: Sequence[Profile]) -> TuneProfilesDocument:
        """Make the document of profiles."""
        return cls(
            tuple(
                BuiltInProfileDocument(one.path, one.description, " ".join(one.why.split()), one.devices.get(EVERY_DEVICE, {}))
                for one in profiles
            )
        )


def built_in_names() -> list[str]:
    """List the names of the profiles that come with ptttool."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def built_in_text(name: str) -> str:
    """Return the text of a profile that comes with ptttool.

    Raises
    ------
    UsageError
        There is none of that name.
    """
    if name not in built_in_names():
        names = ", ".join(built_in_names())
        raise UsageError(f"{name!r} does not come with ptttool", hint=f"known: {names}", code="unknown-profile", known=built_in_names())
    return (FOLDER / f"{name}.toml").read_text(encoding="utf-8")


def built_in_profile(name: str) -> Profile:
    """Return a profile that comes with ptttool; that with the values from the journal is empty. Raises UsageError as the text does."""
    return parse_profile(built_in_text(name).encode(), name)


def find_profile(name: str | Path, source: Source) -> Profile:
    """Return a profile that comes with ptttool, or one from a file.

    Parameters
    ----------
    name : str or Path
        A name without a slash that comes with ptttool counts more than a file: ``./storage`` is the file.
    source : Source
        The machine, whose journal has the values of ``default``.

    Raises
    ------
    InputError
        There is no such file, or it is not a profile. The journal cannot be read.
    AccessError
        The file, or the journal, cannot be read.
    """
    if str(name) not in built_in_names() or isinstance(name, Path):
        return _from_file(name)
    profile = built_in_profile(str(name))
    return _from_journal(profile, source) if name == FROM_JOURNAL else profile


def _from_file(path: str | Path) -> Profile:
    """Read a profile; where there is no such file, a name may have been meant."""
    try:
        return load_profile(path)
    except InputError as error:
        if error.code == "no-such-file" and "/" not in str(path):
            near = difflib.get_close_matches(str(path).lower(), built_in_names(), n=1)
            hint = did_you_mean(near) if near else f"{', '.join(built_in_names())} come with ptttool"
            error.hint = f"{hint} ('ptttool tune profiles' lists them); or make a file: ptttool tune save FILE"
        raise


def _from_journal(profile: Profile, source: Source) -> Profile:
    history = read_history(source)
    notes = []
    if not history.reaches_back:
        message = "the journal does not reach back to the start of the machine: these are the oldest values in it"
        notes.append(Diagnostic(Severity.WARNING, "not-from-the-start", message, where=str(history.folder)))
    return replace(profile, devices=history.first_values(), notes=tuple(notes))
