# SPDX-License-Identifier: MIT
"""The two classes of the API: dftracer concerns the process, dft_fn records events."""
from __future__ import annotations

import itertools
import os
import sys
import time
from typing import (Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple, TypeVar, Union,
                    overload)

from dftracer.python.entity import (EntityID, EntityRelation, EntityRole, EntityStore, entity_hash,
                                    is_event_relation)
from dftracer.python.event import Event, Kind, emit, emit_since, empty, find, pop, push
from dftracer.python.library import API, META_APP, META_CM, META_USED, lib, listeners
from dftracer.python.values import (FLOAT, INT, STRING, Item, Items, c_text, given_item,
                                    named_items)
from dftracer.python.wrap import loop, recorded

__all__ = ["dftracer", "dft_fn", "DFTRACER_ENABLE", "DFTRACER_ENABLE_ENV", "DFTRACER_INIT_ENV",
           "DFTRACER_LOG_LEVEL_ENV", "DFTRACER_TIME_METRIC_ENV"]

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

# Programs ask whether to annotate at all. A tracer may come at any time, but not without a library.
DFTRACER_ENABLE = lib is not None
DFTRACER_ENABLE_ENV = "DFTRACER_ENABLE"
DFTRACER_INIT_ENV = "DFTRACER_INIT"
DFTRACER_LOG_LEVEL_ENV = "DFTRACER_LOG_LEVEL"
DFTRACER_TIME_METRIC_ENV = "DFTRACER_TIME_METRIC"

# Arguments, and the order in which they were given. Of two values of a key the later counts,
# wherever in a tree of dft_fn they were given.
Dated = Dict[bytes, Tuple[int, Item]]
_moments = itertools.count()


NOTHING: Dated = {}


def _dated(items: Items) -> Dated:
    return {key: (next(_moments), item) for key, item in items.items()}


def _event_relations(relations: Optional[Dict[int, Iterable[int]]]) -> List[Tuple[int, int]]:
    return [(int(relation), int(entity)) for relation, entities in (relations or {}).items()
            if is_event_relation(relation) for entity in entities if entity]


class dftracer:
    """What concerns the process. There is one object of it: get_instance()."""

    _instance: Optional["dftracer"] = None

    @classmethod
    def get_instance(cls) -> "dftracer":
        if dftracer._instance is None:
            dftracer._instance = dftracer()
        return dftracer._instance

    @staticmethod
    def initialize_log(logfile: Optional[str] = None, data_dir: Optional[str] = None,
                       process_id: Optional[int] = -1) -> "dftracer":
        """The arguments are DFTracer's and mean nothing here: the tracer says what goes where."""
        instance = dftracer.get_instance()
        instance.mark_used("PYTHON")
        return instance

    def finalize(self) -> None:
        """Nothing to do: what the program reported, the tracer has."""

    def get_time(self) -> int:
        """Microseconds since the epoch; with the library by its clock, which is never set."""
        return time.time_ns() // 1000 if lib is None else lib.get_time()

    def get_config(self, key: str) -> str:
        """A variable of DFTracer's environment, "" if it is not set. The unit of time is US."""
        return "US" if key == DFTRACER_TIME_METRIC_ENV else os.environ.get(key, "")

    def enter_event(self) -> None:
        """Nothing to do: events nest by their times."""

    def exit_event(self) -> None:
        """See enter_event()."""

    def log_event(self, name: str, cat: str, start_time: int, duration: int,
                  int_args: Optional[Dict[str, Any]] = None,
                  float_args: Optional[Dict[str, Any]] = None,
                  string_args: Optional[Dict[str, Any]] = None,
                  relations: Optional[Dict[EntityRelation, List[EntityID]]] = None) -> None:
        """An event with times of its own, in microseconds, as get_time() has them. Values of
        arguments are plain ones or (tag, value)."""
        if not listeners[0]:
            return
        items: List[Tuple[bytes, Item]] = [
            (c_text(key) or b"", given_item(dtype, value))
            for dtype, args in ((INT, int_args), (FLOAT, float_args), (STRING, string_args))
            for key, value in (args or {}).items()]
        emit(c_text(name) or b"", c_text(cat) or b"", int(start_time), int(duration), items,
             _event_relations(relations))

    def log_metadata_event(self, key: str, value: str) -> None:
        if listeners[0]:
            lib.metadata_str(META_CM, API, c_text(key), c_text(value))

    def set_app_metadata_int(self, key: str, value: int) -> None:
        if not listeners[0]:
            return
        kind, number, _ = given_item(INT, value)
        if kind == INT:
            lib.metadata_int(META_APP, API, c_text(key), number)
        else:
            self.set_app_metadata_string(key, value)  # type: ignore[arg-type]  # c_text() takes all

    def set_app_metadata_string(self, key: str, value: str) -> None:
        if listeners[0]:
            lib.metadata_str(META_APP, API, c_text(key), c_text(value))

    def mark_used(self, name: str) -> None:
        """The process uses what is named here."""
        if listeners[0]:
            lib.metadata_int(META_USED, API, c_text(name), 1)

    def declare_entity(self, type: Any, key: Any, store: EntityStore = EntityStore.MEMORY,
                       uri: Optional[str] = "") -> EntityID:
        """Returns its id, whether or not anybody listens."""
        if not listeners[0]:
            return entity_hash(type, key)
        return lib.declare_entity(c_text(type), c_text(key), int(store), c_text(uri or ""))

    def declare_entity_type(self, type: Any, role: EntityRole = EntityRole.UNKNOWN,
                            description: Optional[str] = "") -> None:
        if listeners[0]:
            lib.declare_entity_type(c_text(type), int(role), c_text(description or ""))

    def relate_entities(self, relation: EntityRelation, subject: EntityID,
                        object: EntityID) -> None:
        """Relates two entities; relations of events, and ids that are 0, are ignored."""
        if listeners[0] and not is_event_relation(relation) and subject and object:
            lib.relate_entities(int(relation), int(subject), int(object))


class dft_fn:
    """Records events of a category: of functions (log), blocks (with), loops (iter).

    One object may be used by any number of functions and threads, and recursively. What is said
    with update(), uses() and their like while events of the object are open belongs to the
    innermost one of this thread, or asyncio task; a task begins inside the events it was started in.
    Outside of them, update() says what later events of the object begin with, for as long as
    somebody listens.

    An event can also be made without any of these: reset(), or making the object, begins it, and
    flush() ends it.
    """

    def __init__(self, cat: str, name: Optional[str] = None, epoch: Optional[int] = None,
                 step: Optional[int] = None, image_idx: Optional[int] = None,
                 image_size: Optional[Any] = None, enable: bool = True) -> None:
        # As in DFTracer: the function that makes the object.
        self._name = name if name else sys._getframe(1).f_code.co_name
        self._cat = cat
        self._enable = enable
        self._c_name = c_text(self._name) or b""
        self.c_cat = c_text(cat) or b""
        # To find events again. A variant of another dft_fn has that one's.
        self.root = self
        # Where this one is in a tree: it begins events with what those above it were given as well.
        self._above: Optional[dft_fn] = None
        given = named_items(epoch, step, image_idx, image_size)
        self._given = _dated(given) if given else NOTHING
        self._sticky: Dated = {}
        # The event without with or log: when it began, if it may be one, and its relations.
        self._since = time.monotonic_ns() if listeners[0] and enable else None
        self._loose: List[Tuple[int, int]] = []

    def __getstate__(self) -> Dict[str, Any]:
        # A copy in another process has not begun any event.
        return dict(self.__dict__, _since=None, _loose=[])

    # ---- what the modules beside need ----------------------------------------------------------

    def enabled(self) -> bool:
        return self._enable

    def settled(self) -> Items:
        """The arguments that an event begins with."""
        if self._above is None and not self._given and not self._sticky:
            return {}
        found: Dated = {}
        place: Optional[dft_fn] = self
        while place is not None:
            # A copy: another thread may be in stick(). What is sticky is later than what was given.
            for key, value in {**place._given, **place._sticky.copy()}.items():
                if key not in found or found[key][0] < value[0]:
                    found[key] = value
            place = place._above
        return {key: item for key, (_, item) in found.items()}

    def stick(self, items: Items) -> None:
        self._sticky.update(_dated(items))

    def begin(self, kind: Kind) -> Optional[Event]:
        """Opens an event; while events are open, also one that only marks the place of another."""
        live = bool(listeners[0]) and self.enabled()
        if not live and empty():
            return None
        items = self.settled() if live else {}
        event = Event(self.root, kind, self._c_name, self.c_cat, items, live)
        push(event)
        return event

    def end(self, kind: Kind, how: Callable[[Event], None] = Event.end) -> None:
        """Closes the innermost event of the kind, if there is one."""
        event = None if empty() else find(self.root, kind)
        if event is not None:
            pop(event)
            how(event)

    # ---- events --------------------------------------------------------------------------------

    def __enter__(self) -> "dft_fn":
        if not listeners[0] and empty():
            return self
        event = self.begin(Kind.BLOCK)
        if self._since is not None:
            loose, self._loose, self._since = self._loose, [], None
            for relation, entity in loose:
                if event is not None:
                    event.relate(relation, entity)
        return self

    def __exit__(self, *exc: Any) -> None:
        self.end(Kind.BLOCK)

    def flush(self) -> "dft_fn":
        """The event ends here."""
        if not listeners[0] or not self.enabled():
            return self
        event = find(self.root, Kind.BLOCK, Kind.START)
        if event is not None:
            event.flush()
        elif self._since is not None:
            loose, self._loose = self._loose, []
            self._since = emit_since(self._since, self._c_name, self.c_cat, self.settled(), loose)
        return self

    def reset(self) -> "dft_fn":
        """An event begins here; what was said of the one before and not flushed is dropped."""
        live = bool(listeners[0]) and self.enabled()
        event = None if empty() else find(self.root, Kind.BLOCK, Kind.START)
        if event is not None:
            event.restart(live)
        else:
            self._since = time.monotonic_ns() if live else None
            self._loose = []
        return self

    @overload
    def log(self, func: F, name: Optional[str] = None) -> F: ...

    @overload
    def log(self, func: None = None, name: Optional[str] = None) -> Callable[[F], F]: ...

    def log(self, func: Optional[F] = None,
            name: Optional[str] = None) -> Union[F, Callable[[F], F]]:
        """Decorator: an event for each call, also of coroutine functions; for each run of a
        generator. It is named as the function, with its classes, unless a name is given."""
        return self._decorate(func, name, True)

    @overload
    def log_init(self, init: F, name: Optional[str] = None) -> F: ...

    @overload
    def log_init(self, init: None = None, name: Optional[str] = None) -> Callable[[F], F]: ...

    def log_init(self, init: Optional[F] = None,
                 name: Optional[str] = None) -> Union[F, Callable[[F], F]]:
        """Decorator of a constructor."""
        return self._decorate(init, name, True)

    @overload
    def log_static(self, func: F, name: Optional[str] = None) -> F: ...

    @overload
    def log_static(self, func: None = None, name: Optional[str] = None) -> Callable[[F], F]: ...

    def log_static(self, func: Optional[F] = None,
                   name: Optional[str] = None) -> Union[F, Callable[[F], F]]:
        """Decorator of a static method, outside or inside of @staticmethod."""
        return self._decorate(func, name, False)

    def _decorate(self, func: Any, name: Optional[str], capture: bool) -> Any:
        self._since = None

        def decorator(target: Any) -> Any:
            return self.recorded(target, name or _qualified(target), capture)

        return decorator(func) if callable(func) or isinstance(func, METHODS) else decorator

    def recorded(self, func: Any, name: str, capture: bool) -> Any:
        return recorded(self, func, c_text(name) or b"", capture) if self._enable else func

    def iter(self, func: Iterable[T], name: str = "loop", iter_name: str = "step") -> Iterator[T]:
        """The values of an iterable, for a loop. Each has an event `<name>.iter`, of getting it,
        and `<name>.yield`, of what the loop does with it; both have its number, from 1 on, as
        iter_name."""
        self._since = None
        return loop(self, func, c_text(f"{name}.iter"), c_text(f"{name}.yield"),
                    c_text(iter_name) or b"")

    # ---- what is said of events ----------------------------------------------------------------

    def update(self, epoch: Optional[int] = None, step: Optional[int] = None,
               image_idx: Optional[int] = None, image_size: Optional[Any] = None,
               args: Optional[Dict[str, Any]] = None) -> "dft_fn":
        """Adds arguments, or gives them another value."""
        if not listeners[0]:
            # What comes now is not known, so that what came before is not true any more.
            if self._sticky:
                self._sticky = {}
            return self
        if self.enabled():
            items = named_items(epoch, step, image_idx, image_size, args)
            if not self.note(items):
                self.stick(items)
        return self

    def note(self, items: Items) -> bool:
        """Adds arguments to the innermost event; False if there is none."""
        event = find(self.root)
        if event is not None:
            event.items.update(items)
        return event is not None

    def relate(self, relation: EntityRelation, entity: EntityID) -> "dft_fn":
        """Relates the event to an entity; relations of entities, and the id 0, are ignored."""
        if listeners[0] and self.enabled() and is_event_relation(relation) and entity:
            event = find(self.root)
            if event is not None:
                event.relate(int(relation), int(entity))
            elif self._since is not None:
                self._loose.append((int(relation), int(entity)))
        return self

    def relate_entity(self, relation: EntityRelation, type: Any, key: Any,
                      store: EntityStore = EntityStore.MEMORY, uri: Optional[str] = "") -> EntityID:
        """Declares an entity and relates the event to it. Returns its id, in any case."""
        if not listeners[0] or not self.enabled():
            return entity_hash(type, key)
        event = find(self.root)
        if event is not None and event.handle and is_event_relation(relation):
            return event.relate_entity(int(relation), c_text(type), c_text(key), int(store),
                                       c_text(uri or ""))
        # Known, for whoever refers to it, also when the event itself is not reported.
        entity = dftracer.get_instance().declare_entity(type, key, store, uri)
        self.relate(relation, entity)
        return entity

    def uses(self, type: Any, key: Any, store: EntityStore = EntityStore.MEMORY,
             uri: Optional[str] = "") -> EntityID:
        """The event had it as an input."""
        return self.relate_entity(EntityRelation.USED, type, key, store, uri)

    def generates(self, type: Any, key: Any, store: EntityStore = EntityStore.MEMORY,
                  uri: Optional[str] = "") -> EntityID:
        """The event made it."""
        return self.relate_entity(EntityRelation.GENERATED, type, key, store, uri)

    def log_metadata(self, key: str, value: str) -> None:
        """A record of its own, of no event."""
        if listeners[0] and self.enabled():
            dftracer.get_instance().log_metadata_event(key, value)


METHODS = (staticmethod, classmethod)


def _qualified(func: Any) -> str:
    if isinstance(func, METHODS):
        func = func.__func__
    return getattr(func, "__qualname__", None) or type(func).__name__
