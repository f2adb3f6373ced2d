"""What the texts allow that models were trained on."""

__all__ = ["MULTI30K_LICENCE", "TEXT_LICENCES"]

MULTI30K_LICENCE = (
    "Multi30k is for research and education only: "
    "its captions come from Flickr30k."
)
MADE_HERE = "The text was made by this package and has its licence."
TEXT_LICENCES = {
    "multi30k": MULTI30K_LICENCE,
    "builtin": MADE_HERE,
    "pronouns": MADE_HERE,
    "copy": MADE_HERE,
}
