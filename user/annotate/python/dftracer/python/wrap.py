# SPDX-License-Identifier: MIT
"""Functions and loops that are recorded.

A decorated function of each sort is one of the same sort again: whoever asks whether it is a
generator function or a coroutine function gets the same answer. While nobody listens it does
nothing but to look at `listeners` and call.
"""
from __future__ import annotations

import functools
import inspect
import types
from typing import Any, Callable, Iterable, Iterator, Optional

from dftracer.python.event import Event, Kind, pop, push
from dftracer.python.library import lib, listeners
from dftracer.python.values import INT, Items, named_items

__all__ = ["recorded", "loop", "arguments_of"]

NAMED = ("epoch", "step", "image_idx", "image_size")

Capture = Callable[[tuple, dict], Items]


def arguments_of(func: Callable[..., Any]) -> Optional[Capture]:
    """What finds epoch, step, image_idx and image_size among the arguments of a call, or, in a
    method, among the attributes of the object; None if there is nothing to find."""
    try:
        parameters = list(inspect.signature(func).parameters.values())
    except (TypeError, ValueError):  # not all that is written in C tells
        return None
    places = [(p.name, i, None if p.default is p.empty else p.default)
              for i, p in enumerate(parameters) if p.name in NAMED]
    method = bool(parameters) and parameters[0].name == "self"
    if not places and not method:
        return None

    def capture(args: tuple, kwargs: dict) -> Items:
        found = {}
        if method and args:
            try:
                # Not getattr(): a property would run code of the program's.
                attributes = vars(args[0])
            except Exception:
                attributes = {}
            found = {name: attributes[name] for name in NAMED if name in attributes}
        for name, position, default in places:
            value = kwargs.get(name, args[position] if position < len(args) else default)
            if value is not None:
                found[name] = value
        return named_items(**found)

    return capture


def _begin(owner: Any, name: bytes, capture: Optional[Capture], args: tuple,
           kwargs: dict) -> Optional[Event]:
    if not owner.enabled():
        return None
    items = owner.settled()
    if capture is not None:
        items.update(capture(args, kwargs))
    return Event(owner.root, Kind.CALL, name, owner.c_cat, items, True)


def _function(owner: Any, func: Callable[..., Any], name: bytes,
              capture: Optional[Capture]) -> Callable[..., Any]:
    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not listeners[0]:
            return func(*args, **kwargs)
        event = _begin(owner, name, capture, args, kwargs)
        if event is None:
            return func(*args, **kwargs)
        push(event)
        try:
            return func(*args, **kwargs)
        finally:
            pop(event)
            event.end()

    return wrapper


def _coroutine(owner: Any, func: Callable[..., Any], name: bytes,
               capture: Optional[Capture]) -> Callable[..., Any]:
    @functools.wraps(func)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not listeners[0]:
            return await func(*args, **kwargs)
        event = _begin(owner, name, capture, args, kwargs)
        if event is None:
            return await func(*args, **kwargs)
        push(event)
        try:
            return await func(*args, **kwargs)
        finally:
            pop(event)
            event.end()

    return wrapper


def _generator(owner: Any, func: Callable[..., Any], name: bytes,
               capture: Optional[Capture]) -> Callable[..., Any]:
    """One event from the first value asked for to the end. It is open, for whoever looks for the
    innermost one, only while the generator runs, not while its consumer does."""
    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        event = _begin(owner, name, capture, args, kwargs) if listeners[0] else None
        if event is None:
            return (yield from func(*args, **kwargs))
        try:
            return (yield from _driven(func(*args, **kwargs), event))
        finally:
            event.end()

    return wrapper


def _driven(inner: Any, event: Event) -> Any:
    resume, value = inner.send, None
    while True:
        push(event)
        try:
            item = resume(value)
        except StopIteration as stop:
            return stop.value
        finally:
            pop(event)
        try:
            value = yield item
            resume = inner.send
        except GeneratorExit:
            push(event)
            try:
                inner.close()
            finally:
                pop(event)
            raise
        except BaseException as error:
            resume, value = inner.throw, error


def _async_generator(owner: Any, func: Callable[..., Any], name: bytes,
                     capture: Optional[Capture]) -> Callable[..., Any]:
    """As _generator(). There is no `yield from` for these, so that also what is not recorded is
    handed through by hand."""
    @functools.wraps(func)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        event = _begin(owner, name, capture, args, kwargs) if listeners[0] else None
        inner = func(*args, **kwargs)
        resume, value = inner.asend, None
        try:
            while True:
                try:
                    item = await _within(event, resume(value))
                except StopAsyncIteration:
                    return
                try:
                    value = yield item
                    resume = inner.asend
                except GeneratorExit:
                    await _within(event, inner.aclose())
                    raise
                except BaseException as error:
                    resume, value = inner.athrow, error
        finally:
            if event is not None:
                event.end()

    return wrapper


async def _within(event: Optional[Event], awaitable: Any) -> Any:
    if event is None:
        return await awaitable
    push(event)
    try:
        return await awaitable
    finally:
        pop(event)


def recorded(owner: Any, func: Any, name: bytes, capture: bool) -> Any:
    """The function, with an event of this name for each call; without a library the function."""
    if lib is None:
        return func
    if isinstance(func, (staticmethod, classmethod)):
        return type(func)(recorded(owner, func.__func__, name, capture))
    arguments = arguments_of(func) if capture else None
    if inspect.iscoroutinefunction(func):
        return _coroutine(owner, func, name, arguments)
    if inspect.isasyncgenfunction(func):
        return _async_generator(owner, func, name, arguments)
    if inspect.isgeneratorfunction(func):
        wrapper = _generator(owner, func, name, arguments)
        if func.__code__.co_flags & inspect.CO_ITERABLE_COROUTINE:
            wrapper = types.coroutine(wrapper)
        return wrapper
    return _function(owner, func, name, arguments)


def loop(owner: Any, iterable: Iterable[Any], iter_name: Optional[bytes],
         block_name: Optional[bytes], counter: bytes) -> Iterator[Any]:
    """The values of the iterable. Of each there are two events: of getting it, and of what the loop
    does with it. Getting the end is none."""
    if lib is None:
        yield from iterable
        return

    def begin(name: Optional[bytes]) -> Optional[Event]:
        if not listeners[0] or name is None or not owner.enabled():
            return None
        event = Event(owner.root, Kind.LOOP, name, owner.c_cat, owner.settled(), True)
        event.items[counter] = (INT, count, 0)
        push(event)
        return event

    def end(event: Optional[Event], how: Callable[[Event], None] = Event.end) -> None:
        if event is not None:
            pop(event)
            how(event)

    iterator = iter(iterable)
    count = 0
    while True:
        count += 1
        event = begin(iter_name)
        try:
            value = next(iterator)
        except StopIteration:
            end(event, Event.drop)
            return
        except BaseException:
            end(event)
            raise
        end(event)
        event = begin(block_name)
        try:
            yield value
        finally:
            end(event)
