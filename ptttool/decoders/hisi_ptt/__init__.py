"""The records of the HiSilicon PTT device."""
