"""TuneD: a profile of its own."""

from __future__ import annotations

from ptttool.tune.persist.contract import TARGETS, PermanentFile, PermanentValues, Target, attribute_path


class Tuned(Target):
    """A folder of a TuneD profile."""

    name = "tuned"
    meaning = "a profile of TuneD, which writes the values when it starts, and the old ones back when it changes to another profile"
    limits = "if the driver is loaded again, restart TuneD to write the values; one TuneD profile replaces another, so name both"

    def files(self, values: PermanentValues) -> tuple[PermanentFile, ...]:
        """Return the profile."""
        lines = (
            f"# Tune attributes of PTT devices: profile {values.profile}, by ptttool tune export --to tuned.",
            "[main]",
            f"summary=Tune attributes of PTT devices: profile {values.profile} of ptttool",
            "",
            "[sysfs]",
            *(f"{attribute_path(device, attribute)}={value}" for device, attribute, value in values),
            "",
        )
        return (PermanentFile(f"/etc/tuned/ptttool-{values.profile}/tuned.conf", "\n".join(lines)),)

    def activation(self, values: PermanentValues) -> tuple[str, ...]:
        """Return the commands that show the active profile and add this one to it."""
        return ("tuned-adm active", f"tuned-adm profile ACTIVE-PROFILE ptttool-{values.profile}")


TARGETS.add(Tuned.name, Tuned())
