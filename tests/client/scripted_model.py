"""A model without a network for the OpenAI Agents SDK."""

import json
from typing import Any

from agents import Model, ModelResponse, Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from antechamber.mcp_server import TOOLS
from client.test_mcp import LESSON


class Scripted(Model):
    """A model of the SDK's own interface that calls one tool, always with the same id, and repeats its result."""

    def __init__(self, content: str) -> None:
        """Propose this."""
        self.content = content

    async def get_response(self, *_: Any, **given: Any) -> ModelResponse:
        """Call the tool with every argument, as a strict mode does; then answer with its result."""
        results = [one["output"] for one in given["input"] if one.get("type") == "function_call_output"]
        if results:
            words = ResponseOutputText(text=str(results[0]), type="output_text", annotations=[])
            answer: Any = ResponseOutputMessage(
                id="m", content=[words], role="assistant", status="completed", type="message"
            )
        else:
            arguments = dict.fromkeys(TOOLS["propose_memory"].arguments.__struct_fields__) | LESSON
            answer = ResponseFunctionToolCall(
                call_id="call_01",
                name="propose_memory",
                arguments=json.dumps(arguments | {"content": self.content}),
                type="function_call",
            )
        return ModelResponse(output=[answer], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        """Streams are not used."""
        raise NotImplementedError
