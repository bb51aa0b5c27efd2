"""Ways to damage what was right: bytes, texts, and JSON of any shape."""

from __future__ import annotations

import json
import marshal
import re
from typing import Any

import numpy as np

HOSTILE = [None, True, False, 0, -1, 1, 2**31, -(2**63), 10**9, 10**30, 0.5, "", "x", "0x1p+3", "-inf", [], {}, [[]]]
NUMBERS = ["-1", "0", "1", "1000000000", "99999999999999999999", "1e309", "nan", "-inf", "1e-320", "0.1", "x", ""]


def copied(document: Any) -> Any:
    """Return a copy of what JSON can hold, faster than copy.deepcopy does."""
    return marshal.loads(marshal.dumps(document))


def damaged_bytes(rng: np.random.Generator, content: bytes) -> bytes:
    """Return bytes that are truncated, flipped, overwritten, repeated or left out somewhere."""
    data = bytearray(content)
    if not data:
        return content
    at, span = int(rng.integers(len(data))), int(rng.integers(1, 40))
    match int(rng.integers(7)):
        case 0:
            del data[at:]
        case 1:
            for place in rng.integers(len(data), size=int(rng.integers(1, 9))):
                data[place] ^= 1 << int(rng.integers(8))
        case 2:
            data[at : at + span] = rng.integers(0, 256, span, dtype=np.uint8).tobytes()
        case 3:
            data[at:at] = data[at : at + span] * int(rng.integers(1, 50))
        case 4:
            del data[at : at + span]
        case 5:  # what may be a length
            size = int(rng.choice([2, 4, 8]))
            data[at : at + size] = int(rng.choice([10**9, 2**31 - 1, 0, 2**15])).to_bytes(8, "big")[-size:]
        case 6:
            data[at : at + 4] = int(rng.choice([10**9, 2**31 - 1, 2**32 - 1])).to_bytes(4, "little")
    return bytes(data)


def damaged_text(rng: np.random.Generator, text: str) -> str:
    """Return a text with some of its numbers, or its lines, replaced, repeated or left out."""
    if rng.random() < 0.25:
        lines = text.split("\n")
        at, other = rng.integers(len(lines), size=2)
        match int(rng.integers(4)):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, lines[other])
            case 2:
                lines[at], lines[other] = lines[other], lines[at]
            case 3:
                lines[at] = lines[at] * int(rng.integers(2, 2000))
        return "\n".join(lines)
    found = list(re.finditer(r"-?\d+(\.\d+)?(e[-+]?\d+)?", text))
    for match in sorted(rng.choice(len(found), min(3, len(found)), replace=False), reverse=True) if found else ():
        new = str(rng.choice(NUMBERS)) if rng.random() < 0.6 else found[rng.integers(len(found))][0]
        text = text[: found[match].start()] + new + text[found[match].end() :]
        if rng.random() < 0.6:
            break
    return text


def twice(rng: np.random.Generator, document: Any) -> str:
    """Return JSON text in which a key of the outermost object occurs twice, with two values."""
    key = list(document)[rng.integers(len(document))]
    other = document[list(document)[rng.integers(len(document))]]
    return json.dumps(document)[:-1] + f", {json.dumps(key)}: {json.dumps(other)}}}"


def places(document: Any) -> list[tuple[Any, Any]]:
    """Return every place in a JSON document: what holds it, and its key or index there."""
    found, todo = [], [document]
    while todo:
        holder = todo.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            found.append((holder, key))
            if isinstance(holder[key], dict | list):
                todo.append(holder[key])
    return found


def same_place(documents: list[Any], document: Any, rng: np.random.Generator) -> tuple[Any, Any, Any] | None:
    """Return a place of a document, and what another one of the same shape has there."""
    other = documents[rng.integers(len(documents))]
    here = document
    while True:
        if isinstance(here, dict) and isinstance(other, dict) and (keys := sorted(here.keys() & other.keys())):
            key: Any = keys[rng.integers(len(keys))]
        elif isinstance(here, list) and isinstance(other, list) and (n := min(len(here), len(other))):
            key = int(rng.integers(n))
        else:
            return None
        inner = here[key]
        if not isinstance(inner, dict | list) or rng.random() < 0.4:
            return here, key, other[key]
        here, other = inner, other[key]


def damaged_json(rng: np.random.Generator, document: Any, others: list[Any] | None = None) -> Any:
    """Return a copy of a document with one to three places changed, some to what similar documents have there."""
    document = copied(document)
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        if others and rng.random() < 0.35:
            place = same_place(others, document, rng)
            if place is not None:
                holder, key, value = place
                holder[key] = copied(value)
            continue
        found = places(document)
        if not found:
            break
        # A place in a long list is one of very many: often take one by what holds it.
        if rng.random() < 0.5:
            holders = list({id(holder): holder for holder, _ in found}.values())
            holder = holders[rng.integers(len(holders))]
            keys = list(holder) if isinstance(holder, dict) else range(len(holder))
            key = list(keys)[rng.integers(len(keys))]
        else:
            holder, key = found[rng.integers(len(found))]
        _change(rng, holder, key)
    return document


def _change(rng: np.random.Generator, holder: Any, key: Any) -> None:
    value = holder[key]
    choice = rng.random()
    if choice < 0.12:
        del holder[key]
    elif choice < 0.2:
        holder[key] = copied(HOSTILE[rng.integers(len(HOSTILE))])
    elif choice < 0.28 and isinstance(holder, list):
        holder.insert(key, copied(holder[rng.integers(len(holder))]))
    elif choice < 0.36 and len(holder) > 1:
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        other = list(keys)[rng.integers(len(keys))]
        holder[key], holder[other] = holder[other], value
    elif isinstance(value, bool):
        holder[key] = not value
    elif isinstance(value, int):
        holder[key] = value + int(rng.choice([-1, 1, 1, -2, 2, 3, -value, 64, 2**20]))
    elif isinstance(value, float):
        holder[key] = float(np.nextafter(value, rng.choice([-1e300, 1e300]))) if rng.random() < 0.5 else -value
    elif isinstance(value, str):
        holder[key] = _other_text(rng, value)
    elif isinstance(value, list) and value:
        match int(rng.integers(4)):
            case 0:
                value.append(copied(value[rng.integers(len(value))]))
            case 1:
                value.pop(int(rng.integers(len(value))))
            case 2:
                value.reverse()
            case 3 if all(type(entry) is int for entry in value):
                value.append(max(value) + 1)
            case _:
                value[:] = value[: int(rng.integers(len(value)))]
    elif isinstance(value, dict) and value:
        keys = list(value)
        old, new = (keys[rng.integers(len(keys))] for _ in range(2))
        value[str(rng.integers(6)) if rng.random() < 0.5 else new] = copied(value[old])


def _other_text(rng: np.random.Generator, value: str) -> str:
    """Return another number, if a text is one in hexadecimal, else another text."""
    try:
        number = float.fromhex(value)
    except (ValueError, OverflowError):
        words = ["", value + " ", value[:-1], value.swapcase(), "sufficient", "minimal", "change", "\x1b[2J", "\ud800"]
        return words[rng.integers(len(words))]
    dtype = np.float32 if rng.random() < 0.6 else np.float64
    with np.errstate(all="ignore"):
        near = [np.nextafter(dtype(number), dtype(end)) for end in (-np.inf, np.inf)]
        far = [0.0, -number, number * 2, number + 1, number - 1, 1e308, 5e-324, np.inf, dtype(number)]
    return float(near[rng.integers(2)] if rng.random() < 0.5 else far[rng.integers(len(far))]).hex()
