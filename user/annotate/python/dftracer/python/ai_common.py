# SPDX-License-Identifier: MIT
"""Where DFTracer keeps the classes of the tree `ai`."""
from dftracer.python.ai import *  # noqa: F401,F403
from dftracer.python.ai import __all__  # noqa: F401
