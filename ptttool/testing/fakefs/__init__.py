"""A fake machine in pyfakefs: its files, its devices in libudev, its users. Imports pyfakefs, which is an optional extra."""
