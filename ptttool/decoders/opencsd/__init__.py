"""CoreSight trace decoded by libopencsd."""
