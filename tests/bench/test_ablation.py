"""The techniques that ``treeproof_bench.ablation`` switches off are where it looks for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from treeproof_bench import ablation

CORE = Path(__file__).parents[2] / "core"


@pytest.mark.parametrize("technique", ablation.TECHNIQUES)
def test_its_lines_are_in_the_core_once(technique):
    for file, there, instead in ablation.TECHNIQUES[technique]:
        assert (CORE / file).read_text().count(there) == 1, f"core/{file}: {there}"
        assert instead != there


def test_a_technique_that_is_not_known_is_refused_with_those_that_are():
    with pytest.raises(SystemExit, match=r"--without must name some of: moved witnesses, .*Got prayers"):
        ablation.main(["--without", "lanes", "prayers"])


def test_a_folder_that_is_no_checkout_is_refused(tmp_path):
    with pytest.raises(SystemExit, match=r"checkout of treeproof\. There is no CMakeLists.txt"):
        ablation.main(["--source", str(tmp_path)])


def test_an_edit_that_does_not_fit_is_refused_before_anything_is_compiled(tmp_path):
    source = tmp_path / "checkout"
    (source / "core").mkdir(parents=True)
    (source / "src").mkdir()
    for name in ("CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE"):
        (source / name).write_text("")
    (source / "core" / "search.cpp").write_text("twice twice")
    for there, times in (("twice", 2), ("never", 0)):
        with pytest.raises(SystemExit, match=f"must hold this once, it has it {times} times: {there}"):
            ablation.compiled(source, [("search.cpp", there, "once")], tmp_path / there)
