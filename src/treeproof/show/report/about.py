"""What a report says about the whole model: questions about every input, all within one time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from treeproof.errors import InputError, InternalError, TreeproofError, is_list, require_list
from treeproof.explainer import Explainer
from treeproof.questions.certified import Certify, certificates_of
from treeproof.questions.everywhere import score_for
from treeproof.questions.result import Result
from treeproof.show.report.rows import Filed

Question = Literal["extremes", "effect", "monotone", "rules"]
QUESTIONS: tuple[Question, ...] = get_args(Question)

_TITLES: dict[Question, str] = {
    "extremes": "How far the score can go",
    "effect": "What protected features alone can do",
    "monotone": "Whether the score is monotone",
    "rules": "Rules that are proved",
}
_ANSWERING = 0.7  # of the time for a question; the rest is for its certificates


@dataclass(frozen=True, slots=True)
class AboutModel:
    """An answer about the whole model, or the error in its place, and its certificates."""

    question: Question
    result: Result | TreeproofError
    proofs: tuple[Filed, ...] = ()

    @property
    def title(self) -> str:
        """The question in words."""
        return _TITLES[self.question]

    @property
    def anchor(self) -> str:
        """Where it is on the page."""
        return f"model-{self.question}"

    @property
    def answer(self) -> Any:
        """The result, unless there is an error in its place."""
        return None if isinstance(self.result, TreeproofError) else self.result

    @property
    def late(self) -> bool:
        """Whether the time was up before everything was decided and certified."""
        answer = self.answer
        return answer is not None and (not answer.decided or any(filed.certificate is None for filed in self.proofs))

    @property
    def n_uncertified(self) -> int:
        """How many certificates could not be made in time, or at all."""
        return sum(filed.certificate is None for filed in self.proofs)


def chosen_questions(
    explainer: Explainer, about: bool | Iterable[Question], protected: Iterable[str | int], of: Any
) -> list[Question]:
    """Return the questions about the model that a report asks; InputError unless all can be asked."""
    if not isinstance(protected, str | int):
        require_list("protected", protected, "features")
    features = [protected] if isinstance(protected, str | int) else list(protected)
    if about is False:
        if features:
            raise InputError("Protected features need a report about the model: about_model=True.")
        return []
    if about is True:
        chosen = [q for q in QUESTIONS if q != "effect" or features]
    elif not is_list(about) or any(not isinstance(q, str) or q not in QUESTIONS for q in about):
        raise InputError(f"The 'about_model' parameter must be True or some of {QUESTIONS}. Got {about!r} instead.")
    else:
        chosen = [q for q in QUESTIONS if q in about]
    if "effect" in chosen and not features:
        raise InputError("The effect is that of protected features. Got none; name them: protected=['sex'].")
    if chosen != ["rules"]:
        score_for(explainer.scored_context, of)
    explainer.scored_context.features(features)
    return chosen


def ask_about(
    explainer: Explainer,
    questions: Sequence[Question],
    X: Any,
    protected: Iterable[str | int],
    of: Any,
    timeout: float,
    file: Callable[[Result, str, Certify, float], Filed],
) -> list[AboutModel]:
    """Answer questions about the model within a time; each has an equal share of what is left.

    `file` makes a certificate within a time and has it checked.
    """
    end = time.monotonic() + timeout
    features = [protected] if isinstance(protected, str | int) else list(protected)
    asks: dict[Question, Callable[[float], Result]] = {
        "extremes": lambda limit: explainer.extremes(of=of, timeout=limit),
        "effect": lambda limit: explainer.effect(features, of=of, timeout=limit),
        "monotone": lambda limit: explainer.monotone(of=of, timeout=limit),
        "rules": lambda limit: explainer.rules(X, timeout=limit),
    }
    done = []
    for place, question in enumerate(questions):
        start = time.monotonic()
        share = max(0.0, end - start) / (len(questions) - place)
        try:
            result = asks[question](_ANSWERING * share)
        except InternalError:
            raise  # a bug: nothing is claimed
        except TreeproofError as error:
            done.append(AboutModel(question, error))
            continue
        made = certificates_of(result)
        proofs = []
        for i, (name, certify) in enumerate(made.items()):
            left = max(0.0, start + share - time.monotonic()) / (len(made) - i)
            proofs.append(file(result, f"model-{name}", certify, left))
        done.append(AboutModel(question, result, tuple(proofs)))
    return done
