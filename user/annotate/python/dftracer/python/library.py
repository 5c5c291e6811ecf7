# SPDX-License-Identifier: MIT
"""libdftracer.so: where it is (see the package's docstring), and its functions.

`lib` is the Library, or None. `listeners[0]` is not 0 while a tracer listens; it is all that an
annotated call looks at while none does.
"""
from __future__ import annotations

import os
import warnings
from typing import Any, Iterator, Optional, Sequence

try:
    import ctypes
except ImportError:  # an interpreter built without libffi
    ctypes = None  # type: ignore[assignment]

__all__ = ["Library", "lib", "listeners", "API", "META_CM", "META_APP", "META_USED"]

VARIABLE = "DFTRACER_LIBRARY"
NAME = "libdftracer.so"

# The probes' contract: include/dftracer/wire.h.
API = 6  # DFT_TYPE_PYTHON
META_CM = 0
META_APP = 1
META_USED = 2


class Library:
    """The functions used here; AttributeError if it is some other library of that name.

    They never block, so that they are called with the interpreter lock held (PyDLL). Giving it up
    would take longer than the call, and let other threads in at each of them.
    """

    def __init__(self, path: str) -> None:
        handle = ctypes.PyDLL(path)
        pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
        integer, entity = ctypes.c_int64, ctypes.c_uint64

        def function(name: str, result: Any, *arguments: Any) -> Any:
            found = getattr(handle, name)
            found.restype, found.argtypes = result, arguments
            return found

        self.region_open = function("dftracer_region_open", pointer, text, text, number)
        self.region_int = function("dftracer_region_int", None, pointer, text, integer, number)
        self.region_float = function("dftracer_region_float", None, pointer, text, ctypes.c_double,
                                     number)
        self.region_str = function("update_metadata_string_type", None, pointer, text, text, number)
        self.region_times = function("dftracer_region_times", None, pointer, ctypes.c_uint64,
                                     ctypes.c_uint64)
        self.region_relate = function("update_relation", None, pointer, number, entity)
        self.region_relate_entity = function("update_relation_entity", entity, pointer, number,
                                             text, text, number, text)
        self.region_close = function("finalize_region", None, pointer)
        self.region_drop = function("dftracer_region_drop", None, pointer)
        self.metadata_str = function("dftracer_metadata_str", None, number, number, text, text)
        self.metadata_int = function("dftracer_metadata_int", None, number, number, text, integer)
        self.declare_entity = function("dftracer_declare_entity", entity, text, text, number, text)
        self.declare_entity_type = function("dftracer_declare_entity_type", None, text, number,
                                            text)
        self.relate_entities = function("dftracer_relate_entities", None, number, entity, entity)
        self.get_time = function("get_time", ctypes.c_uint64)
        self.entity_id = function("dftracer_entity_id", entity, text, text)

        semaphore = ctypes.c_ushort.from_address(function("dftracer_listeners", pointer)())
        # An index into a memoryview is faster than the .value of a ctypes object.
        self.listeners: Sequence[int] = memoryview(semaphore).cast("B").cast("H")


def _places() -> Iterator[str]:
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for directory in (package, os.path.dirname(package)):
        path = os.path.join(directory, NAME)
        if os.path.exists(path):
            yield path
    yield NAME + ".0"
    yield NAME


def _load() -> Optional[Library]:
    if ctypes is None:
        return None
    named = os.environ.get(VARIABLE)
    for path in [named] if named else _places():
        try:
            return Library(path)
        except (OSError, AttributeError) as error:
            if named:
                warnings.warn(f"dftracer: {VARIABLE}={named}: {error} (correct or unset it; "
                              f"annotations do nothing)", RuntimeWarning, stacklevel=2)
    return None


lib: Optional[Library] = _load()
listeners: Sequence[int] = (0,) if lib is None else lib.listeners
