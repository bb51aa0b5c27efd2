"""``treeproof completion bash | zsh | fish``: a script for the shell, made from the parser itself."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from treeproof.cli import codes

EXAMPLES = """
treeproof completion bash > ~/.local/share/bash-completion/completions/treeproof
treeproof completion zsh > ~/.zfunc/_treeproof   # any folder in your $fpath
treeproof completion fish > ~/.config/fish/completions/treeproof.fish
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("shell", choices=["bash", "zsh", "fish"], help="which shell")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    sys.stdout.write(script(args.parser(), args.shell))
    return codes.DONE


@dataclass(frozen=True)
class Option:
    """An option: how it is written, what it does, whether a value follows, and which values there are."""

    flags: tuple[str, ...]
    text: str
    takes_value: bool
    choices: tuple[str, ...]


@dataclass
class Place:
    """What can stand behind some commands: further commands, options, and the values of an argument."""

    path: str  # the commands before it, each with a space in front
    commands: dict[str, str] = field(default_factory=dict)
    options: list[Option] = field(default_factory=list)
    values: tuple[str, ...] = ()


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the script for a shell: ``"bash"``, ``"zsh"`` or ``"fish"``."""
    places = list(_places(parser, ""))
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](places)


def _places(parser: argparse.ArgumentParser, path: str) -> Iterator[Place]:
    place = Place(path)
    below = []
    for action in parser._actions:
        if action.help is argparse.SUPPRESS:
            continue
        if isinstance(action, argparse._SubParsersAction):
            place.commands = {choice.dest: choice.help or "" for choice in action._choices_actions}
            below = [(name, made) for name, made in action.choices.items() if name in place.commands]
            continue
        choices = tuple(map(str, action.choices or ()))
        if action.option_strings:
            text = (action.help or "").replace("%(default)s", str(action.default)).replace("%%", "%")
            place.options.append(Option(tuple(action.option_strings), text, action.nargs != 0, choices))
        else:
            place.values += choices
    yield place
    for name, made in below:
        yield from _places(made, f"{path} {name}")


def _flags(place: Place) -> list[str]:
    return [flag for option in place.options for flag in option.flags]


def _bash(places: list[Place]) -> str:
    known = _either([place.path for place in places if place.path])
    values = "\n".join(
        f"        {_either([f'{place.path} {flag}' for flag in option.flags])})\n"
        f'            COMPREPLY=($(compgen -W "{_words(option.choices)}" -- "$cur")); return ;;'
        for place in places
        for option in place.options
        if option.choices
    )
    words = "\n".join(
        f'        "{place.path}") names="{_words([*place.commands, *place.values])}"; '
        f'options="{_words(_flags(place))}" ;;'
        for place in places
    )
    return f"""# bash completion of treeproof
_treeproof() {{
    local cur at="" names="" options="" i
    cur="${{COMP_WORDS[COMP_CWORD]}}"
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$at ${{COMP_WORDS[i]}}" in
            {known}) at="$at ${{COMP_WORDS[i]}}" ;;
        esac
    done
    case "$at ${{COMP_WORDS[COMP_CWORD-1]}}" in
{values}
    esac
    case "$at" in
{words}
    esac
    if [[ "$cur" == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$cur"))
    elif [[ -n "$names" ]]; then
        COMPREPLY=($(compgen -W "$names" -- "$cur"))
    fi
}}
complete -o default -F _treeproof treeproof
"""


def _zsh(places: list[Place]) -> str:
    known = _either([place.path for place in places if place.path])
    values = "\n".join(
        f"        ({_either([f'{place.path} {flag}' for flag in option.flags])}) "
        f"compadd -- {' '.join(option.choices)}; return ;;"
        for place in places
        for option in place.options
        if option.choices
    )

    def described(pairs: list[tuple[str, str]]) -> str:
        return " ".join(_single(f"{name}:{text}") for name, text in pairs)

    words = "\n".join(
        f"        ('{place.path}')\n"
        f"            names=({described([*place.commands.items(), *((value, value) for value in place.values)])})\n"
        f"            options=({described([(f, option.text) for option in place.options for f in option.flags])}) ;;"
        for place in places
    )
    return f"""#compdef treeproof
# zsh completion of treeproof
_treeproof() {{
    local at="" i
    local -a names options
    for ((i = 2; i < CURRENT; i++)); do
        case "$at ${{words[i]}}" in
            ({known}) at="$at ${{words[i]}}" ;;
        esac
    done
    case "$at ${{words[CURRENT-1]}}" in
{values}
    esac
    case "$at" in
{words}
    esac
    if [[ "${{words[CURRENT]}}" == -* ]]; then
        _describe -o option options
    elif (( ${{#names}} )); then
        _describe command names
    else
        _files
    fi
}}
if [[ "$funcstack[1]" == "_treeproof" ]]; then _treeproof "$@"; else compdef _treeproof treeproof; fi
"""


def _fish(places: list[Place]) -> str:
    known = " ".join(f"'{place.path}'" for place in places if place.path)
    lines = []
    for place in places:
        start = f"complete -c treeproof -n \"__treeproof_at '{place.path}'\""
        lines += [f"{start} -f -a {name} -d {_fish_text(text)}" for name, text in place.commands.items()]
        if place.values:
            lines.append(f"{start} -f -a '{' '.join(place.values)}'")
        for option in place.options:
            flags = " ".join(f"-l {f[2:]}" if f.startswith("--") else f"-s {f[1:]}" for f in option.flags)
            value = f" -x -a '{' '.join(option.choices)}'" if option.choices else " -r" if option.takes_value else ""
            lines.append(f"{start} {flags}{value} -d {_fish_text(option.text)}")
    return f"""# fish completion of treeproof
function __treeproof_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        if contains -- "$at $word" {known}
            set at "$at $word"
        end
    end
    test "$at" = "$argv[1]"
end
{_lines(lines)}
"""


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(lines)


def _words(words: Iterable[str]) -> str:
    return " ".join(words)


def _either(words: list[str]) -> str:
    """Return the pattern of a case that any of the words fits; none of them has a character with a meaning."""
    return "|".join(f'"{word}"' for word in words)


def _single(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
