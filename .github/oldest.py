"""Prints the oldest version that pyproject.toml allows of each dependency, as constraints for pip."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
wanted = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
found = dict(match.groups() for text in wanted if (match := re.match(r"([\w-]+)(?:\[.*\])?>=([\w.]+)", text)))
print("\n".join(f"{name}=={version}" for name, version in sorted(found.items())))  # noqa: T201
