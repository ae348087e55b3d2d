"""How property tests draw: the same examples in every run, so that a red run means a change.

`RHO_HYPOTHESIS_PROFILE=thorough` draws new ones instead, and many more for the properties of files.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("thorough", deadline=None)
settings.load_profile(os.environ.get("RHO_HYPOTHESIS_PROFILE", "repeatable"))
