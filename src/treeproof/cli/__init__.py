"""The command line: ``treeproof COMMAND``. Each command has its own file here."""

from treeproof.cli.main import main

__all__ = ["main"]
