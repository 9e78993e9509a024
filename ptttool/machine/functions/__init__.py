"""PCI functions: what sysfs says of them, and the names of their vendors and devices."""
