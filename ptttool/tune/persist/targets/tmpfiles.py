"""systemd-tmpfiles: lines that write the values when the machine starts."""

from __future__ import annotations

from ptttool.tune.persist.contract import TARGETS, PermanentFile, PermanentValues, Target, attribute_path

PATH = "/etc/tmpfiles.d/ptttool-tune.conf"


class Tmpfiles(Target):
    """A configuration file of systemd-tmpfiles."""

    name = "tmpfiles"
    meaning = "lines of systemd-tmpfiles, which writes the values when the machine starts"
    limits = (
        "values are written once, early in the start; if the driver is loaded later, or again, they are not written, without an error; "
        "udev does not have this gap"
    )

    def files(self, values: PermanentValues) -> tuple[PermanentFile, ...]:
        """Return the configuration file."""
        head = f"# Tune attributes of PTT devices: profile {values.profile}, by ptttool tune export --to tmpfiles."
        lines = (f"w {attribute_path(device, attribute)} - - - - {value}" for device, attribute, value in values)
        return (PermanentFile(PATH, "\n".join((head, *lines, ""))),)

    def activation(self, values: PermanentValues) -> tuple[str, ...]:  # noqa: ARG002 - of the contract
        """Return the command that carries the file out."""
        return (f"systemd-tmpfiles --create {PATH}",)


TARGETS.add(Tmpfiles.name, Tmpfiles())
