"""Where facts about a machine come from: udev, a folder, a recorded tree, the demo machine."""
