# SPDX-License-Identifier: MIT
"""The older import path of dftracer.python."""
from dftracer.python import *  # noqa: F401,F403
from dftracer.python import __all__  # noqa: F401
