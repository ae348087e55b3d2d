"""The floors: the least a Textual app can cost. `python -m benchmarks.floors bare|markdown URL`."""

from __future__ import annotations

import json
import sys

from textual.app import App, ComposeResult
from textual.widgets import Static, TextArea


class BareApp(App[None]):
    """A text area and one line under it: what any prompt needs."""

    def compose(self) -> ComposeResult:
        yield TextArea()
        yield Static("ready", markup=False)

    def on_mount(self) -> None:
        self.query_one(TextArea).focus()


class MarkdownApp(App[None]):
    """Textual's own Markdown stream, fed by a provider's wire, then the word `finished`."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self._started = False

    def compose(self) -> ComposeResult:
        from textual.containers import VerticalScroll
        from textual.widgets import Markdown

        with VerticalScroll():
            yield Markdown()
        yield TextArea()
        yield Static("ready", id="state", markup=False)

    def on_mount(self) -> None:
        self.query_one(TextArea).focus()
        self.query_one("VerticalScroll").anchor()

    async def on_text_area_changed(self) -> None:
        if "\n" in self.query_one(TextArea).text and not self._started:
            self._started = True
            self.run_worker(self._stream())

    async def _stream(self) -> None:
        import httpx
        from textual.widgets import Markdown

        stream = Markdown.get_stream(self.query_one(Markdown))
        body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "go"}]}
        async with httpx.AsyncClient(timeout=60) as client:
            async with client.stream("POST", f"{self._url}/chat/completions", json=body) as reply:
                async for line in reply.aiter_lines():
                    if not line.startswith("data: {"):
                        continue
                    choices = json.loads(line[6:])["choices"]
                    if choices and (text := choices[0]["delta"].get("content")):
                        await stream.write(text)
        await stream.stop()
        self.query_one("#state", Static).update("finished")


if __name__ == "__main__":
    if sys.argv[1] == "bare":
        BareApp().run()
    else:
        MarkdownApp(sys.argv[2]).run()
