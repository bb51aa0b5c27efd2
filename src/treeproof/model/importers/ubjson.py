"""Universal binary JSON, in which XGBoost saves models by default (.ubj): read without XGBoost, and within bounds.

What is read is never larger than a small multiple of the file, and not deeper than `DEEPEST`.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from treeproof.errors import ForestFormatError

DEEPEST = 50

_NUMBERS = {"i": ">i1", "U": ">u1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}
_CONSTANTS = {"Z": None, "T": True, "F": False}


def parse(data: bytes) -> Any:
    """Return the value that the bytes hold; ForestFormatError for what is no UBJSON.

    >>> parse(b"{i" + bytes([1]) + b"a[$i#i" + bytes([2, 7, 8]) + b"}")
    {'a': [7, 8]}
    """
    try:
        reader = _Reader(data)
        value = reader.value(reader.marker(), 0)
    except (KeyError, ValueError, struct.error) as error:
        raise ForestFormatError(
            f"The file must be universal binary JSON. Got: {type(error).__name__}: {error}."
        ) from error
    if reader.at != len(data):
        raise ForestFormatError(f"The file must end with its value. Got {len(data) - reader.at} bytes more.")
    return value


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, n: int) -> bytes:
        if not 0 <= n <= len(self.data) - self.at:
            raise ValueError(f"{n} bytes at {self.at}, of {len(self.data)}")
        self.at += n
        return self.data[self.at - n : self.at]

    def marker(self) -> str:
        return chr(self.take(1)[0])

    def skip(self, marker: str) -> bool:
        """Return whether this marker is next, and go past it."""
        found = self.data[self.at : self.at + 1] == marker.encode()
        self.at += found
        return found

    def length(self) -> int:
        count = self.value(self.marker(), DEEPEST)
        if type(count) is not int or count < 0:
            raise ValueError(f"a length of {count!r}")
        return count

    def value(self, marker: str, depth: int) -> Any:
        if marker in _NUMBERS:
            return self.numbers(marker, 1)[0]
        if marker in _CONSTANTS:
            return _CONSTANTS[marker]
        if marker == "S":
            return self.text()
        if depth >= DEEPEST or marker not in "[{":
            raise ValueError(f"{marker!r} at {self.at}, {depth} levels deep")
        return self.array(depth + 1) if marker == "[" else self.object(depth + 1)

    def text(self) -> str:
        return self.take(self.length()).decode()

    def numbers(self, marker: str, n: int) -> list[Any]:
        dtype = np.dtype(_NUMBERS[marker])
        return np.frombuffer(self.take(n * dtype.itemsize), dtype).tolist()

    def array(self, depth: int) -> list[Any]:
        if self.skip("$"):  # numbers of one type; other types could make many values of no bytes
            marker = self.marker()
            if not self.skip("#"):
                raise ValueError("a type without a count")
            return self.numbers(marker, self.length())
        if self.skip("#"):
            return [self.value(self.marker(), depth) for _ in range(self.length())]
        values = []
        while not self.skip("]"):
            values.append(self.value(self.marker(), depth))
        return values

    def object(self, depth: int) -> dict[str, Any]:
        values = {}
        while not self.skip("}"):
            key = self.text()
            values[key] = self.value(self.marker(), depth)
        return values
