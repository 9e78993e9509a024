"""Collect what is known of a machine into an archive that reads as the machine does."""
