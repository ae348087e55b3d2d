"""Secrets are not shown by accident (C101)."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

from rho_core.secret import SecretString

pytestmark = pytest.mark.clause("C101")


def test_formatting_is_always_redacted() -> None:
    secret = SecretString("hunter2")
    assert repr(secret) == "SecretString([REDACTED])"
    assert str(secret) == f"{secret}" == f"{secret:>20}" == "[REDACTED]"
    assert "hunter2" not in f"{[secret]} {secret!r} %s" % secret


def test_only_explicit_accessors_reveal_it() -> None:
    secret = SecretString("hunter2")
    assert secret.expose_secret() == "hunter2"
    assert secret.into_secret() == "hunter2"
    assert secret.expose_secret() == ""
    assert not hasattr(secret, "__dict__")


def test_it_is_not_serialised() -> None:
    secret = SecretString("hunter2")
    for serialise in (pickle.dumps, copy.copy, json.dumps):
        with pytest.raises(TypeError):
            serialise(secret)
    with pytest.raises(TypeError):
        hash(secret)


def test_it_compares_by_value() -> None:
    assert SecretString("a") == SecretString("a")
    assert SecretString("a") != SecretString("b")
    assert SecretString("a") != "a"
    assert SecretString("x\ud800") == SecretString("x\ud800")
    assert SecretString("a")
    assert not SecretString("")
