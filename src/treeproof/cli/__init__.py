"""The command line: ``treeproof COMMAND``. Each command has a file of its own here."""

from treeproof.cli.main import main

__all__ = ["main"]
