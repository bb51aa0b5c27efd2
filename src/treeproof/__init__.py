"""Explanations of random forests, with proofs.

>>> import treeproof as tp
>>> forest, patient = tp.examples.heart_disease()
>>> tp.Explainer(forest).abductive(patient).feature_names
('blocked-arteries', 'chest-pain')
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from treeproof.checker import Checked, CheckError
from treeproof.errors import (
    Cancelled,
    ForestFormatError,
    ImportMismatchError,
    InputError,
    InternalError,
    LostWorkerError,
    MissingExtraError,
    TreeproofError,
    UnsafeFileError,
    UnsupportedModelError,
    UnsupportedQueryError,
)
from treeproof.explainer import Explainer
from treeproof.model import examples
from treeproof.model.build import build_forest, isin, leaf, split
from treeproof.model.columns import Column
from treeproof.model.files import load_forest, load_model, save_forest
from treeproof.model.forest import Forest
from treeproof.model.importers import import_model
from treeproof.model.labels import Named
from treeproof.proof.certificate import Certificate, check
from treeproof.query.oracle import Cancel, cancelling
from treeproof.query.tally import Statistics
from treeproof.query.units import Group
from treeproof.questions.abductive import Abductive
from treeproof.questions.attribution import Attribution
from treeproof.questions.audit import Audit, AuditedRow
from treeproof.questions.batch import Batch
from treeproof.questions.budget import Profile
from treeproof.questions.changes import Changed
from treeproof.questions.compare import ComparedRow, Comparison, compare
from treeproof.questions.contrastive import Contrastive, Contrastives
from treeproof.questions.coverage import Coverage
from treeproof.questions.differ import Difference, Gap, differ
from treeproof.questions.effect import Effect, Independence
from treeproof.questions.enumerate import Enumeration
from treeproof.questions.everywhere import Input
from treeproof.questions.extremes import End, Extremes
from treeproof.questions.holds import Verdict
from treeproof.questions.monotone import Monotone, Monotonicity
from treeproof.questions.most_general import MostGeneral
from treeproof.questions.prove import Statement
from treeproof.questions.relevance import FeatureRelevance, Relevance
from treeproof.questions.review import Repair, Review
from treeproof.questions.robustness import Robustness
from treeproof.questions.rules import Rule, Rules
from treeproof.show import plots
from treeproof.show.report.report import Report, report
from treeproof.show.report.rows import ReportedRow
from treeproof.space.conditions import Condition
from treeproof.space.space import Space

if TYPE_CHECKING:
    from treeproof.errors import NotFittedError
    from treeproof.model.majority import MajorityForestClassifier

    __version__: str

__all__ = [
    "Abductive",
    "Attribution",
    "Audit",
    "AuditedRow",
    "Batch",
    "Cancel",
    "Cancelled",
    "Certificate",
    "Changed",
    "CheckError",
    "Checked",
    "Column",
    "ComparedRow",
    "Comparison",
    "Condition",
    "Contrastive",
    "Contrastives",
    "Coverage",
    "Difference",
    "Effect",
    "End",
    "Enumeration",
    "Explainer",
    "Extremes",
    "FeatureRelevance",
    "Forest",
    "ForestFormatError",
    "Gap",
    "Group",
    "ImportMismatchError",
    "Independence",
    "Input",
    "InputError",
    "InternalError",
    "LostWorkerError",
    "MajorityForestClassifier",
    "MissingExtraError",
    "Monotone",
    "Monotonicity",
    "MostGeneral",
    "Named",
    "NotFittedError",
    "Profile",
    "Relevance",
    "Repair",
    "Report",
    "ReportedRow",
    "Review",
    "Robustness",
    "Rule",
    "Rules",
    "Space",
    "Statement",
    "Statistics",
    "TreeproofError",
    "UnsafeFileError",
    "UnsupportedModelError",
    "UnsupportedQueryError",
    "Verdict",
    "build_forest",
    "cancelling",
    "check",
    "compare",
    "differ",
    "examples",
    "import_model",
    "isin",
    "leaf",
    "load_forest",
    "load_model",
    "plots",
    "report",
    "save_forest",
    "split",
]

logging.getLogger(__name__).addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    """Import what takes long when it is first used: scikit-learn's own classes take a second."""
    if name == "__version__":  # the one in pyproject.toml
        from importlib.metadata import version

        return version("treeproof")
    if name == "NotFittedError":
        from treeproof import errors

        return errors.NotFittedError
    if name == "MajorityForestClassifier":
        from treeproof.model.majority import MajorityForestClassifier

        return MajorityForestClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
