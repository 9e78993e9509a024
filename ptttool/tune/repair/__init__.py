"""Write old values of tune attributes back: after a change that was cut off, or since it is not wanted any more."""
