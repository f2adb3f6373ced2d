"""Write the Transformer on one page, from the cells of the chapters.

`one_page_frame.txt` is the page but for its definitions: a line of it such as
`<layers: FeedForward, AddNorm>` says which come from the cells of a chapter.
On the way they lose their types, their longer docstrings and what SIMPLER
says that a page for the pronoun task does not need.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

import chapters
import export

FRAME = Path(__file__).with_name("one_page_frame.txt")
PAGE = chapters.BOOK / "transformer_on_one_page.py"

# Two classes that stand on the page as one.
MERGED = {"MultiHeadAttention": "Projections"}
# Methods that nothing on the page calls.
LEFT_OUT = {
    "MultiHeadAttention": {
        "reset_parameters",
        "keys_values",
        "forward",  # attend takes its name
        "weights",
    },
    "AddNorm": {"before", "after"},
}
# What a definition of the chapters says, and what it says on the page; in
# place of a whole line, "" takes it out. The page has no dropout, its keys
# and values are as wide as d_model / heads, its norm comes first, and it
# keeps nothing from word to word. Each text must be found exactly once.
SIMPLER = {
    "padding_mask": [("pad=0", "pad=PAD")],
    "causal_mask": [
        ("length, device=None", "length"),
        (", device=device)", ")"),
    ],
    "attention_weights": [
        ("mask=None", "mask"),
        ("if mask is None:", ""),
        ("return scores.softmax(-1)", ""),
        (
            "masked_softmax(scores, mask)",
            "scores.masked_fill(~mask, -math.inf).softmax(-1)",
        ),
    ],
    "MultiHeadAttention": [
        ("heads, d_k=None, d_v=None, dropout=0.0", "heads"),
        ("self.d_k = d_k or head_width(d_model, heads)", ""),
        ("self.d_v = d_v or head_width(d_model, heads)", ""),
        ("self.dropout = dropout", ""),
        (
            "attention_fn: Callable[..., Tensor] = staticmethod("
            "F.scaled_dot_product_attention)",
            "",
        ),
        ("(d_model, heads * self.d_k)", "(d_model, d_model)"),
        ("heads * (self.d_k + self.d_v)", "2 * d_model"),
        ("(heads * self.d_v, d_model)", "(d_model, d_model)"),
        ("self.reset_parameters()", ""),
        (
            "attend(self, x, keys, values, mask=None, bias=None)",
            "forward(self, x, memory, mask)",
        ),
        ("check_mask(mask)", ""),
        (
            "heads = self.attention_fn(self.split(self.query(x)), keys, "
            "values, attn_mask=with_bias(mask, bias), dropout_p=self.dropout "
            "if self.training else 0.0)",
            "keys, values = self.key_value(memory).chunk(2, -1)\n"
            "        query, keys, values = map(self.split, "
            "(self.query(x), keys, values))\n"
            "        heads = attention_weights(query, keys, mask) @ values",
        ),
    ],
    "TokenEmbedding": [
        (
            "return F.embedding(tokens, self.weight) * self.scale",
            "x = F.embedding(tokens, self.weight) * self.scale\n"
            "        return x + sinusoids(*x.shape[1:])",
        ),
    ],
    "FeedForward": [
        ("for layer in (self.inner, self.outer):", ""),
        ("nn.init.xavier_uniform_(layer.weight)", ""),
        ("nn.init.zeros_(layer.bias)", ""),
    ],
    "AddNorm": [
        ("around a sub-layer", "around a sub-layer, the norm first"),
        ("d_model, dropout, pre_norm=False, norm=nn.LayerNorm", "d_model"),
        ("self.norm = norm(d_model)", "self.norm = nn.LayerNorm(d_model)"),
        ("self.dropout = nn.Dropout(dropout)", ""),
        ("self.pre_norm = pre_norm", ""),
        (
            "self.after(x, sublayer(self.before(x)))",
            "x + sublayer(self.norm(x))",
        ),
    ],
    "EncoderLayer": [("mask=None", "mask")],
    "DecoderLayer": [
        ("(self, self_attention, ", "(self, attention, "),
        ("= self_attention", "= attention"),
        (
            "x, source, source_mask=None, target_mask=None, past=None",
            "x, memory, pad, causal",
        ),
        ("y = self.around_self.before(x)", ""),
        (
            "keys_values = "
            "append_kv(past, self.self_attention.keys_values(y))",
            "",
        ),
        (
            "y = self.self_attention.attend(y, *keys_values, target_mask)",
            "",
        ),
        (
            "self.around_self.after(x, y)",
            "self.around_self(x, lambda y: self.self_attention(y, y, causal))",
        ),
        ("queries = x.reshape(source[0].size(0), -1, x.size(-1))", ""),
        (
            "queries = self.around_cross(queries, lambda y: "
            "self.cross_attention.attend(y, *source, source_mask))",
            "x = self.around_cross(x, lambda y: "
            "self.cross_attention(y, memory, pad))",
        ),
        (
            "x = self.around_feed_forward(queries.view_as(x), ",
            "return self.around_feed_forward(x, ",
        ),
        ("return (x, keys_values)", ""),
    ],
}


class Plain(ast.NodeTransformer):
    """Takes out types, methods that are not called and long docstrings.

    Of the types, the shape of what is returned stays.
    """

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        methods = [x for x in node.body if isinstance(x, ast.FunctionDef)]
        for method in methods:
            if method.name in LEFT_OUT.get(node.name, ()):
                node.body.remove(method)
            elif ast.get_docstring(method):
                del method.body[0]  # the class says enough
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if node.returns:
            shape = re.search("'(.+)'", ast.unparse(node.returns))
            node.returns = ast.Constant(shape[1]) if shape else None
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.Expr:
        match node.value:
            case ast.Constant(str(text)):
                node.value = ast.Constant(text.split("\n\n")[0])
        return node


def definitions(module: str) -> dict[str, ast.stmt]:
    """What the exported cells of a module's chapter define, by name."""
    notebook = chapters.read(chapters.chapter_of(module))
    return {
        name: statement
        for cell in export.export_cells(notebook)
        for statement in ast.parse(cell.source).body
        for name in export.names(statement)
    }


def simpler(name: str, defined: dict[str, ast.stmt]) -> str:
    """The text of a definition, as it stands on the page."""
    node = defined[name]
    base = defined.get(MERGED.get(name, ""))
    if isinstance(node, ast.ClassDef) and isinstance(base, ast.ClassDef):
        node.bases, node.body[1:1] = base.bases, base.body[1:]
    text = ast.unparse(ast.fix_missing_locations(Plain().visit(node)))
    text = re.sub(r" -> '(.+)':$", r":  # \1", text, flags=re.MULTILINE)
    for old, new in SIMPLER.get(name, []):
        where = re.escape(old) if new else rf"^ *{re.escape(old)}(\n|\Z)"
        times = len(re.findall(where, text, re.MULTILINE))
        if times != 1:
            raise export.ExportError(
                f"SIMPLER in tools/one_page.py: {name} holds {old!r} {times} "
                f"times, not once:\n{text}"
            )
        text = re.sub(where, new, text, flags=re.MULTILINE)
    return text


def render() -> str:
    """The text of the page."""

    def cells(line: re.Match[str]) -> str:
        defined = definitions(line["module"])
        names = line["names"].split(", ")
        return "\n\n\n".join(simpler(name, defined) for name in names)

    text = re.sub(
        r"^<(?P<module>\w+): (?P<names>.+)>$",
        cells,
        FRAME.read_text("utf-8"),
        flags=re.MULTILINE,
    )
    name = f"--stdin-filename={FRAME.with_suffix('.py')}"
    ruff = [sys.executable, "-m", "ruff", "format", name]
    formatted = subprocess.run(
        ruff, input=text, capture_output=True, check=True, encoding="utf-8"
    ).stdout
    # so that it fits: a blank line between definitions, none inside a class
    one = re.sub(r"\n{3,}", "\n\n", formatted)
    return re.sub(r"\n\n(?=    def )", "\n", one)


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(chapters.ROOT)}")
