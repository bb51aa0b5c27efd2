"""The page's modules joined to one text, without a build step: for the widget, and for pages that are saved.

Every module becomes a function that is called once and returns what it exports. That is enough for modules that keep to
what `protocol.md` asks of them; anything else is refused by name.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import posixpath
import re
from functools import cache
from importlib.resources import files
from typing import Any

from treeproof.errors import InternalError

PAGE = files("treeproof.workbench") / "page"
_IMPORT = re.compile(r"""^import\s*\{([^}]*)\}\s*from\s*["'](\.[^"']+)["'];?[ \t]*$""", re.MULTILINE)
_DECLARED = re.compile(r"^export\s+((?:async\s+)?function\*?|class|const)\s+([\w$]+)", re.MULTILINE)
_LISTED = re.compile(r"(?:^|(?<=[;}]))export\s*\{([^}]*)\};?[ \t]*$", re.MULTILINE)
_OTHER = re.compile(r"(?:^\s*|(?<=[;}]))(?:import\b(?!\s*\()|export\b)", re.MULTILINE)


@cache
def bundle(*entries: str) -> str:
    """Return one script in which each name that an entry exports is a constant of that name.

    >>> "const { mount }" in bundle("mount.js")
    True
    """
    order: dict[str, str] = {}
    exported: dict[str, list[str]] = {}
    for entry in entries:
        _visit(entry, order, exported, ())
    places = {module: f"module{i}" for i, module in enumerate(order)}
    parts = [f"const {places[module]} = (() => {{\n{text}\n}})();" for module, text in order.items()]
    for entry in entries:
        parts.append(f"const {{ {', '.join(exported[entry])} }} = {places[entry]};")
    joined = "\n".join(parts)
    for module, place in places.items():
        joined = joined.replace(f"@{module}@", place)
    return joined


def _visit(module: str, order: dict[str, str], exported: dict[str, list[str]], above: tuple[str, ...]) -> None:
    """Put a module behind those that it imports."""
    if module in order:
        return
    if module in above:
        raise InternalError(f"The modules of the page must not import each other in a circle. Got {[*above, module]}.")
    text = (PAGE / module).read_text(encoding="utf-8")
    names: dict[str, str] = {}

    def imported(match: re.Match[str]) -> str:
        source = posixpath.normpath(posixpath.join(posixpath.dirname(module), match[2]))
        _visit(source, order, exported, (*above, module))
        return f"const {{ {', '.join(f'{a}: {b}' for a, b in _pairs(match[1]))} }} = @{source}@;"

    def declared(match: re.Match[str]) -> str:
        names[match[2]] = match[2]
        return f"{match[1]} {match[2]}"

    def listed(match: re.Match[str]) -> str:
        names.update({outside: inside for inside, outside in _pairs(match[1])})
        return ""

    text = _LISTED.sub(listed, _DECLARED.sub(declared, _IMPORT.sub(imported, text)))
    if (left := _OTHER.search(text)) is not None:
        line = text[left.start() :].strip().splitlines()[0]
        raise InternalError(f"A module of the page must import and export as protocol.md says. Got {module}: {line!r}.")
    exported[module] = list(names)
    order[module] = f"{text}\nreturn {{ {', '.join(f'{outside}: {inside}' for outside, inside in names.items())} }};"


def _pairs(listed: str) -> list[tuple[str, str]]:
    """Return ``a, b as c`` as pairs of names.

    >>> _pairs("a, b as c")
    [('a', 'a'), ('b', 'c')]
    """
    found = []
    for item in filter(None, map(str.strip, listed.split(","))):
        first, _, second = item.partition(" as ")
        found.append((first.strip(), (second or first).strip()))
    return found


@cache
def styles(*names: str) -> str:
    """Return style sheets of the page."""
    return "\n".join((PAGE / name).read_text(encoding="utf-8") for name in names)


WIDGET_END = """
export default {
  render({ model, el }) {
    const element = document.createElement("div");
    element.className = "workbench";
    el.append(element);
    const transport = widgetTransport(model);
    transport.save = (state) => {
      model.set("state", state);
      model.save_changes();
    };
    return mount(element, transport, { state: model.get("state"), live: true });
  },
};
"""


def widget_module() -> str:
    """Return the one module of the widget."""
    return bundle("mount.js", "transports.js") + WIDGET_END


def saved_page(title: str, state: Any) -> str:
    """Return the page with a state as one HTML file that needs nothing else and asks nobody."""
    style = styles("style.css", "whole.css")
    script = bundle("mount.js").replace("</script", "<\\/script") + (
        '\nconst state = JSON.parse(document.getElementById("state").textContent);'
        '\nmount(document.getElementById("workbench"), null, { state, live: false });\n'
    )
    plain = json.dumps(state, allow_nan=False).replace("<", "\\u003c")
    policy = (
        f"default-src 'none'; script-src '{_fingerprint(script)}'; style-src '{_fingerprint(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<style>{style}</style>
</head>
<body>
<div id="workbench" class="workbench"></div>
<script type="application/json" id="state">{plain}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def _fingerprint(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
