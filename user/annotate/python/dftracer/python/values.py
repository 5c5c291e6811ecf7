# SPDX-License-Identifier: MIT
"""What becomes of Python's values: C strings, and the arguments of events.

Nothing here raises: a program must not fail, because it is traced, at a value that it does not even
use. (TagValue does. It is made by the program, traced or not.)
"""
from __future__ import annotations

import numbers
from enum import IntEnum
from typing import Any, Callable, Dict, Optional, Tuple, Union

__all__ = ["TagType", "TagDType", "TagValue", "TagValueTuple", "Item", "Items", "c_text", "to_item",
           "given_item", "named_items"]

TagValueTuple = Tuple[int, Union[int, float, str]]


class TagType(IntEnum):
    """What an argument is to those who aggregate events: a key, a value, or nothing."""

    KEY = 0
    VALUE = 1
    IGNORE = 2


class TagDType(IntEnum):
    INT = 0
    FLOAT = 1
    STRING = 2


class TagValue:
    """A value of an argument, with its type and what it is for."""

    def __init__(self, value: Any, dtype: TagDType = TagDType.STRING,
                 tag_type: TagType = TagType.KEY) -> None:
        self._dtype = dtype
        self._tag_type = tag_type
        self._value: Union[int, float, str]
        if dtype == TagDType.INT:
            self._value = int(value)
        elif dtype == TagDType.FLOAT:
            self._value = float(value)
        else:
            self._value = str(value)

    def value(self) -> TagValueTuple:
        return int(self._tag_type), self._value


# An argument as it is sent: (TagDType, value, tag).
Item = Tuple[int, Union[int, float, bytes], int]
Items = Dict[bytes, Item]

INT, FLOAT, STRING = map(int, TagDType)
INT_MIN, INT_MAX = -1 << 63, (1 << 63) - 1


def _printed(value: Any) -> str:
    try:
        return str(value)
    except Exception:
        if isinstance(value, int):
            return hex(value)  # str() refuses numbers of thousands of digits
        return f"<{type(value).__name__}>"


def _encoded(text: str) -> bytes:
    try:
        return str.encode(text, "utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return str.encode(text, "utf-8", "surrogatepass")


def c_text(value: Any) -> Optional[bytes]:
    """The value as a C string: of str the UTF-8, with the bytes that file names may have too."""
    if value is None or type(value) is bytes:
        return value
    if isinstance(value, str):
        return _encoded(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    return _encoded(_printed(value))


def _string(value: Any, tag: int) -> Item:
    return STRING, _encoded(value if isinstance(value, str) else _printed(value)), tag


def _integer(value: Any, tag: int) -> Item:
    number = int(value)
    return (INT, number, tag) if INT_MIN <= number <= INT_MAX else _string(number, tag)


def _plain(value: Any, tag: int) -> Item:
    """By the value's type. Integers that are no int, such as numpy's, are integers all the same."""
    if isinstance(value, (int, numbers.Integral)):
        return _integer(value, tag)
    if isinstance(value, (float, numbers.Real)):
        return FLOAT, float(value), tag
    return _string(value, tag)


def _whole(value: Any, tag: int) -> Item:
    if isinstance(value, float) and value.is_integer():
        return _integer(value, tag)
    return _plain(value, tag)


def _real(value: Any, tag: int) -> Item:
    if isinstance(value, (int, numbers.Real)):
        return FLOAT, float(value), tag
    return _plain(value, tag)


CONVERT: Dict[int, Callable[[Any, int], Item]] = {INT: _whole, FLOAT: _real, STRING: _string}


def _converted(convert: Callable[[Any, int], Item], value: Any, tag: int) -> Item:
    if not TagType.KEY <= tag <= TagType.IGNORE:
        tag = 0
    try:
        return convert(value, tag)
    except Exception:  # a number that cannot be converted
        return _string(value, tag)


def _tagged(value: Any, tags: type) -> Tuple[int, Any]:
    """(tag, value) of what may be a TagValue, or such a pair with a tag of that type."""
    if isinstance(value, TagValue):
        return value.value()
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], tags):
        return int(value[0]), value[1]
    return 0, value


def to_item(value: Any, convert: Callable[[Any, int], Item] = _plain) -> Item:
    """Of an argument of update(): a plain value, which a pair of numbers is too, a TagValue, or
    (TagType, value)."""
    if type(value) is int and convert is not _real and INT_MIN <= value <= INT_MAX:
        return INT, value, 0
    tag, value = _tagged(value, TagType)
    return _converted(convert, value, tag)


def given_item(dtype: int, value: Any) -> Item:
    """Of an argument of log_event(): a plain value, a TagValue, or (tag, value)."""
    tag, value = _tagged(value, int)
    return _converted(CONVERT[dtype], value, tag)


def named_items(epoch: Any = None, step: Any = None, image_idx: Any = None, image_size: Any = None,
                args: Optional[Dict[str, Any]] = None) -> Items:
    """The arguments that the API knows by name, and any others."""
    items: Items = {}
    if epoch is not None:
        items[b"epoch"] = to_item(epoch, _whole)
    if step is not None:
        items[b"step"] = to_item(step, _whole)
    if image_idx is not None:
        items[b"image_idx"] = to_item(image_idx, _whole)
    if image_size is not None:
        items[b"image_size"] = to_item(image_size, _real)
    if args:
        for name, value in args.items():
            items[c_text(name) or b""] = to_item(value)
    return items
