"""The guided tour: read, question, edit with approval, command. One run, one step after another."""

from __future__ import annotations

from rho_core.providers.demo.conversation import Conversation, Step
from rho_core.providers.demo.reply import Reply, answers_in, calling, refusal

TOUR_FILE = "rho-tour.md"
_GREETINGS = ("Hello", "Good day", "Ahoy")
_STEPS = ("list_dir", "questionnaire", "write", "str_replace", "bash")
_OFFERED = "I am Rho's built-in demo, not a language model; the tools you'll see are real."


def tour_reply(conversation: Conversation) -> Reply:
    """The next step of the tour: the first whose tool is offered and has not been called."""
    said: list[str] = []
    if conversation.steps:
        said.append(_about(conversation.steps[-1]))
    else:
        said.append(f"# Welcome to Rho\n\n{_OFFERED} Esc stops the tour at any time.")
    done = {step.call.name for step in conversation.steps}
    for name in _STEPS:
        if name in done or _pointless(name, conversation):
            continue
        if conversation.tool(name) is None:
            said.append(f"*(The step with `{name}` is left out: this session does not offer it.)*")
            continue
        said.append(_INTRODUCTIONS[name])
        return calling(conversation, "\n\n".join(said), name, _arguments(name, conversation))
    said.append(_goodbye(conversation))
    return Reply("\n\n".join(said))


_INTRODUCTIONS = {
    "list_dir": (
        "## 1 · Reading\nReading inside your project needs no approval. I'll list this folder; "
        "the card below shows the call and its result."
    ),
    "questionnaire": (
        "## 2 · A question\nA model can ask you something instead of guessing. Pick an answer."
    ),
    "write": (
        f"## 3 · A change\nI'd like to create `{TOUR_FILE}`. Nothing is written before you have "
        "seen the diff and said yes. Try *deny with feedback*, too: the words reach me."
    ),
    "str_replace": "## 4 · An edit\nNow one line of that file changes. Watch the diff.",
    "bash": (
        "## 5 · A command\nCommands are shown before they run, and their output appears while "
        "they do."
    ),
}


def _arguments(name: str, conversation: Conversation) -> dict[str, object]:
    match name:
        case "list_dir":
            return {"path": "."}
        case "questionnaire":
            return {
                "title": "Rho tour",
                "questions": [
                    {
                        "id": "greeting",
                        "question": "How should the tour file greet you?",
                        "type": "choice",
                        "choices": list(_GREETINGS),
                    }
                ],
                "on_timeout": {
                    "answers": {"greeting": _GREETINGS[0]},
                    "reason": "A greeting is easily changed.",
                },
            }
        case "write":
            greeting = _greeting(conversation)
            content = f"# {greeting}!\n\nThis file was made by the Rho tour.\nStatus: new\n"
            return {"path": TOUR_FILE, "content": content}
        case "str_replace":
            return {"path": TOUR_FILE, "old_string": "Status: new", "new_string": "Status: edited"}
        case _:
            return {"command": f"cat {TOUR_FILE} && wc -l {TOUR_FILE}"}


def _pointless(name: str, conversation: Conversation) -> bool:
    """Whether a step cannot work because the file was not created."""
    written = conversation.newest("write")
    return name in ("str_replace", "bash") and (written is None or not written.result.ok)


def _greeting(conversation: Conversation) -> str:
    asked = conversation.newest("questionnaire")
    found = answers_in(asked.result.content).get("greeting") if asked else None
    return found if found in _GREETINGS else _GREETINGS[0]


def _about(step: Step) -> str:
    if not step.result.ok:
        return refusal(step, f"`{step.call.name}`")
    match step.call.name:
        case "list_dir":
            count = len(step.result.content.split("\n")) if step.result.content else 0
            return f"There are {count} entries in this folder."
        case "questionnaire":
            answers = answers_in(step.result.content)
            return f"You chose **{answers.get('greeting', 'nothing')}**."
        case "write":
            return f"`{TOUR_FILE}` is on disk now."
        case "str_replace":
            return "The edit is done, and every other byte stayed as it was."
        case _:
            return "The command ran."


def _goodbye(conversation: Conversation) -> str:
    written = conversation.newest("write")
    created = written is not None and written.result.ok
    clean = f"\n- Say `run rm {TOUR_FILE}` to remove the tour's file." if created else ""
    return (
        "## That's the tour\n"
        "- Quit and start with `rho --resume`: everything above comes back."
        f"{clean}\n"
        "- `/model` connects a real model, `/help` lists the keys."
    )
