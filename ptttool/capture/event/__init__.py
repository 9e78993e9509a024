"""Events: from a request to the event string, and from the string to its meaning. Touches no machine."""
