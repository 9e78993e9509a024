"""Make a profile permanent: files for udev, systemd and others, printed or installed."""
