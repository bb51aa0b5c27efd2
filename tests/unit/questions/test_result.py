"""The contract of results: every class keeps it, and text, card, terminal and exit code come from it."""

from __future__ import annotations

import dataclasses
import html
import inspect
import io
import json
import pickle
import re
import sys
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

import treeproof as tp
from treeproof.cli import ask, codes, main, terminal
from treeproof.questions.abductive import in_ranges
from treeproof.questions.result import Line, Result
from treeproof.space.wording import AS_FLOAT32

FOREST, PATIENT = tp.examples.heart_disease()


def subclasses(kind: type) -> set[type]:
    """The classes below one that can have instances."""
    below = set(kind.__subclasses__())
    return {each for each in below if not inspect.isabstract(each)}.union(*map(subclasses, below))


def exhausted(listing: tp.Enumeration) -> tp.Enumeration:
    for _ in listing:
        pass
    return listing


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> list[Result]:
    """Results of every class: decided, and as far as a deadline of no time lets them be."""
    explainer = tp.Explainer(FOREST)
    simple = tp.build_forest(
        [tp.split("chest-pain", 0.5, "No", "Yes")], columns=FOREST.column_names, classes=["No", "Yes"]
    )
    rows = [PATIENT, [0, 1, 1, 80]]
    folder = tmp_path_factory.mktemp("reports")
    made: list[Result] = []
    for timeout in (None, 0):
        claim = "chest-pain >= 1 and weight >= 70"
        made += [
            explainer.abductive(PATIENT, timeout=timeout),
            explainer.abductive(PATIENT, inflate=True, timeout=timeout),
            explainer.abductive(PATIENT, minimum=True, timeout=timeout),
            explainer.contrastive(PATIENT, timeout=timeout),
            explainer.contrastives(PATIENT, 3, timeout=timeout),
            explainer.holds(PATIENT, ["chest-pain"], timeout=timeout),
            explainer.holds(PATIENT, [0, 1, 2, 3], timeout=timeout),
            explainer.relevance(PATIENT, timeout=timeout),
            explainer.attribution(PATIENT, timeout=timeout),
            *(explainer.robustness(PATIENT, norm, timeout=timeout) for norm in ("linf", "l1", "l0")),
            explainer.most_general(PATIENT, rows, timeout=timeout),
            explainer.review(PATIENT, claim, timeout=timeout),
            explainer.review(PATIENT, list(FOREST.column_names), timeout=timeout),
            explainer.audit(rows * 12, ["chest-pain", "weight"], timeout=timeout),
            *explainer.audit(rows, ["chest-pain"], timeout=timeout).rows,
            tp.compare(FOREST, simple, rows * 12, timeout=timeout),
            explainer.batch(rows, timeout=timeout),
            explainer.profile(PATIENT, timeout=timeout),
            exhausted(explainer.enumerate(PATIENT, kind="both", timeout=timeout)),
            explainer.extremes(timeout=timeout),
            explainer.effect("weight", timeout=timeout),
            explainer.prove("if weight > 80 then Yes", timeout=timeout),
            explainer.prove("if chest-pain = 0 and weight < 60 then No", timeout=timeout),
            explainer.monotone(timeout=timeout),
            explainer.monotone("good-blood-circulation", timeout=timeout),
            explainer.independent(["weight"], timeout=timeout),
            tp.differ(FOREST, simple, rows[:1], timeout=timeout),
            explainer.rules(rows, timeout=timeout),
            *explainer.rules(rows, timeout=timeout).rules,
            tp.report(explainer, rows, folder / f"report {timeout}.html", timeout=timeout),
        ]
    return [
        *made,
        explainer.coverage("weight > 75", rows),
        replace(explainer.rules(rows)[0], widest=False),
        explainer.enumerate(PATIENT),
        exhausted(explainer.enumerate(PATIENT, kind="both", limit=1)),
        explainer.attribution(PATIENT, limit=1),
    ]


def drawn(result: Result, monkeypatch, name: str | None = None) -> str:
    """Return what a terminal shows, with its colours."""
    console = pytest.importorskip("rich.console").Console(
        file=io.StringIO(), force_terminal=True, width=400, highlight=False, color_system="standard", _environ={}
    )
    monkeypatch.setattr(terminal, "_live", console)
    terminal.say_view(result, name)
    return console.file.getvalue()


def test_the_results_here_are_of_every_class(results):
    public = {getattr(tp, name) for name in tp.__all__ if isinstance(getattr(tp, name), type)}
    found = [kind for kind in subclasses(Result) if kind.__module__.startswith("treeproof.")]
    # A dataclass with slots is made twice, and the first one is a subclass as well.
    shipped = {getattr(sys.modules[kind.__module__], kind.__name__) for kind in found}
    assert {type(result) for result in results} == shipped
    assert shipped <= public


def test_every_result_keeps_the_contract(results):
    for result in results:
        assert result.title
        assert isinstance(result.decided, bool)
        for line in result.lines:
            assert isinstance(line, Line)
            assert line.text
        for text in (result.title, *map(str, result.lines)):
            assert "\n" not in text
        data = json.loads(json.dumps(result.to_dict(), allow_nan=False))
        assert isinstance(data["kind"], str)


def test_a_deadline_of_no_time_leaves_every_kind_of_question_open(results):
    kinds = {type(result) for result in results if not result.decided}
    assert kinds == {type(result) for result in results} - {tp.Coverage}
    assert {type(result) for result in results if result.decided} == {type(result) for result in results}


def test_what_is_open_says_so_and_what_is_decided_does_not(results):
    def said(result: Result) -> set[str]:
        return {line.role for line, _ in result.written()}

    for result in results:
        if result.decided:
            assert "open" not in said(result), result
            assert "timed out" not in str(result).lower()
        elif isinstance(result, tp.Comparison | tp.Audit):  # counts, of rows that say it themselves
            assert "not decided in time" in str(result)
        elif isinstance(result, tp.Enumeration) and result.complete is None:
            assert "More may come" in str(result)
        else:
            assert "open" in said(result), result
            assert "proved" not in said(result) or isinstance(result, tp.Contrastives | tp.Review | tp.Difference), (
                result
            )
            assert "timed out" in str(result).lower()


def test_the_claim_is_what_the_statements_say(results):
    for result in results:
        for sentence in result.claim.splitlines():
            assert sentence in str(result).splitlines()
        if isinstance(result, tp.Abductive | tp.Contrastive | tp.Robustness | tp.Relevance | tp.Attribution):
            said = [line for line in str(result).splitlines() if line != AS_FLOAT32 and line[:7] != "Scale: "]
            assert result.claim == said[-1]
        if isinstance(result, tp.Verdict):
            assert result.claim == result.title


def test_text_card_and_terminal_say_the_same(results, monkeypatch):
    for result in results:
        text = str(result)
        lines = [result.title] if isinstance(result, tp.Batch) else text.splitlines()  # a batch may be long
        assert repr(result) == f"<{type(result).__name__}: {' | '.join(map(str.strip, lines))}>"
        card = html.unescape(re.sub("<[^>]*>", "\n", result._repr_html_()))
        in_card = in_ranges(result) if isinstance(result, tp.Abductive) else result
        shown = re.sub(r"\x1b\[[0-9;]*m", "", drawn(result, monkeypatch, "row 7"))
        for line, before in result.written():
            assert before + str(line) in text.splitlines()
            if line.role != "row" and line.role != "more":  # tables have rows of their own
                assert line.text in shown
        for line, _ in in_card.written():
            assert re.sub(r"^\d+\. (?=.* instead of )", "", str(line)) in card
        for part in result.parts:
            assert str(part) in text
            assert part._repr_html_() in result._repr_html_()


def test_colours_come_from_roles(results, monkeypatch):
    colours = {"refuted": "\x1b[31m╭", "open": "\x1b[33m╭", "proved": "\x1b[32m╭"}
    for result in results:
        roles = {line.role for line, _ in result.written()}
        frame = next((colour for role, colour in colours.items() if role in roles), "\x1b[2m╭")
        assert drawn(result, monkeypatch).startswith(frame), result


def test_the_exit_code_is_0_only_if_everything_is_decided(results):
    for result in results:
        assert codes.code_of([result]) == (codes.DONE if result.decided else codes.LATE)
    assert codes.code_of(results) == codes.LATE
    assert codes.code_of(result for result in results if result.decided) == codes.DONE


def test_every_way_to_run_out_of_time_counts():
    explainer = tp.Explainer(FOREST)
    why, change = explainer.abductive(PATIENT, inflate=True), explainer.contrastive(PATIENT)
    rule, several = explainer.most_general(PATIENT, [PATIENT]), explainer.contrastives(PATIENT, 1)
    least, row = explainer.abductive(PATIENT, minimum=True), explainer.audit([PATIENT], ["weight"]).rows[0]
    assert all(result.decided for result in (why, change, rule, several, least, row))
    late = [
        replace(why, widest=False, timed_out=True),
        replace(change, closest=False),
        replace(rule, widest=False),
        replace(several, changes=(replace(several.changes[0], closest=False),)),
        replace(least, status="minimal", lower_bound=Fraction(1)),
    ]
    for result in late:
        assert "timed out" in str(result).lower()
        assert not result.decided
    assert not tp.Audit(("weight",), (row, replace(row, status="sound"))).decided


@pytest.mark.parametrize("status", ["new", ""])
def test_a_status_that_nobody_knows_is_not_decided(results, status):
    for result in results:
        if hasattr(result, "status"):
            assert not replace(result, status=status).decided, type(result)


@dataclass(frozen=True, slots=True, repr=False)
class Invented(Result):
    """A result of a question that is yet to come."""

    decided: bool
    status: str = "interesting"

    @property
    def title(self) -> str:
        return f"something {self.status}"

    def to_dict(self):
        return {"kind": "invented", "status": self.status}


@pytest.mark.parametrize(("decided", "code"), [(True, codes.DONE), (False, codes.LATE)])
def test_the_exit_code_of_a_new_result_is_what_it_says(decided, code, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    tp.save_forest(FOREST, "m.json")
    (tmp_path / "d.csv").write_text(f"{','.join(FOREST.column_names)}\n{','.join(map(str, PATIENT))}\n")
    monkeypatch.setattr(ask.Explainer, "relevance", lambda *_, **__: Invented(decided))
    assert main(["ask", "relevance", "m.json", "d.csv"]) == code
    assert capsys.readouterr().out == "row 0: something interesting\n\n"


def test_a_result_that_does_not_say_whether_it_is_decided_cannot_be_made():
    class Silent(Result):
        __slots__ = ()
        title = "nothing"

        def to_dict(self):
            return {}

    with pytest.raises(TypeError, match=r"abstract .*decided"):
        Silent()


def test_classes_are_quoted_where_they_could_be_read_as_something_else():
    forest = tp.build_forest([tp.split("x", 0, "<0", "1")], columns=["x"], classes=["<0", "1"])
    explainer = tp.Explainer(forest)
    assert explainer.abductive([3]).title == '"1", because'
    assert explainer.contrastive([3]).title == '"<0" instead of "1", if'
    assert explainer.review([3], "x > -5").title == 'Wrong: these conditions do not force "1"'
    named = tp.Explainer(forest, names={"1": "positive"})
    assert named.contrastive([3]).title == '"<0" instead of positive, if'
    assert tp.Explainer(tp.build_forest([tp.split("x", 0, 0, 1)], columns=["x"], classes=[0, 1])).abductive(
        [3]
    ).title == ("1, because")


def test_a_reason_is_widened_later_as_at_once():
    explainer = tp.Explainer(FOREST)
    for options in ({}, {"minimum": True}, {"at_most": 1}, {"within": 0.5}):
        later = explainer.abductive(PATIENT, **options).widened()
        at_once = explainer.abductive(PATIENT, inflate=True, **options)
        assert str(later) == str(at_once)
        assert later.widened() is later
        assert tp.check(later.certificate(), FOREST)
    with pytest.raises(tp.UnsupportedQueryError, match="not a copy"):
        pickle.loads(pickle.dumps(explainer.abductive(PATIENT))).widened()


def test_a_reason_shows_its_own_row_whenever_it_is_asked():
    explainer, row = tp.Explainer(FOREST), np.array(PATIENT, dtype=np.float32)
    why, other = explainer.abductive(row), explainer.abductive([*PATIENT[:3], 71])
    assert why.features == other.features
    row[:] = 0  # the caller's array may change before the row is written
    assert why.instance == tuple(map(float, PATIENT))
    assert why.to_dict()["instance"] == why.instance
    assert why == explainer.abductive(PATIENT) == pickle.loads(pickle.dumps(why))
    assert hash(why) == hash(explainer.abductive(PATIENT))
    assert why != other, "another row"


def test_reasons_of_lists_and_audits_can_be_widened_too():
    for explainer in (tp.Explainer(FOREST), tp.Explainer(FOREST, verify=True)):
        at_once = explainer.abductive(PATIENT, inflate=True)
        (listed,) = explainer.enumerate(PATIENT)
        assert str(listed.widened()) == str(at_once)
        assert "&gt; 0.5" in listed._repr_html_()
        (row,) = explainer.audit([PATIENT], protected=["weight"]).rows
        assert str(row.why.widened()) == str(at_once)
        not_no = [why.widened() for why in explainer.enumerate(PATIENT, target="No")]
        assert [why.widest for why in not_no] == [True] * len(not_no)
        for wide in (listed.widened(), row.why.widened(), *not_no):
            assert tp.check(wide.certificate(), FOREST)
        assert not pickle.loads(pickle.dumps(listed)).can_widen


def test_a_review_says_what_holds_but_for_rounding():
    """0.4999999999 is below 0.5, and float32 reads it as 0.5."""
    forest = tp.build_forest([tp.split("x", 0.25, 0, 1), tp.split("x", 0.5, 1, 0)], columns=["x"], classes=[0, 1])
    found = tp.Explainer(forest).review([0.3], "x > 0.25 and x <= 0.5")
    assert (found.holds, found.only_if) == (False, (AS_FLOAT32,))
    assert found.title == "Wrong, but only by rounding: these conditions do not force 1"
    assert AS_FLOAT32 in str(found)
    assert tp.Explainer(forest).review([0.3], "x > 0.2").only_if == ()


def test_a_largest_change_that_is_not_proved_to_be_the_largest_is_not_called_so():
    forest, _ = tp.examples.heart_disease()
    explainer = tp.Explainer(forest)
    effect = explainer.effect("weight")
    assert "by up to 0.333333" in effect.title
    late = dataclasses.replace(effect, status="bounds", bound=0.5)
    assert "by 0.333333 or more" in late.title
    assert "up to" not in str(late)
    other = tp.build_forest([tp.split("weight", 50, "No", "Yes")], columns=forest.column_names, classes=["No", "Yes"])
    found = tp.differ(explainer, tp.Explainer(other))
    assert found.gap is not None
    assert "differs by up to" in str(found)
    assert "up to" not in str(dataclasses.replace(found, gap=dataclasses.replace(found.gap, exact=False)))
