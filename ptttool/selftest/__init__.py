"""The self-test: reads of a known pattern, recorded, that show what the device's documents do not say."""
