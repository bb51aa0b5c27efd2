"""The page of the workbench in a real browser: what a person sees and does."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import treeproof as tp

from .conftest import LONG

pytestmark = [pytest.mark.slow, pytest.mark.browser]

HERE = Path(__file__).parent
AXE = (HERE / "vendor" / "axe.min.js").read_text(encoding="utf-8")
ROW = 70  # which both petal measures force


def heading(page, text):
    """Wait until the verdict begins like this, and is checked; return all of it."""
    page.wait_for_selector(f"header:not(.checking) h1:has-text({json.dumps(text)})")
    return page.inner_text("h1")


def names(page, group):
    return [each.inner_text() for each in page.locator(f"ul[aria-label='{group}'] .name").all()]


def slider(page, name, end="value"):
    return page.get_by_role("slider", name=f"{name}, {end}")


def drag(page, handle, share):
    """Drag a handle to this share of its scale, in several moves; the button stays down."""
    place = handle.bounding_box()
    track = handle.locator("xpath=..").bounding_box()
    y = place["y"] + place["height"] / 2
    page.mouse.move(place["x"] + place["width"] / 2, y)
    page.mouse.down()
    page.mouse.move(track["x"] + share * track["width"], y, steps=8)


def complaints(page, within="main"):
    """Return what axe finds wrong in a part of the page."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found = page.evaluate("part => axe.run(part, {resultTypes: ['violations']})", within)["violations"]
    return [(each["id"], each["nodes"][0]["html"][:200], each["nodes"][0]["failureSummary"]) for each in found]


def test_a_reason_is_found_at_once_and_said_in_one_sentence(visit, iris_url, flowers):
    X, models, (explainer, _) = flowers
    page = visit(f"{iris_url}#row={ROW}")
    label = models[0].predict(X.iloc[[ROW]])[0]
    why = explainer.abductive(X.iloc[ROW], inflate=True)
    size = len(why.features)
    assert heading(page, "force the answer") == f"These {size} of 4 values force the answer {label}."
    assert names(page, "Held") == list(why.feature_names)
    assert why.claim.splitlines()[0] in page.inner_text("header .proof")
    conditions = [each.inner_text() for each in page.locator("ul[aria-label='Held'] .condition").all()]
    assert [f"{name} {text}" for name, text in zip(why.feature_names, conditions, strict=True)] == [
        str(each) for each in why.conditions
    ]
    assert page.title() == "Iris \N{EN DASH} treeproof workbench"


def test_a_freed_feature_brings_the_counterexample_and_a_held_one_the_proof(visit, iris_url, flowers):
    X, models, _ = flowers
    page = visit(f"{iris_url}#row={ROW}")
    found = heading(page, "force the answer")
    held = names(page, "Held")
    page.get_by_label(f"Held: {held[-1]}").click()
    said = heading(page, "Not any more")
    assert held[-1] in said
    assert page.locator("header .chip").inner_text() == "Counterexample"
    becomes = re.search(r"becomes (\w+)\.", said)[1]
    assert becomes != models[0].predict(X.iloc[[ROW]])[0]
    page.get_by_label(f"Free: {held[-1]}").click()
    assert heading(page, "force the answer") == found
    free = names(page, "Free to move")[0]
    page.get_by_label(f"Free: {free}").click()
    assert heading(page, "Still forced").startswith(f"Still forced: the {len(held) + 1} values that you hold")
    assert page.locator("[role=status]:has-text('Still forced')").count() == 1  # read aloud
    page.get_by_role("button", name="Find the reason").click()
    assert heading(page, "force the answer") == found


def test_label_and_proof_follow_a_value_that_is_dragged(visit, iris_url, flowers):
    X, models, (explainer, _) = flowers
    page = visit(f"{iris_url}#row={ROW}")
    before = heading(page, "force")
    handle = slider(page, "petal width (cm)")
    drag(page, handle, 0.05)
    heading(page, "setosa")
    page.mouse.up()
    page.wait_for_url(re.compile("set=3:"))
    seen = ""
    while seen != page.url:  # until it has the value where the mouse was let go, not one on the way there
        seen = page.url
        page.wait_for_timeout(300)
    value = float(re.search(r"set=3:([\d.]+)", page.url)[1])
    row = X.iloc[[ROW]].copy()
    row["petal width (cm)"] = value
    assert models[0].predict(row)[0] == "setosa"
    assert names(page, "Held") == list(explainer.abductive(row.iloc[0], inflate=True).feature_names)
    page.get_by_role("button", name="Back to the row's values").click()
    assert heading(page, "virginica") == before
    page.wait_for_url(re.compile(f"#row={ROW}$"))


def test_an_end_of_a_range_can_be_dragged_as_far_as_the_proof_goes(visit, iris_url):
    page = visit(f"{iris_url}#row={ROW}")
    heading(page, "force the answer")
    end = slider(page, "petal width (cm)", "lower end of the range")
    drag(page, end, 0.3)
    heading(page, "Not any more")
    drag(page, end, 0.99)  # as far as the value, not beyond
    page.mouse.up()
    heading(page, "Still forced")
    assert float(end.get_attribute("aria-valuenow")) == 1.8


def test_a_value_can_be_moved_by_keys_and_typed(visit, iris_url):
    page = visit(f"{iris_url}#row={ROW}")
    heading(page, "force the answer")
    handle = slider(page, "petal width (cm)")
    handle.focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("text=was 1.8")
    assert 1.6 < float(handle.get_attribute("aria-valuenow")) < 1.8
    field = page.get_by_label("Value of petal width (cm)")
    field.fill("0.2")
    field.press("Enter")
    heading(page, "setosa")
    field.fill("many")
    assert field.get_attribute("aria-invalid") == "true"
    field.press("Escape")
    assert field.input_value() == "0.2"


def test_fewer_conditions_are_needed_near_the_row(visit, iris_url, flowers):
    X, _, (explainer, _) = flowers
    page = visit(f"{iris_url}#row={ROW}")
    heading(page, "force the answer")
    reach = page.get_by_label("How far may the other values move?")
    for key, within in (("Home", 0), ("ArrowRight", 0.1), ("ArrowRight", 0.25)):
        reach.press(key)
        size = len(explainer.abductive(X.iloc[ROW], within=within, inflate=True).features)
        page.wait_for_selector(f".reach .many strong:text-is('{size}')")
        page.wait_for_selector("header:not(.checking)")
        page.wait_for_url(re.compile(f"near={within}(&|$)"))
    assert "Near this row" in page.inner_text("h1")
    reach.press("End")
    heading(page, "These")


def test_a_link_opens_what_it_shows_and_the_back_button_goes_back(visit, iris_url):
    page = visit(f"{iris_url}#row=3&tab=reasons")
    page.wait_for_selector(".matrix")
    assert page.get_by_role("tab", name="All reasons").get_attribute("aria-selected") == "true"
    page.locator(".line.item", has_text="setosa").nth(5).click()
    page.wait_for_selector("header strong:text-is('Row 5')")
    page.get_by_role("tab", name="Why").click()
    page.get_by_role("button", name=re.compile("^Held: ")).first.click()
    heading(page, "Not any more")
    link = page.url
    page.go_back()
    page.wait_for_selector("header strong:text-is('Row 5')")
    assert page.url.endswith("#row=5&tab=reasons")
    page.go_back()
    page.wait_for_selector("header strong:text-is('Row 3')")
    assert page.url.endswith("#row=3&tab=reasons")
    other = visit(link)
    heading(other, "Not any more")
    assert other.inner_text("header strong") == "Row 5"


def test_rows_are_searched_sorted_and_filtered(visit, iris_url, flowers):
    X, models, _ = flowers
    page = visit(iris_url)
    found = page.locator(".found")
    page.wait_for_selector(".line.item >> nth=3")
    assert found.inner_text() == "150 rows"
    assert page.locator(".line.item").count() < 60  # only what is in view
    page.get_by_label("Filter rows by a condition").fill("petal width (cm) > 2.2")
    many = int((X["petal width (cm)"] > 2.2).sum())
    page.wait_for_selector(f".found:has-text('{many} rows of 150')")
    page.get_by_role("button", name="petal length (cm)", exact=True).click()
    page.wait_for_selector("[role=columnheader][aria-sort=ascending]:has-text('petal length')")
    least = X[X["petal width (cm)"] > 2.2]["petal length (cm)"].min()
    page.wait_for_selector(f".line.item[aria-rowindex='2']:has-text('{least:g}')")
    page.get_by_label("Filter rows by a condition").fill("petal > ")
    page.wait_for_selector(".rows [role=alert]")
    page.get_by_label("Filter rows by a condition").fill("")
    page.get_by_label("Search rows").fill("versi")
    many = int((models[0].predict(X) == "versicolor").sum())
    page.wait_for_selector(f".found:has-text('{many} rows of 150')")
    page.locator(".table").focus()
    page.keyboard.press("End")
    page.wait_for_selector(".line.item[aria-selected=true]")
    assert "versicolor" in page.locator(".line.item[aria-selected=true]").inner_text()


def test_changes_keep_to_what_may_change_and_can_be_applied(visit, iris_url, flowers):
    X, models, _ = flowers
    page = visit(f"{iris_url}#row={ROW}&tab=changes")
    page.wait_for_selector(".card")
    first = page.locator(".card").first
    assert first.locator("h2").inner_text() == "versicolor, if"
    page.get_by_role("button", name="What may change?").click()
    group = page.get_by_role("group", name="How petal length (cm) may change")
    group.get_by_role("button", name="Stays").click()
    page.wait_for_selector("text=1 limit")
    page.wait_for_selector(".card >> nth=0")
    page.wait_for_selector(".statement")
    assert "petal length (cm)" not in page.locator(".cards").inner_text()
    page.locator(".card").first.get_by_role("button", name="Apply this change").click()
    heading(page, "versicolor")
    page.wait_for_url(re.compile("set="))
    row = X.iloc[[ROW]].copy()
    for feature, value in re.findall(r"(\d):([\d.]+)", page.url.partition("set=")[2].partition("&")[0]):
        row.iloc[0, int(feature)] = float(value)
    assert models[0].predict(row)[0] == "versicolor"


def test_all_reasons_relevance_attribution_and_robustness(visit, iris_url, flowers):
    X, _, (explainer, _) = flowers
    page = visit(f"{iris_url}#row=50&tab=reasons")
    both = list(explainer.enumerate(X.iloc[50], kind="both"))
    found = [[each.features for each in both if isinstance(each, kind)] for kind in (tp.Abductive, tp.Contrastive)]
    page.wait_for_selector(f".block:has-text('{len(found[0])} reason')")
    page.wait_for_selector(".block >> nth=0 >> .statement")
    dots = [page.locator(f".matrix .dot{kind}").count() for kind in (":not(.change)", ".change")]
    assert dots == [sum(map(len, kind)) for kind in found]
    relevance = explainer.relevance(X.iloc[50])
    page.wait_for_selector(".block >> nth=1 >> tbody tr >> nth=3")
    page.wait_for_selector(".share")
    words = {"necessary": "always", "relevant": "sometimes", "irrelevant": "never"}
    for each in relevance.grades:
        assert words[each.grade] in page.locator(".block").nth(1).locator("tr", has_text=each.name).inner_text()
    robust = explainer.robustness(X.iloc[50])
    page.wait_for_selector(".block >> nth=2 >> .statement")
    assert robust.claim.splitlines()[0] in page.locator(".block").nth(2).inner_text()
    page.get_by_label("Hold reason 1", exact=True).click()
    heading(page, "Still forced")


def test_two_rows_and_two_models_are_compared(visit, iris_url, flowers):
    X, models, _ = flowers
    page = visit(f"{iris_url}#row=3")
    heading(page, "setosa")
    page.goto(f"{iris_url}#row={ROW}&tab=compare")
    page.wait_for_selector(".lead:has-text('is enough to get setosa')")  # with the row before, unless another is chosen
    assert page.get_by_label(f"Compare row {ROW} with row").input_value() == "3"
    assert page.locator(".line.item[aria-selected=true]").is_visible()
    taken = [each.inner_text() for each in page.locator("tr.differs th").all()]
    row = X.iloc[[ROW]].copy()
    for name in taken:
        row[name] = X.iloc[3][name]
    assert taken
    assert models[0].predict(row)[0] == "setosa"
    page.get_by_label(f"Compare row {ROW} with row").fill("3000")
    page.get_by_role("button", name="Compare", exact=True).click()
    page.wait_for_selector(".panel [role=alert]:has-text('3000')")
    page.get_by_role("button", name="The other model").click()
    page.wait_for_selector(".sides")
    assert page.locator(".sides .card").count() == 2
    assert models[1].predict(X.iloc[[ROW]])[0] in page.locator(".sides .card").nth(1).inner_text()


def test_everything_can_be_taken_away(visit, iris_url, flowers, tmp_path):
    X, models, _ = flowers
    page = visit(f"{iris_url}#row={ROW}")
    heading(page, "force the answer")
    page.get_by_role("tab", name="Take away").click()

    def taken(button):
        with page.expect_download() as download:
            page.get_by_role("button", name=button, exact=True).click()
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        return path

    assert tp.check(json.loads(taken("Certificate").read_text()), models[0])
    page.get_by_role("tab", name="Why").click()
    page.get_by_label("Value of petal width (cm)").fill(
        "2.2"
    )  # inside the range: the reason stays, and so do its lines
    page.get_by_label("Value of petal width (cm)").press("Enter")
    page.wait_for_url(re.compile("set="))
    page.get_by_role("tab", name="Take away").click()
    page.wait_for_selector("pre.code")
    assert f"{X.iloc[ROW]['petal width (cm)']:g}" in page.inner_text("pre.code")
    assert "2.2" not in page.inner_text("pre.code")
    page.goto(f"{iris_url}#row={ROW}&tab=take")
    page.wait_for_selector(".tab[aria-selected=true]:has-text('Take away')")
    picture = taken("SVG").read_text(encoding="utf-8")
    assert "petal width (cm)" in picture
    assert taken("PNG").read_bytes().startswith(b"\x89PNG")
    assert "virginica" in taken("Report").read_text(encoding="utf-8")
    page.wait_for_selector("pre.code")
    assert "abductive(" in page.inner_text("pre.code")
    assert page.get_by_label("Link to what is on the screen").input_value() == page.url
    saved = taken("Save the page")
    alone = visit(saved.as_uri())
    assert heading(alone, "force the answer") == page.inner_text("h1")
    assert alone.locator(".hold:disabled").count() == 4
    assert alone.locator(".panel").bounding_box()["width"] == 1280


@pytest.fixture
def slow_url(served, flowers):
    """A server whose list of all reasons waits until the test is over."""
    from treeproof.workbench.session import Session

    X, _, explainers = flowers
    session, over = Session(explainers[:1], X), threading.Event()

    def ask(what, args, progress):
        if what == "reasons":
            progress("1 found", 1, 4, {"abductive": [[0, 1]], "contrastive": [], "complete": False, "label": 0})
            over.wait(20)
        return session.ask(what, args, progress)

    yield served(SimpleNamespace(ask=ask))
    over.set()


def test_a_long_question_shows_what_it_has_and_can_be_cancelled(visit, slow_url):
    page = visit(f"{slow_url}#row={ROW}&tab=reasons")
    page.wait_for_selector(".matrix")
    page.wait_for_selector(".waiting progress")
    assert "1 reason" in page.locator(".block").first.inner_text()
    page.wait_for_selector(".jobs .job:has-text('Listing all reasons')")
    page.locator(".block").first.get_by_role("button", name="Cancel").click()
    page.wait_for_selector(".block >> nth=0 >> text=Stopped.")
    assert page.locator(".waiting").count() == 0
    page.get_by_role("tab", name="Why").click()
    heading(page, "force the answer")


def test_the_answer_of_a_superseded_question_is_never_shown(visit, iris_url):
    page = visit(iris_url)
    outcome = page.evaluate((HERE / "superseded.js").read_text(encoding="utf-8"))
    assert sorted(outcome["said"], key=str) == [
        ["first", "dropped"],
        ["part", "some"],
        ["second", [2]],
        ["third", "dropped"],
    ]
    assert outcome["ids"] == [1, 2, 3, None, 4]
    assert outcome["cancelled"] == [3]


def test_errors_are_sentences_on_the_page(visit, iris_url):
    page = visit(f"{iris_url}#row=100000")
    page.wait_for_selector(".panel [role=alert]:has-text('100000')")
    page.locator(".line.item").first.click()
    heading(page, "force")
    assert page.locator(".panel [role=alert]").count() == 0


def test_where_nothing_was_checked_nothing_is_claimed(visit, served, flowers):
    """An error, or a question that is cancelled, must not leave the verdict of what was held before."""
    from treeproof.workbench.session import Session

    X, _, explainers = flowers
    session = Session(explainers[:1], X)

    def ask(what, args, progress):
        if what == "hold" or (what == "why" and args["within"] == 0):
            raise tp.InputError(f"This {what} must fail.")
        return session.ask(what, args, progress)

    page = visit(f"{served(SimpleNamespace(ask=ask))}#row={ROW}")
    heading(page, "force the answer")
    page.get_by_role("button", name=re.compile("^Held: ")).first.click()
    heading(page, "What you hold has not been checked.")
    page.wait_for_selector("[role=alert]:has-text('This hold must fail.')")
    assert page.locator("header .chip").inner_text() == "Open"
    page.get_by_role("button", name="Find the reason").click()
    heading(page, "force the answer")
    page.get_by_label("How far may the other values move?").press("Home")
    heading(page, "No reason is known for these values.")
    page.wait_for_selector("[role=alert]:has-text('This why must fail.')")
    page.get_by_role("tab", name="Take away").click()
    assert page.get_by_role("button", name="SVG", exact=True).is_disabled()


def test_hostile_and_hard_features_are_text_and_fit(visit, odd_url, odd):
    X, explainer = odd
    page = visit(f"{odd_url}#row=0")
    label = explainer.abductive(X.iloc[0]).label
    assert str(label) in heading(page, "force")
    assert "<u>Odd</u>" in page.inner_text(".about")
    assert page.locator("main b, main u:not(.x), main [onclick]").count() == 0
    everything = names(page, "Held") + names(page, "Free to move")
    assert sorted(everything) == sorted(X.columns)
    assert LONG in everything
    assert page.get_by_role("group", name="Values of purpose").get_by_role("button").first.inner_text() == "<i>car</i>"
    assert page.get_by_label("Value of occupation").locator("option").count() == 20
    opened = int(X["opened"].iloc[0])
    assert page.get_by_label("Value of opened").input_value() == str(np.datetime64(opened - 719163, "D"))
    gap = int(np.flatnonzero(X[LONG].isna())[0])
    page.get_by_label("Search rows").fill("no such row")
    page.wait_for_selector("text=No row matches.")
    page.goto(f"{odd_url}#row={gap}")
    page.wait_for_selector(f"header strong:text-is('Row {gap}')")
    heading(page, "force")
    assert page.locator("button.gap[aria-pressed=true]").count() == 1
    assert "and 23 more" in page.inner_text("header .which")
    assert complaints(page, "ul[aria-label=Held]") == []


@pytest.mark.parametrize("url", ["iris_url", "odd_url"])
def test_a_phone_shows_all_of_it_without_scrolling_sideways(visit, request, url):
    page = visit(f"{request.getfixturevalue(url)}#row=7", width=390, height=844, has_touch=True)
    heading(page, "force")
    for tab in ("Why", "What would change it", "All reasons", "Take away"):
        page.get_by_role("tab", name=tab).click()
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert page.evaluate("document.querySelector('#workbench .panel').scrollWidth") == 390
    page.get_by_role("button", name="Rows").click()
    page.locator(".line.item").nth(2).click()
    page.wait_for_selector("header strong:text-is('Row 2')")
    assert not page.locator(".table").is_visible()


def test_everybody_can_use_it(visit, iris_url):
    page = visit(f"{iris_url}#row=50")
    heading(page, "force")
    assert complaints(page, "html") == []
    for tab in ("What would change it", "All reasons", "Compare", "Take away"):
        page.get_by_role("tab", name=tab).click()
        page.locator(".waiting").first.wait_for(state="detached")
        assert complaints(page, ".panel") == [], tab


def test_dark_and_narrow_are_for_everybody_too(visit, iris_url):
    page = visit(f"{iris_url}#row=50", color_scheme="dark", width=390, height=844)
    heading(page, "force")
    page.get_by_role("button", name=re.compile("^Held: ")).first.click()
    heading(page, "Not any more")
    red, green, blue = map(
        int, re.findall(r"\d+", page.evaluate("getComputedStyle(document.querySelector('main')).backgroundColor"))[:3]
    )
    assert max(red, green, blue) < 60
    assert complaints(page, ".panel") == []
