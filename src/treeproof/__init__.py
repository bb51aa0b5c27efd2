"""Explanations of random forests, with proofs.

>>> import treeproof as tp
>>> forest, patient = tp.examples.heart_disease()
>>> tp.Explainer(forest).abductive(patient).feature_names
('blocked-arteries', 'chest-pain')
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from treeproof import examples, plots
from treeproof.build import build_forest, isin, leaf, split
from treeproof.certificate import Certificate, check
from treeproof.checker import Checked, CheckError
from treeproof.compare import ComparedRow, Comparison, compare
from treeproof.conditions import Condition
from treeproof.errors import (
    ForestFormatError,
    ImportMismatchError,
    InputError,
    InternalError,
    MissingExtraError,
    TreeproofError,
    UnsafeFileError,
    UnsupportedModelError,
    UnsupportedQueryError,
)
from treeproof.explainer import Explainer
from treeproof.explanation import Abductive, Changed, Contrastive, Statistics, Verdict
from treeproof.files import load_forest, load_model, save_forest
from treeproof.forest import Column, Forest
from treeproof.importers import import_model
from treeproof.questions.attribution import Attribution
from treeproof.questions.audit import Audit, AuditedRow
from treeproof.questions.change import Contrastives
from treeproof.questions.coverage import Coverage
from treeproof.questions.general import MostGeneral
from treeproof.questions.listing import Enumeration
from treeproof.questions.relevance import FeatureRelevance, Relevance
from treeproof.questions.review import Repair, Review
from treeproof.questions.robustness import Robustness
from treeproof.report_page import ReportedRow
from treeproof.reporting import Report, report
from treeproof.space import Space

if TYPE_CHECKING:
    from treeproof.errors import NotFittedError
    from treeproof.majority import MajorityForestClassifier

    __version__: str

__all__ = [
    "Abductive",
    "Attribution",
    "Audit",
    "AuditedRow",
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
    "Enumeration",
    "Explainer",
    "FeatureRelevance",
    "Forest",
    "ForestFormatError",
    "ImportMismatchError",
    "InputError",
    "InternalError",
    "MajorityForestClassifier",
    "MissingExtraError",
    "MostGeneral",
    "NotFittedError",
    "Relevance",
    "Repair",
    "Report",
    "ReportedRow",
    "Review",
    "Robustness",
    "Space",
    "Statistics",
    "TreeproofError",
    "UnsafeFileError",
    "UnsupportedModelError",
    "UnsupportedQueryError",
    "Verdict",
    "build_forest",
    "check",
    "compare",
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
        from treeproof.majority import MajorityForestClassifier

        return MajorityForestClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
