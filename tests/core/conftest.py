"""Property tests of the core take as long as they take: a busy machine is no failure."""

from hypothesis import settings

settings.register_profile("steady", deadline=None)
settings.load_profile("steady")
