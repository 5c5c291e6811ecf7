# SPDX-License-Identifier: MIT
"""DFTracer's annotation API. See the docstring of the package `dftracer`."""
from dftracer.python.ai import *  # noqa: F401,F403
from dftracer.python.ai import __all__ as _of_ai
from dftracer.python.entity import (EntityID, EntityRelation, EntityRole, EntityStore, entity_hash,
                                    entity_hex)
from dftracer.python.logger import *  # noqa: F401,F403
from dftracer.python.logger import __all__ as _of_logger
from dftracer.python.values import TagDType, TagType, TagValue

__all__ = [*_of_logger, *_of_ai, "EntityID", "EntityStore", "EntityRole", "EntityRelation",
           "TagType", "TagDType", "TagValue", "entity_hash", "entity_hex"]
