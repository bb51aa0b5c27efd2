"""Explanations of random forests, with proofs.

>>> import treeproof as tp
>>> forest, patient = tp.examples.heart_disease()
>>> tp.Explainer(forest).abductive(patient).feature_names
('blocked-arteries', 'chest-pain')
"""

from __future__ import annotations

import logging
from importlib.metadata import version

from treeproof import examples
from treeproof.build import build_forest, isin, leaf, split
from treeproof.errors import (
    ForestFormatError,
    ImportMismatchError,
    InputError,
    InternalError,
    MissingExtraError,
    NotFittedError,
    TreeproofError,
    UnsafeFileError,
    UnsupportedModelError,
    UnsupportedQueryError,
)
from treeproof.explainer import Explainer
from treeproof.explanation import Abductive, Changed, Contrastive, Statistics, Verdict
from treeproof.files import load_forest, save_forest
from treeproof.forest import Column, Forest
from treeproof.importers import import_model
from treeproof.majority import MajorityForestClassifier
from treeproof.questions.attribution import Attribution
from treeproof.questions.audit import Audit, AuditedRow
from treeproof.questions.change import Contrastives
from treeproof.questions.coverage import Coverage
from treeproof.questions.general import MostGeneral
from treeproof.questions.listing import Enumeration
from treeproof.questions.relevance import FeatureRelevance, Relevance
from treeproof.questions.review import Repair, Review
from treeproof.questions.robustness import Robustness
from treeproof.space import Condition, Space

__version__ = version("treeproof")

__all__ = [
    "Abductive",
    "Attribution",
    "Audit",
    "AuditedRow",
    "Changed",
    "Column",
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
    "examples",
    "import_model",
    "isin",
    "leaf",
    "load_forest",
    "save_forest",
    "split",
]

logging.getLogger(__name__).addHandler(logging.NullHandler())
