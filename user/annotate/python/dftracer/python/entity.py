# SPDX-License-Identifier: MIT
"""Entities: what kinds there are, and their ids.

An id is a function of type and key alone, the same in every process and language, whether or not
anything is traced.
"""
from __future__ import annotations

from enum import IntEnum
from typing import Any, Optional

from dftracer.python.library import lib
from dftracer.python.values import c_text

__all__ = ["EntityID", "EntityStore", "EntityRole", "EntityRelation", "entity_hash", "entity_hex",
           "is_event_relation"]

EntityID = int

OFFSET_BASIS = 1469598103934665603  # the format's own, not the textbook's
PRIME = 1099511628211
MASK = 0xffffffffffffffff
TYPE_MAX = 31
# Indexed by byte: itself where it is safe in the name of a type, else '_'.
SAFE = bytes(b if chr(b) in " _-.:/@+=,~" or chr(b).isalnum() and b < 128 else ord("_")
             for b in range(256))


class EntityStore(IntEnum):
    """Where an entity is."""

    MEMORY = 0
    GPU_MEMORY = 1
    LOCAL_DISK = 2
    PARALLEL_FS = 3
    BURST_BUFFER = 4
    OBJECT_STORE = 5
    DATABASE = 6
    NETWORK = 7
    OTHER = 8


class EntityRole(IntEnum):
    """What the entities of a type are for."""

    UNKNOWN = 0
    INPUT = 1
    OUTPUT = 2
    INTERMEDIATE = 3
    PARAMETER = 4
    REFERENCE = 5


class EntityRelation(IntEnum):
    """Below 16: of an event to an entity. From 16 on: of an entity to another."""

    USED = 0
    GENERATED = 1
    INVALIDATED = 2
    UPDATED = 3
    DERIVED_FROM = 16
    REVISION_OF = 17
    CONTAINS = 18
    PART_OF = 19
    SPECIALIZATION_OF = 20
    ALTERNATE_OF = 21
    DEPENDS_ON = 22


def is_event_relation(relation: int) -> bool:
    return 0 <= int(relation) < 16


def _pure_id(kind: Optional[bytes], key: Optional[bytes]) -> EntityID:
    if kind is None or key is None:
        return 0
    value = OFFSET_BASIS
    safe = kind.split(b"\0", 1)[0][:TYPE_MAX].translate(SAFE)
    for byte in safe + b"\x1f" + key.split(b"\0", 1)[0]:
        value = (value ^ byte) * PRIME & MASK
    return value or 1


c_entity_id = _pure_id if lib is None else lib.entity_id


def entity_hash(type: Any, key: Any) -> EntityID:
    """The id of the entity: 64 bits, never 0, but for a type or key that is None.

    Strings count as their bytes in UTF-8, up to a NUL; what is neither str nor bytes as its str().
    """
    return c_entity_id(c_text(type), c_text(key))


def entity_hex(id: EntityID) -> str:
    """An id as the trace has it."""
    return f"{id & MASK:016x}"
