"""Hypothesis strategies for messages of every kind."""

from __future__ import annotations

from hypothesis import strategies as st

from rho_core.history.messages import (
    AbortedAssistant,
    AssistantMessage,
    EnrichedAssistant,
    Image,
    ModelIdentity,
    PartialToolCall,
    ProviderContextBlock,
    SystemMessage,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from rho_core.json_values import freeze
from rho_core.usage import ModelUsage

_U64 = st.integers(0, 2**64 - 1)
#: Everything UTF-8 can hold: control characters, line separators, characters beyond the BMP.
texts = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from('\0\x1b\u2028\u2029\ufeff\U0001f469"\\'),
    ),
    max_size=20,
)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), texts,
    st.floats(allow_nan=False, allow_infinity=False),
)  # fmt: skip
json_values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
).map(freeze)
json_objects = st.dictionaries(texts, json_values, max_size=3).map(freeze)
identities = st.builds(ModelIdentity, texts, texts, texts)
blocks = st.one_of(
    st.builds(Text, texts),
    st.builds(Image, texts, texts),
    st.builds(ToolCall, texts, texts, json_objects),
)
contents = st.lists(blocks, max_size=3).map(tuple)
contexts = st.lists(
    st.builds(ProviderContextBlock, texts, identities, json_values, st.none() | _U64), max_size=2
).map(tuple)
usages = st.builds(ModelUsage, *[st.none() | _U64] * 7)
fragments = st.lists(
    st.builds(PartialToolCall, st.none() | texts, st.none() | texts, texts), max_size=2
).map(tuple)
messages = st.one_of(
    st.builds(SystemMessage, texts),
    st.builds(UserMessage, contents),
    st.builds(AssistantMessage, contents),
    st.builds(EnrichedAssistant, contents, st.none() | identities, st.none() | texts, contexts),
    st.builds(
        AbortedAssistant, contents, st.none() | texts, contexts, fragments, usages,
        st.none() | identities, texts,
    ),
    st.builds(ToolResult, texts, st.booleans(), texts),
)  # fmt: skip
histories = st.lists(messages, max_size=4).map(tuple)
