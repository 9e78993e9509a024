"""What ``tune profiles`` prints with ``--json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ptttool.documents import document
from ptttool.tune.profiles.profile import EVERY_DEVICE, Profile


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
