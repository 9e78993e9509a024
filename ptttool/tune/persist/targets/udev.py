"""udev: a rule that writes the values whenever the driver registers a device."""

from __future__ import annotations

from ptttool.tune.persist.contract import TARGETS, PermanentFile, PermanentValues, Target

PATH = "/etc/udev/rules.d/90-ptttool-tune.rules"


def rules(values: PermanentValues) -> str:
    """Return the text of the rules file: one rule an attribute, so that one that fails does not stop the others."""
    lines = (
        f'ACTION=="add", SUBSYSTEM=="event_source", KERNEL=="{device}", ATTR{{tune/{attribute}}}="{value}"'
        for device, attribute, value in values
    )
    return "\n".join((f"# Tune attributes of PTT devices: profile {values.profile}, by ptttool tune export --to udev.", *lines, ""))


class Udev(Target):
    """A rules file."""

    name = "udev"
    meaning = "a rule of udev, which writes the values whenever the driver registers a device"
    limits = "udev does not read the values back: 'ptttool tune diff' does"

    def files(self, values: PermanentValues) -> tuple[PermanentFile, ...]:
        """Return the rules file."""
        return (PermanentFile(PATH, rules(values)),)

    def activation(self, values: PermanentValues) -> tuple[str, ...]:
        """Return the commands that load the rules and have them carried out for the devices that are there."""
        names = " ".join(f"--sysname-match={device}" for device in values.devices)
        return ("udevadm control --reload", f"udevadm trigger --action=add --subsystem-match=event_source {names}")


TARGETS.add(Udev.name, Udev())
