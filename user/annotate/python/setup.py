# SPDX-License-Identifier: MIT
"""Only for the version, which is stated in one place, a C header; the rest is in pyproject.toml."""
import re
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).resolve().parent
# In the source tree, and in a source distribution, which holds no header but its own metadata.
SOURCES = ((HERE / "../../lib/version.h", r'#define DFT_VERSION "([^"]+)"'),
           (HERE / "PKG-INFO", r"(?m)^Version: (\S+)"))


def version():
    for path, pattern in SOURCES:
        if path.is_file():
            return re.search(pattern, path.read_text()).group(1)
    raise SystemExit(f"setup.py: {HERE}: no version (build it inside the source tree)")


setup(version=version())
