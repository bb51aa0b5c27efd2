"""``treeproof completion bash | zsh | fish``: a completion script, made by shtab from the parser itself."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from treeproof.cli import codes
from treeproof.errors import MissingExtraError

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
    try:
        import shtab
    except ImportError as error:
        raise MissingExtraError("Completion scripts need shtab: pip install 'treeproof[cli]'.") from error
    parser = args.parser()
    _mark_files(parser, shtab)
    sys.stdout.write(shtab.complete(parser, args.shell).rstrip() + "\n")
    return codes.DONE


def _mark_files(parser: argparse.ArgumentParser, shtab: Any) -> None:
    """Tell shtab which are files: all arguments without choices, and options whose value is called FILE or DIR."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for made in action.choices.values():
                _mark_files(made, shtab)
        elif action.metavar == "DIR":
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
        elif action.metavar == "FILE" or not (action.option_strings or action.choices):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
