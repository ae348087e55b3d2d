"""Strict URLs: what is odd does not parse (L10)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.authority.urls import normalize_host, parse_url


@pytest.mark.clause("L10")
def test_the_parts_of_a_plain_url() -> None:
    url = parse_url("HTTPS://User:pw@EXAMPLE.com.:8443/a/b?q=1#f")
    assert url is not None
    assert (url.scheme, url.host, url.port, url.path) == ("https", "example.com", 8443, "/a/b")
    assert url.has_user_information
    assert url.has_query
    assert url.without_secrets == "https://example.com:8443/a/b"
    bare = parse_url("http://example.com:80")
    assert bare is not None
    assert bare.without_secrets == "http://example.com/"
    assert not bare.has_query


@pytest.mark.clause("L10")
@pytest.mark.parametrize(
    "odd",
    [
        "", "example.com", "https:example.com", "https:/example.com", "https://", "https:///path",
        "https://exa mple.com", " https://example.com", "https://example.com\n",
        "https://exa\tmple.com", "https://example.com\\@evil.test", "https://\\evil.test",
        "https://example.com:port", "https://example.com:99999", "https://example.com:٨٠",
        "https://exa%6dple.com", "https://a..b", "https://[::1", "https://[fe80::1%eth0]/",
        "https://127.1/", "https://2130706433/", "https://0x7f000001/", "https://0177.0.0.1/",
        "https://1.2.3.4.5/", "https://exam\u2044ple.com", "https://example\u3002com\u202e/",
        "https://a@b@[c]", "https://-\ud800/",
    ],
)  # fmt: skip
def test_oddities_are_refused(odd: str) -> None:
    assert parse_url(odd) is None


@pytest.mark.clause("E14")
@pytest.mark.parametrize(
    ("host", "normal"),
    [
        ("Example.COM..", "example.com"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::0:1]", "[::1]"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("localhost", "localhost"),
        ("", None),
        (".", None),
        ("https://x", None),
        ("a" * 64 + ".test", None),
        ("a:80", None),
    ],
)
def test_a_host_has_one_spelling(host: str, normal: str | None) -> None:
    assert normalize_host(host) == normal


@settings(max_examples=100)
@given(st.text(max_size=30))
def test_no_text_crashes_the_parser_and_hosts_are_plain_ascii(text: str) -> None:
    for candidate in (text, f"https://{text}", f"https://example.com{text}"):
        parsed = parse_url(candidate)
        if parsed is not None and parsed.host is not None:
            assert parsed.host.isascii()
            assert parsed.host == parsed.host.lower()
            assert not set(parsed.host) & set("/@\\ %")
