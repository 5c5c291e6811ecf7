# SPDX-License-Identifier: MIT
"""The import path of DFTracer's debug build: the same as dftracer.python."""
from dftracer.python import *  # noqa: F401,F403
from dftracer.python import __all__  # noqa: F401
