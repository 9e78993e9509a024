"""Checks of the PTT devices: hardware, driver, IOMMU, CPUs, who traces them."""
