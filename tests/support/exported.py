"""What the tests of exported folders share: text, and examples of cards."""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

CAPTIONS = [
    "A dog runs through the snow.",
    "Two men in orange hats are sitting at a table, eating soup.",
    "A little girl climbs into a wooden playhouse.",
    "Three people, one of them a child, wait for the bus.",
    "An old woman sells fruit at a market.",
    "People.",
    "A man in a blue shirt is standing on a ladder cleaning a window.",
    "The soccer player kicks the ball while two others watch!",
]


def printed_by_card(folder: Path) -> str:
    """What the example of a folder's README.md prints."""
    card = (folder / "README.md").read_text("utf-8")
    (code,) = re.findall("```python\n(.*?)```", card, re.DOTALL)
    assert '"."' in code
    out = io.StringIO()
    with redirect_stdout(out):
        exec(code.replace('"."', repr(str(folder))), {})
    return out.getvalue()
