"""The schema of a questionnaire as the model sees it (19.2)."""

from __future__ import annotations

from typing import Any

from rho_core.tools.questionnaire_arguments import KINDS, MAX_QUESTIONS

_TEXT = {"type": "string"}
_CHOICE = {
    "oneOf": [
        _TEXT,
        {
            "type": "object",
            "additionalProperties": False,
            "required": ["label"],
            "properties": {"label": _TEXT, "description": _TEXT},
        },
    ]
}
_QUESTION = {
    "type": "object",
    "additionalProperties": False,
    "required": ["question", "type"],
    "properties": {
        "id": {"type": "string", "description": "ASCII letters, digits, '_' and '-'; unique."},
        "question": _TEXT,
        "header": {"type": "string", "maxLength": 16},
        "help": _TEXT,
        "type": {"type": "string", "enum": list(KINDS)},
        "choices": {"type": "array", "items": _CHOICE},
        "allow_other": {"type": "boolean", "description": "Offer room for the user's own answer."},
        "default": {
            "oneOf": [
                _TEXT,
                {"type": "boolean"},
                {"type": "number"},
                {"type": "array", "items": _TEXT},
            ],
            "description": "Preselected only; never an automatic answer.",
        },
        "default_selection": {"type": "string", "enum": ["selected", "focused"]},
        "required": {"type": "boolean"},
    },
}
_ON_TIMEOUT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["answers", "reason"],
    "description": "Answers the user's own deadline may give, if one is set: only for safe, "
    "reversible decisions, never for permission. Needs an explicit id on every question; exact "
    "labels for choice, arrays for multi_select, booleans for confirm.",
    "properties": {"answers": {"type": "object"}, "reason": _TEXT},
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["questions"],
    "properties": {
        "title": _TEXT,
        "reason": {"type": "string", "description": "Why you ask."},
        "questions": {
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_QUESTIONS,
            "items": _QUESTION,
        },
        "on_timeout": _ON_TIMEOUT,
    },
}
