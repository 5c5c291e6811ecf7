# SPDX-License-Identifier: MIT
"""Where DFTracer keeps its classes and enumerations."""
from dftracer.python.entity import *  # noqa: F401,F403
from dftracer.python.logger import *  # noqa: F401,F403
from dftracer.python.values import TagDType, TagType, TagValue, TagValueTuple  # noqa: F401
