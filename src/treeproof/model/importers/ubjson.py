"""Universal binary JSON, in which XGBoost saves models by default (.ubj): read without XGBoost, and within bounds.

What is read is never larger than a small multiple of the file, and not deeper than `DEEPEST`.
"""

from __future__ import annotations

import struct
from collections.abc import Container
from typing import Any

import numpy as np
import numpy.typing as npt

from treeproof.errors import ForestFormatError

DEEPEST = 50

_CODES = {"i": "b", "U": "B", "I": "h", "l": "i", "L": "q", "d": "f", "D": "d"}
_NUMBERS = {ord(marker): np.dtype(f">{code}") for marker, code in _CODES.items()}
_SINGLE = {ord(marker): struct.Struct(f">{code}") for marker, code in _CODES.items()}
_OWN = {dtype: dtype.newbyteorder("=") for dtype in _NUMBERS.values()}
_EMPTY: dict[Any, npt.NDArray[Any]] = {dtype: np.empty(0, _OWN[dtype]) for dtype in _NUMBERS.values()}
_LONG = ord("L")
_CONSTANTS = {ord("Z"): None, ord("T"): True, ord("F"): False}
_TEXT, _ARRAY, _OBJECT, _TYPE, _COUNT = b"S[{$#"
_ARRAY_END, _OBJECT_END = b"]}"


def parse(data: bytes | bytearray, unread: Container[str] = ()) -> Any:
    """Return the value that the bytes hold; ForestFormatError for what is no UBJSON.

    An array whose type is written once for all its numbers, as XGBoost writes them, is one of numpy. Under keys that
    need not be read, such arrays may be left out.

    >>> parse(b"{i" + bytes([1]) + b"a[$i#i" + bytes([2, 7, 8]) + b"}")
    {'a': array([7, 8], dtype=int8)}
    """
    reader = _Reader(data, unread)
    try:
        value = reader.value(0)
    except (KeyError, ValueError, IndexError, struct.error) as error:
        raise ForestFormatError(
            f"The file must be universal binary JSON. Got: {type(error).__name__}: {error}."
        ) from error
    if reader.at != len(data):
        raise ForestFormatError(f"The file must end with its value. Got {len(data) - reader.at} bytes more.")
    return value


def _numbers(data: bytes | bytearray, dtype: np.dtype[Any], n: int, at: int) -> npt.NDArray[Any]:
    """Return so many numbers as an array of their own: one that is a view of the bytes would keep all of them."""
    return np.frombuffer(data, dtype, n, at).astype(_OWN[dtype]) if n else _EMPTY[dtype]


class _Reader:
    def __init__(self, data: bytes | bytearray, unread: Container[str]) -> None:
        self.data, self.at, self.unread = data, 0, unread
        self.keys: dict[int, list[tuple[bytes | bytearray, str, Any]]] = {}
        """Of the last object at each depth, the keys as they are written: those of the next are mostly the same.

        Where an array of numbers of one type follows, their type, and all that is written before their count.
        """

    def value(self, depth: int) -> Any:
        marker = self.data[self.at]
        self.at += 1
        if marker in (_ARRAY, _OBJECT):
            if depth >= DEEPEST:
                raise ValueError(f"more than {DEEPEST} levels at {self.at}")
            return self.array(depth + 1) if marker == _ARRAY else self.object(depth + 1)
        if marker == _TEXT:
            return self.text()
        if marker in _CONSTANTS:
            return _CONSTANTS[marker]
        single = _SINGLE[marker]
        self.at += single.size
        return single.unpack_from(self.data, self.at - single.size)[0]

    def length(self) -> int:
        if self.data[self.at] == _LONG:  # as XGBoost writes all of them
            self.at += 9
            count = int.from_bytes(self.data[self.at - 8 : self.at], signed=True)
        else:
            count = self.value(DEEPEST)
        # Never more than there are bytes: nothing that is counted takes less than one.
        if type(count) is not int or not 0 <= count <= len(self.data) - self.at:
            raise ValueError(f"a length of {count!r} at {self.at}, of {len(self.data)} bytes")
        return count

    def text(self) -> str:
        n = self.length()
        self.at += n
        return self.data[self.at - n : self.at].decode()

    def array(self, depth: int) -> Any:
        if self.data[self.at] == _TYPE:  # numbers of one type; other types could make many values of no bytes
            dtype = _NUMBERS[self.data[self.at + 1]]
            if self.data[self.at + 2] != _COUNT:
                raise ValueError("a type without a count")
            self.at += 3
            n = self.length()
            found = _numbers(self.data, dtype, n, self.at)
            self.at += n * dtype.itemsize
            return found
        if self.data[self.at] == _COUNT:
            self.at += 1
            return [self.value(depth) for _ in range(self.length())]
        values = []
        while self.data[self.at] != _ARRAY_END:
            values.append(self.value(depth))
        self.at += 1
        return values

    def object(self, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        data, keys, n_same = self.data, self.keys.get(depth, []), 0
        for written, key, dtype in keys:
            if not data.startswith(written, self.at):
                break
            n_same += 1
            at = self.at = self.at + len(written)
            if dtype is None:
                values[key] = self.value(depth)
                continue
            n = int.from_bytes(data[at : at + 8])  # as `array` reads it, only faster
            self.at = at + 8 + n * dtype.itemsize
            if key not in self.unread:
                values[key] = _numbers(data, dtype, n, at + 8)
        if data[self.at] != _OBJECT_END:
            keys = keys[:n_same]
            while data[self.at] != _OBJECT_END:
                start, key = self.at, self.text()
                at, dtype = self.at, None
                if data.startswith(b"[$", at) and data.startswith(b"#L", at + 3):
                    at, dtype = at + 5, _NUMBERS[data[at + 2]]
                keys.append((data[start:at], key, dtype))
                values[key] = self.value(depth)
            self.keys[depth] = keys
        self.at += 1
        return values
