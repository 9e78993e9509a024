"""CoreSight formatter frames."""
