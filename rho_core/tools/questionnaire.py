"""`questionnaire`: ask the user and wait for typed answers (sections 19 and G.5)."""

from __future__ import annotations

from functools import cache

from rho_core.errors import ToolError
from rho_core.json_values import canonical_json, freeze
from rho_core.providers.contract import ToolSpec
from rho_core.questions import HostInputDismissed, HostInputRequest, HostInputResponse
from rho_core.tooling.contract import (
    PreparedToolInvocation,
    Tool,
    ToolContext,
    ToolInvocation,
    ToolPreparationContext,
    ToolSecurity,
)
from rho_core.tooling.values import ToolMetadata, ToolOperation, ToolOutput
from rho_core.tools.questionnaire_arguments import parse_questionnaire

DISMISSED_TEXT = "the user dismissed the questionnaire without answering"
_DESCRIPTION = (
    "Ask the user 1 to 8 questions and wait for the answers: choice, multi_select or confirm. Use "
    "it when you cannot decide without them. The result lists answers by question id, in order; "
    "optional questions may be missing. source is user, or timeout_fallback when the user's own "
    "deadline submitted your on_timeout answers."
)


class QuestionnaireTool(Tool):
    """Puts a form to the host. Exclusive; needs no authority and gives none."""

    name = "questionnaire"

    def spec(self) -> ToolSpec:
        """The closed schema of 19.2."""
        return _spec()

    def security(self) -> ToolSecurity:
        """A built-in without any class of authority."""
        return ToolSecurity.built_in()

    async def prepare(
        self, invocation: ToolInvocation, context: ToolPreparationContext
    ) -> PreparedToolInvocation:
        """Parse everything, the timeout fallback included, before a form can open (19.13)."""
        if context.cancellation.is_cancelled:
            raise ToolError.cancelled()
        request = parse_questionnaire(invocation.arguments)

        async def execute(tool_context: ToolContext) -> ToolOutput:
            try:
                response = await tool_context.request_host_input(request)
            except HostInputDismissed:
                raise ToolError.execution(DISMISSED_TEXT) from None
            return ToolOutput.text(answers_text(request, response), _METADATA)

        return PreparedToolInvocation.exclusive(_METADATA, execute)


@cache
def _spec() -> ToolSpec:
    from rho_core.tools.questionnaire_schema import SCHEMA

    return ToolSpec(QuestionnaireTool.name, _DESCRIPTION, freeze(SCHEMA))


_METADATA = ToolMetadata(ToolOperation.OTHER)


def answers_text(request: HostInputRequest, response: HostInputResponse) -> str:
    """The result: `{"answers": [{"id", "answer"}], "source"}` in the order of the questions.

    One value is a text, none or several are an array; unanswered optional questions are left out.
    """
    answers = []
    for question in request.questions:
        values = response.answers.get(question.id)
        if values is not None:
            answer = values[0] if len(values) == 1 else list(values)
            answers.append({"id": question.id, "answer": answer})
    return canonical_json({"answers": answers, "source": response.source.value})
