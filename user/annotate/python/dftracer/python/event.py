# SPDX-License-Identifier: MIT
"""Events that are open, and which of them is the innermost.

What one call, block or loop needs to know is in an Event, never in the dft_fn, which all calls
share. The open events of a thread, or of an asyncio task, are a list of which a context variable
has the head. The list is never changed, only replaced: a task begins with the list of the task that
made it, and what either does from then on is not seen by the other.
"""
from __future__ import annotations

import time
from contextvars import ContextVar
from enum import Enum
from threading import get_ident
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

from dftracer.python.library import API, lib
from dftracer.python.values import FLOAT, INT, Item, Items

__all__ = ["Kind", "Event", "push", "pop", "find", "innermost", "held", "empty", "emit",
           "emit_since"]

Cell = Tuple["Event", Any]  # an event, and the cell below it

_head: "ContextVar[Optional[Cell]]" = ContextVar("dftracer_open_events", default=None)


class Kind(Enum):
    """What opened an event, and will close it."""

    CALL = 0   # a decorated function
    BLOCK = 1  # a with statement
    START = 2  # start() of ai
    LOOP = 3   # iter()


def _send(handle: int, key: bytes, item: Item) -> None:
    kind, value, tag = item
    if kind == INT:
        lib.region_int(handle, key, value, tag)
    elif kind == FLOAT:
        lib.region_float(handle, key, value, tag)
    else:
        lib.region_str(handle, key, value, tag)


class Event:
    """One that has begun. `owner` is the dft_fn it is of, or what stands for one there.

    With handle 0 it will not be reported: nobody listened when it began, or it was switched off. It
    then only marks that something is open, so that its end does not end another.
    """

    __slots__ = ("owner", "kind", "name", "cat", "items", "handle", "thread", "flushed", "over")

    def __init__(self, owner: Any, kind: Kind, name: bytes, cat: bytes, items: Items,
                 live: bool) -> None:
        self.owner = owner
        self.kind = kind
        self.name = name
        self.cat = cat
        self.items = items
        self.thread = get_ident()
        self.flushed = False
        self.over = False
        self.handle = 0
        if live:
            self._open()

    def _open(self) -> None:
        # Whoever listened may have gone since `listeners` was read: then the library's is inert.
        self.handle = lib.region_open(self.name, self.cat, API) or 0

    def relate(self, relation: int, entity: int) -> None:
        if self.handle:
            lib.region_relate(self.handle, relation, entity)

    def relate_entity(self, relation: int, type: Optional[bytes], key: Optional[bytes], store: int,
                      uri: Optional[bytes]) -> int:
        return lib.region_relate_entity(self.handle, relation, type, key, store, uri)

    def drop(self) -> None:
        """It was none."""
        handle, self.handle = self.handle, 0
        self.over = True
        if handle:
            lib.region_drop(handle)

    def _report(self) -> None:
        handle, self.handle = self.handle, 0
        if handle:
            try:
                # Sent at the end, and not when they are set: the last value of a key counts.
                for key, item in list(self.items.items()):
                    _send(handle, key, item)
            finally:
                lib.region_close(handle)

    def end(self) -> None:
        if self.flushed:
            self.drop()
        else:
            self.over = True
            self._report()

    def flush(self) -> None:
        """It ends here. What follows is another, if there is a flush() at its end as well."""
        self._report()
        self.flushed = True
        self._open()

    def restart(self, live: bool) -> None:
        """It begins here; what was before does not count."""
        self.drop()
        self.over = self.flushed = False
        if live:
            self._open()


def empty() -> bool:
    return _head.get() is None


def push(event: Event) -> None:
    cell = _head.get()
    while cell is not None and cell[0].over:  # ended elsewhere, where this list is not seen
        cell = cell[1]
    event.thread = get_ident()
    _head.set((event, cell))


def pop(event: Event) -> None:
    """Takes the event out, wherever it is: blocks of generators need not end in order."""
    cell = _head.get()
    above = []
    while cell is not None and cell[0] is not event:
        above.append(cell[0])
        cell = cell[1]
    if cell is not None:
        rest = cell[1]
        for other in reversed(above):
            if not other.over:
                rest = (other, rest)
        _head.set(rest)


def find(owner: Any, *kinds: Kind) -> Optional[Event]:
    """The innermost one that is open, of this owner, and of one of the kinds if any are given.

    Only of this thread: an executor may run a function in a copy of another thread's context, while
    that other thread goes on, and an event must not be used by two at once.
    """
    thread = get_ident()
    cell = _head.get()
    while cell is not None:
        event, cell = cell
        if (event.owner is owner and not event.over and event.thread == thread and
                (not kinds or event.kind in kinds)):
            return event
    return None


def innermost(wanted: Callable[[Any], bool]) -> List[Event]:
    """Of this thread the innermost open event of each owner that is wanted."""
    thread = get_ident()
    found: Dict[int, Event] = {}
    cell = _head.get()
    while cell is not None:
        event, cell = cell
        if not event.over and event.thread == thread and wanted(event.owner):
            found.setdefault(id(event.owner), event)
    return list(found.values())


def held(owner: Any, kind: Kind) -> int:
    """How many of a kind are open."""
    number = 0
    cell = _head.get()
    while cell is not None:
        event, cell = cell
        number += event.owner is owner and event.kind is kind and not event.over
    return number


def emit(name: bytes, cat: bytes, start_us: int, duration_us: int,
         items: Iterable[Tuple[bytes, Item]], relations: Iterable[Tuple[int, int]]) -> None:
    """An event that is over already."""
    handle = lib.region_open(name, cat, API)
    if not handle:
        return
    try:
        lib.region_times(handle, max(0, start_us), max(0, duration_us))
        for key, item in items:
            _send(handle, key, item)
        for relation, entity in relations:
            lib.region_relate(handle, relation, entity)
    finally:
        lib.region_close(handle)


def emit_since(since_ns: int, name: bytes, cat: bytes, items: Items,
               relations: Iterable[Tuple[int, int]]) -> int:
    """An event from then (of the monotonic clock) to now; returns now."""
    now = time.monotonic_ns()
    duration = (now - since_ns) // 1000
    emit(name, cat, lib.get_time() - duration, duration, list(items.items()), relations)
    return now
