"""Property tests of the core have no deadline, because a busy machine is not a failure."""

from hypothesis import settings

settings.register_profile("steady", deadline=None)
settings.load_profile("steady")
