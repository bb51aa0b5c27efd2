"""One browser for all tests of the page, and servers of the workbench for it to open."""

from __future__ import annotations

import contextlib
import shutil
import threading

import numpy as np
import pytest

import treeproof as tp

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]


@pytest.fixture(scope="session")
def browser():
    """Chromium as it is found on this machine."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="NOT TESTED: the page, without pip install playwright"
    )
    if CHROMIUM is None:
        pytest.skip("NOT TESTED: the page in a browser. Install one: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


@contextlib.contextmanager
def serving(session):
    """Serve a session in a thread; yield its address."""
    from treeproof.workbench.server import Server

    server = Server(session)
    ready = threading.Event()
    thread = threading.Thread(target=server.run, args=(ready.set,), daemon=True)
    thread.start()
    assert ready.wait(10)
    yield server.url
    server.stop()
    thread.join(10)


@pytest.fixture(scope="session")
def flowers():
    """Two forests of iris, with named classes; the second one needs another reason for most rows."""
    from sklearn.datasets import load_iris
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

    iris = load_iris(as_frame=True)
    X, y = iris.data, iris.target_names[iris.target]
    models = [
        kind(12, max_depth=3, random_state=0).fit(X, y) for kind in (RandomForestClassifier, ExtraTreesClassifier)
    ]
    return X, models, [tp.Explainer(model, data=X) for model in models]


@pytest.fixture(scope="session")
def iris_url(flowers):
    from treeproof.workbench.session import Session

    X, _, explainers = flowers
    with serving(Session(explainers, X, title="Iris")) as url:
        yield url


LONG = "<b onclick=alert(1)>months</b> since the last enquiry of any bank & broker, excluding the last seven days"


@pytest.fixture(scope="session")
def odd():
    """What is hard to draw: markup in names, dates, categories, gaps, 26 classes, 60 features."""
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    rng, n = np.random.default_rng(0), 400
    columns = {
        LONG: np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 24, n)),
        "opened": rng.integers(730_000, 738_000, n),
        "purpose": rng.choice(["<i>car</i>", "house", "education abroad"], n),
        "occupation": rng.choice([f"occupation {i}" for i in range(20)], n),
        "smoker": rng.random(n) < 0.3,
    }
    X = pd.DataFrame(columns | {f"measurement {i}": rng.normal(10, 3, n).round(1) for i in range(55)})
    y = np.array([chr(65 + i) for i in range(26)])[(X["opened"] + 40 * X["smoker"]) % 26]
    encoder = ColumnTransformer([("named", OneHotEncoder(), ["purpose", "occupation"])], remainder="passthrough")
    model = make_pipeline(encoder, RandomForestClassifier(4, max_depth=4, random_state=0)).fit(X, y)
    return X, tp.Explainer(model, data=X, kinds={"opened": "date"})


@pytest.fixture(scope="session")
def odd_url(odd):
    from treeproof.workbench.session import Session

    X, explainer = odd
    with serving(Session([explainer], X, title="<u>Odd</u>")) as url:
        yield url


@pytest.fixture
def served():
    """Serve a session for one test, and until its pages are closed: a page complains if its server goes first."""
    with contextlib.ExitStack() as servers:
        yield lambda session: servers.enter_context(serving(session))


@pytest.fixture
def visit(browser, served):
    """Open pages of the workbench. None may complain, or ask anybody else."""
    contexts, wrong = [], []

    def opened(url, *, width=1280, height=800, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("console", lambda said: said.type in ("error", "warning") and wrong.append(said.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        origin = url.partition("#")[0]
        own = (origin, "data:", "blob:")
        page.on("request", lambda request: None if request.url.startswith(own) else wrong.append(request.url))
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []
