"""systemd: a service that applies the profile when the machine starts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ptttool.errors import UsageError
from ptttool.tune.persist.contract import TARGETS, PermanentFile, PermanentValues, Target
from ptttool.wording import clean

UNIT = "ptttool-tune.service"
PATH = f"/etc/systemd/system/{UNIT}"
ENABLED = f"/etc/systemd/system/multi-user.target.wants/{UNIT}"


class Systemd(Target):
    """A service with the profile in it."""

    name = "systemd"
    meaning = "a service of systemd, which runs 'ptttool tune apply' when the machine starts"
    limits = "if the driver is loaded again, start the service again; ptttool must stay at its path"

    def files(self, values: PermanentValues) -> tuple[PermanentFile, ...]:
        """Return the unit, and the link by which it is enabled."""
        profile = ["version = 1"]
        for device, attributes in values.devices.items():
            profile += [f"[devices.{device}]", *(f"{attribute} = {value}" for attribute, value in attributes.items())]
        lines = (
            f"# Tune attributes of PTT devices: profile {values.profile}, by ptttool tune export --to systemd.",
            "[Unit]",
            f"Description=Tune attributes of PTT devices, profile {values.profile}",
            "Wants=modprobe@hisi_ptt.service",
            "After=modprobe@hisi_ptt.service systemd-modules-load.service",
            "",
            "[Service]",
            "Type=oneshot",
            "RemainAfterExit=yes",
            f"ExecStart={_command(values.program)} tune apply -",
            "StandardInput=data",
            *(f"StandardInputText={line}" for line in profile),
            "",
            "[Install]",
            "WantedBy=multi-user.target",
            "",
        )
        return (PermanentFile(PATH, "\n".join(lines)), PermanentFile(ENABLED, PATH, is_link=True))

    def activation(self, values: PermanentValues) -> tuple[str, ...]:  # noqa: ARG002 - of the contract
        """Return the commands that load the unit and start it."""
        return ("systemctl daemon-reload", f"systemctl enable {UNIT}", f"systemctl restart {UNIT}")


def _command(words: Sequence[str]) -> str:
    """Return a command line. Raises UsageError for a program with a path that systemd does not take."""
    program, *arguments = words
    if re.search(r"[\x00-\x1f\x7f\"'\\]", program):
        raise UsageError(
            f"{clean(program)}: systemd does not take the path of a program with quotes, backslashes or control characters",
            hint="install ptttool in another folder",
            code="odd-program",
        )
    # In the path of the program, variables are not replaced.
    return " ".join([_quoted(program), *(_quoted(word).replace("$", "$$") for word in arguments)])


def _quoted(word: str) -> str:
    """Quote a word of a command line as systemd.syntax(7) and systemd.service(5) say: quotes, escapes, specifiers."""
    if re.fullmatch(r"[A-Za-z0-9_/.,:+=@-]+", word):
        return word
    escaped = "".join(letter if letter.isprintable() and letter not in '"\\' else _escaped(letter) for letter in word)
    return '"' + escaped.replace("%", "%%") + '"'


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    return "".join(f"\\x{byte:02x}" for byte in letter.encode("utf-8", "surrogateescape"))


TARGETS.add(Systemd.name, Systemd())
