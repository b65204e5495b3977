"""Questions and answers to people: whether a request is one, and whether an answer fits it (intloom-recovery 1.2)."""

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from recovery_kit.records.loom import Word

from .loom_shape import BadShape, shaped

_Inked = Annotated[str, Meta(pattern=r"\S")]


class _Strict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Strict, as all of IntLoom's objects are."""


class Option(_Strict, frozen=True, kw_only=True):
    """One thing to choose."""

    id: Word
    label: Word
    description: str | UnsetType = UNSET


class Question(_Strict, frozen=True, kw_only=True):
    """One question of a set."""

    id: Word
    question: Word
    is_skippable: bool
    description: str | UnsetType = UNSET
    options: tuple[Option, ...] | UnsetType = UNSET


class Confirmation(_Strict, frozen=True, kw_only=True):
    """Something to say yes or no to."""

    context: Word


class QuestionAnswer(_Strict, frozen=True, kw_only=True):
    """The answer to one question, or that it was skipped."""

    question_id: Word
    is_skipped: bool
    answer: _Inked | UnsetType = UNSET


class ConfirmationAnswer(_Strict, frozen=True, kw_only=True):
    """Yes or no, and why."""

    is_confirmed: bool
    feedback: str | UnsetType = UNSET


def request_problem(kind: str, request: Any) -> str | None:
    """Why a request is none of that kind; None where it is one."""
    return _told(_REQUESTS[kind], request)


def answer_problem(kind: str, request: Any, answer: Any) -> str | None:
    """Why an answer does not fit a request, which has to be sound; None where it fits."""
    return _told(_ANSWERS[kind], request, answer)


def _told(check: Callable[..., None], *values: Any) -> str | None:
    try:
        check(*values)
    except (BadShape, msgspec.ValidationError) as no:
        return str(no)
    return None


def _check_questions(request: Any) -> None:
    questions = shaped(request, tuple[Question, ...])
    if not questions:
        raise BadShape("a set of questions has at least one")
    _refuse_twice([question.id for question in questions], "two questions")
    for question in questions:
        if question.options is not UNSET:
            _refuse_twice([option.id for option in question.options], "two options of a question")


def _refuse_twice(ids: list[str], what: str) -> None:
    if len(set(ids)) != len(ids):
        raise BadShape(f"{what} have the same id")


def _check_confirmation(request: Any) -> None:
    shaped(request, Confirmation)


def _check_question_answers(request: Any, answer: Any) -> None:
    questions = {question.id: question for question in shaped(request, tuple[Question, ...])}
    given = shaped(answer, tuple[QuestionAnswer, ...])
    if sorted(one.question_id for one in given) != sorted(questions):
        raise BadShape("there is not exactly one answer for each question")
    for one in given:
        if one.is_skipped == (one.answer is not UNSET):
            raise BadShape("an answer is skipped or has a text")
        if one.is_skipped and not questions[one.question_id].is_skippable:
            raise BadShape("a question that must be answered was skipped")


def _check_confirmation_answer(_: Any, answer: Any) -> None:
    shaped(answer, ConfirmationAnswer)


_REQUESTS: dict[str, Callable[..., None]] = {
    "user_ask_questions": _check_questions,
    "user_ask_confirmation": _check_confirmation,
}
_ANSWERS: dict[str, Callable[..., None]] = {
    "user_ask_questions": _check_question_answers,
    "user_ask_confirmation": _check_confirmation_answer,
}
