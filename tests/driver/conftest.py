"""Property tests in this folder have no deadline: a shared machine pauses at any moment."""

from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
