"""What a launch runs on: lanes and their values, memory of every space, and the checks of each access."""
