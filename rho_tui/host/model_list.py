"""Which models a server offers, for pickers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

_SECONDS = 10.0
_MAX_MODELS = 500
_MAX_BYTES = 4 * 1024 * 1024


class ModelListError(Exception):
    """The server could not be asked; the message names it and what to check, never the key."""


async def list_models(
    base_url: str, api_key: str | None, wire: Literal["chat", "anthropic"] = "chat"
) -> Sequence[str]:
    """Model ids in the server's order. Raises `ModelListError`."""
    import httpx

    if wire == "anthropic":
        url = f"{base_url.rstrip('/')}/v1/models"
        headers = {"anthropic-version": "2023-06-01"}
        headers |= {"x-api-key": api_key} if api_key else {}
    else:
        url = f"{base_url.rstrip('/')}/models"
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
    try:
        async with httpx.AsyncClient(timeout=_SECONDS) as client:
            reply = await client.get(url, headers=headers)
    except httpx.HTTPError as error:
        reason = str(error) or type(error).__name__
        raise ModelListError(f"{base_url} cannot be reached: {reason}") from None
    except ValueError as error:
        raise ModelListError(f"{base_url} cannot be asked: {error}") from None
    if reply.status_code in (401, 403):
        raise ModelListError(f"{base_url} refused the key (HTTP {reply.status_code})")
    if reply.status_code != 200:
        raise ModelListError(f"{base_url} answered HTTP {reply.status_code} to {url}")
    return _ids(reply.content, base_url)


def _ids(body: bytes, base_url: str) -> Sequence[str]:
    from rho_core.json_values import parse_json

    try:
        if len(body) > _MAX_BYTES:
            raise ValueError("too large")
        ids = [entry["id"] for entry in parse_json(body)["data"]]
    except (ValueError, KeyError, TypeError):
        raise ModelListError(f"{base_url} did not answer with a list of models") from None
    return [name for name in ids if isinstance(name, str) and name][:_MAX_MODELS]
