"""A translator and a language model, served to many users at once."""

import asyncio
import time
import uuid
from collections.abc import Coroutine
from typing import Annotated, Any, Literal

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from annotated_transformer import Batcher, Translator, Writer

app = FastAPI()
writer = Writer.load("plays")


def write(prompts, seed, max_tokens, **options):
    """What follows each prompt; with a seed, as if it were the only one."""
    options["max_new_tokens"] = max_tokens
    if seed is None:
        return writer(prompts, **options)
    return [writer(prompt, seed=seed, **options) for prompt in prompts]


translate = Batcher(Translator.load("multi30k-en-de"))
complete = Batcher(write)
Text = Annotated[str, Field(max_length=10_000)]


class Source(BaseModel, extra="forbid"):
    """What /translate accepts."""

    text: Text


class Prompt(BaseModel, extra="forbid"):
    """What /v1/completions accepts: the most common of OpenAI's fields."""

    model: Literal["plays"]
    prompt: Text = ""
    max_tokens: int = Field(16, ge=1, le=500)
    temperature: float = Field(1, ge=0, le=2)
    top_p: float = Field(1, gt=0, le=1)
    seed: int | None = Field(None, ge=0, lt=2**63)


async def unless_gone(request: Request, answer: Coroutine) -> Any:
    """The answer; it is given up if the client leaves before it comes."""
    task = asyncio.create_task(answer)

    async def watch():
        while (await request.receive())["type"] != "http.disconnect":
            pass
        task.cancel()

    watcher = asyncio.create_task(watch())
    try:
        return await task
    except asyncio.CancelledError:
        raise HTTPException(499, "the client has left") from None
    finally:
        watcher.cancel()


@app.post("/translate")
async def translation(source: Source, request: Request):
    """The translation of one text."""
    return {"text": await unless_gone(request, translate(source.text))}


@app.post("/v1/completions")
async def completion(asked: Prompt, request: Request):
    """The continuation of one prompt, as OpenAI's API returns it."""
    options = asked.model_dump(exclude={"model", "prompt"})
    text = await unless_gone(request, complete(asked.prompt, **options))
    new = text.removeprefix(asked.prompt)
    return {
        "id": f"cmpl-{uuid.uuid4().hex}",
        "object": "text_completion",
        "created": int(time.time()),
        "model": asked.model,
        "choices": [{"index": 0, "text": new, "finish_reason": "length"}],
    }


@app.exception_handler(RequestValidationError)
async def refuse(request: Request, error: RequestValidationError):
    """Say which field is wrong, and not what it was: that may be NaN."""
    said = [f"{x['loc'][-1]}: {x['msg']}" for x in error.errors()]
    return JSONResponse({"detail": "; ".join(said)}, 422)
