"""The built-in English-German corpus: a synchronous grammar.

Each rule builds a sentence in both languages at once, so gold alignments
come for free (see draw.py; the words are data: lexicon.toml). The parts, each
on top of those before: lexicon, draw, clauses, phrases, predicates, sentences,
context, examples. What decides a German word often stands far away on the
English side. An example is tagged with what it shows:

pronoun       "it" is er, sie or es by the gender of the noun that it means
role          a "she" somewhere makes the doctor an Ärztin
sense         "bat" is Fledermaus or Schläger by a place or person elsewhere
attachment    an instrument precedes the object, a description follows it
travel        gehen or fahren by the means, which is named last
relative      the pronoun agrees with its noun, its case is the verb's
verb-final    the finite verb closes a subordinate clause
separable     "opens" is macht ... auf, aufmacht, aufzumachen
agreement     the verb agrees with a subject that a clause parts from it
inversion     the finite verb comes second, whatever comes first
perfect, modal, infinitive, negation, numeral, coordination, giving, placing

Where German leaves a free choice (Auto or Wagen, weil or da), a variant is
drawn with a probability that depends on nothing else. English decides all
the rest, so log p(target | source) is the sum over the drawn variants, and
its negative mean over examples is the entropy floor of a translator.
"""

from .examples import (
    GrammarExample,
    entropy_floor,
    example_splits,
    sentence_pairs,
    words,
)

__all__ = [
    "GrammarExample",
    "entropy_floor",
    "example_splits",
    "sentence_pairs",
    "words",
]
