"""Take the pictures of the workbench: ``python docs/screenshots.py [FOLDER]``, by default ``docs/pictures``.

Needs a Chromium on this machine (``apt-get install chromium``) and the packages playwright, starlette and uvicorn.
"""

from __future__ import annotations

import shutil
import sys
import threading
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, sync_playwright
from sklearn.datasets import load_diabetes
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

import treeproof as tp
from treeproof.workbench.server import Server
from treeproof.workbench.session import Session

FOLDER = Path(__file__).parent / "pictures"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
ROW = 0
WAIT = "() => !document.querySelector('.waiting, .checking, .jobs .job')"


def session() -> Session:
    """Return the model of the tutorial, and another one to compare with."""
    data, progress = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X = data[["age", "bmi", "bp", "s1", "s3", "s6"]].copy()
    X.columns = ["age", "bmi", "pressure", "cholesterol", "hdl", "glucose"]
    y = progress.gt(140).map({True: "fast", False: "slow"})
    models = [
        RandomForestClassifier(random_state=0, max_depth=4).fit(X, y),
        ExtraTreesClassifier(random_state=0, max_depth=4).fit(X, y),
    ]
    return Session([tp.Explainer(model, data=X) for model in models], X, title="Diabetes: how fast it progresses")


def settled(page: Page) -> None:
    """Wait until nothing is asked any more."""
    page.wait_for_selector("h1")
    page.wait_for_timeout(600)
    page.wait_for_function(WAIT)
    page.wait_for_timeout(300)


def freed(page: Page) -> None:
    """Free a feature of the reason, which brings the counterexample."""
    page.get_by_label("Held: pressure").click()


def limited(page: Page) -> None:
    """Say what may change: no age, and no pressure that rises."""
    page.get_by_role("button", name="What may change?").click()
    page.get_by_role("group", name="How age may change").get_by_role("button", name="Stays").click()
    page.get_by_role("group", name="How pressure may change").get_by_role("button", name="Only down").click()


def nothing(page: Page) -> None:
    """Leave the page as it is."""


STATES: list[tuple[str, str, dict[str, Any], Any]] = [
    ("workbench", "", {}, nothing),
    ("workbench-freed", "", {}, freed),
    ("workbench-changes", "&tab=changes", {}, limited),
    ("workbench-reasons", "&tab=reasons", {"color_scheme": "dark"}, nothing),
    ("workbench-phone", "&near=0.5", {"viewport": {"width": 390, "height": 844}}, nothing),
]


def main(arguments: list[str]) -> int:
    """Take all pictures."""
    folder = Path(arguments[0]) if arguments else FOLDER
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("The pictures need a browser: apt-get install chromium")
    server = Server(session())
    ready = threading.Event()
    thread = threading.Thread(target=server.run, args=(ready.set,))
    thread.start()
    try:
        ready.wait()
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
            for name, address, options, act in STATES:
                context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
                page = context.new_page()
                page.goto(f"{server.url}#row={ROW}{address}")
                settled(page)
                act(page)
                settled(page)
                page.mouse.move(0, 0)
                path = folder / f"{name}.png"
                page.screenshot(path=path)
                with Image.open(path) as taken:  # few colours take a third of the room
                    few = taken.convert("RGB").quantize(96, dither=Image.Dither.NONE)
                few.save(path, optimize=True)
                context.close()
            browser.close()
    finally:
        server.stop()
        thread.join()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
