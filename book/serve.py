"""A translator and a language model, served to many users at once."""

import asyncio
import time
import uuid
from typing import Annotated, Literal

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from annotated_transformer import Batcher, Translator, Writer

app = FastAPI()
translator, writer = Translator.load("multi30k-en-de"), Writer.load("plays")
translate = Batcher(lambda texts: [x for (x,) in translator.n_best(texts, 1)])
write = Batcher(writer)
Text = Annotated[str, Field(max_length=10_000)]


class Line(BaseModel, extra="forbid"):
    """What /translate takes, and nothing else."""

    text: Text


class Prompt(BaseModel, extra="forbid"):
    """The most common fields of OpenAI's completions."""

    model: Literal["plays"]
    prompt: Text = ""
    max_tokens: int = Field(16, ge=1, le=500)
    temperature: float = Field(1, ge=0, le=2)
    top_p: float = Field(1, gt=0, le=1)


async def unless_gone(request, answer):
    """The answer; it is given up if the client leaves before it comes."""
    answer, gone = map(asyncio.ensure_future, (answer, request.receive()))
    await asyncio.wait([answer, gone], return_when=asyncio.FIRST_COMPLETED)
    if answer.done():
        gone.cancel()
        return answer.result()
    answer.cancel()
    raise HTTPException(499, "the client has left")


@app.post("/translate")
async def translation(asked: Line, who: Request):
    """The translation of one text, and what may be wrong with it."""
    best = await unless_gone(who, translate(asked.text))
    return {"text": best.text, "warnings": best.warnings}


@app.post("/v1/completions")
async def completion(asked: Prompt, who: Request):
    """The continuation of one prompt, as OpenAI's API returns it.

    It also says which letters of the prompt the model has never seen.
    """
    unknown = writer.reader.unknown(asked.prompt)
    options = asked.model_dump(include={"temperature", "top_p"})
    answer = write(asked.prompt, max_new_tokens=asked.max_tokens, **options)
    new = (await unless_gone(who, answer)).removeprefix(asked.prompt)
    return {
        "id": f"cmpl-{uuid.uuid4().hex}",
        "object": "text_completion",
        "created": int(time.time()),
        "model": asked.model,
        "choices": [{"index": 0, "text": new, "finish_reason": "length"}],
        "warnings": [f"the model has never seen {x}" for x in [unknown] if x],
    }


@app.exception_handler(RequestValidationError)
async def refuse(request, error):
    """Name what is wrong with which field, not its value: it may be NaN."""
    wrong = []
    for x in error.errors():
        place, told = x["loc"][-1], x["msg"]
        if x["type"] == "json_invalid":
            wrong.append(f"body: not JSON from character {place + 1} on")
        elif place == "body":
            wrong.append("body: must be an object, sent as application/json")
        else:
            wrong.append(f"{place}: {told}")
    return JSONResponse({"detail": "; ".join(wrong)}, 422)
