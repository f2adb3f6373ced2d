#!/bin/sh
# The commands that lead from nothing to the models that come with the package:
# `make translators`. They work in runs/translators, skip what is there and go
# on with what was broken off. Models made on another machine are alike, not
# equal. UPDATES=5 is a rehearsal: so many updates a model, and forty lines of
# each text that they translate.
set -eu

python=${PYTHON:-.venv/bin/python}
updates=${UPDATES:-}
here=${1:-runs/translators${updates:+-rehearsed}}
text=${ANNOTATED_TRANSFORMER_DATA:-$here/text}
export ANNOTATED_TRANSFORMER_DATA="$text"
mkdir -p "$here"

# Of what each model finds, the three that are most like what a person wrote.
MORE_PAIRS='
import sys
from annotated_transformer import Translator
from annotated_transformer.corpora.parallel_text import read_pairs, write_tsv
from annotated_transformer.runs.devices import choose_device
from experiments.shared.made_pairs import extra_pairs

*folders, source, target, output = sys.argv[1:]
models = [Translator.load(x, choose_device()) for x in folders]
for model in models:
    model.beam = 8
made = extra_pairs(*models, read_pairs(source, target), number=3)
write_tsv(output, made)
'

# Sources for targets, each token drawn from the ten likeliest.
DRAWN='
import sys
from annotated_transformer import Translator
from annotated_transformer.corpora.parallel_text import write_tsv
from annotated_transformer.system.text_lines import read_lines
from experiments.shared.drawn_translations import draw_translations

folder, text, output = sys.argv[1:]
lines = read_lines(text)
made = draw_translations(Translator.load(folder), lines, 4096, top_k=10)
write_tsv(output, zip(made, lines, strict=True))
'

DESCRIPTIONS='
import sys
from pathlib import Path
from annotated_transformer.system.atomic_files import write_text
from experiments.shared.multi30k_descriptions import multi30k_descriptions

language, output = sys.argv[1:]
lines = multi30k_descriptions(language)
write_text(Path(output), "".join(f"{line}\n" for line in lines))
'

# Each pair twice, with typing errors in its source.
MISSPELL='
import random
import sys
from annotated_transformer.corpora.parallel_text import read_table, write_tsv
from annotated_transformer.text.noise import typing_errors

pairs, output = sys.argv[1:]
rng = random.Random(0)
made = [
    (typing_errors(source, rng, 0.15, least=1), target)
    for source, target in 2 * read_table(pairs)
]
write_tsv(output, made)
'

# Single words and noun phrases of pairs, as a model links their words.
SHORT='
import sys
from annotated_transformer import Translator
from annotated_transformer.corpora.parallel_text import read_pairs, write_tsv
from experiments.shared.word_pairs import links_of, short_pairs

folder, source, target, output = sys.argv[1:]
pairs = read_pairs(source, target)
write_tsv(output, short_pairs(pairs, links_of(Translator.load(folder), pairs)))
'

# The mean of a model, counted once, and of what it became, counted twice.
MEAN='
import sys
from dataclasses import replace
from annotated_transformer.corpora.multi30k import multi30k
from annotated_transformer.data import encode_pairs
from annotated_transformer.runs.batches import fixed_batches
from annotated_transformer.storage.model_folder import load_model, save_model
from annotated_transformer.training import average, validate

before, after, source, target, output = sys.argv[1:]
old, _, _ = load_model(before)
model, tokenizer, history = load_model(after)
states = [old.state_dict(), *[model.state_dict()] * 2]
model.load_state_dict(average(states))
valid, _ = encode_pairs(multi30k(source, target).valid, tokenizer, 256)
found = validate(model, fixed_batches(valid, 4096))
known = {
    "valid_perplexity": round(found.perplexity, 3),
    "valid_accuracy": round(found.accuracy, 4),
}
result = replace(history.result, **known)
save_model(output, model, tokenizer, replace(history, result=result))
'

transformer() {
    $python -m annotated_transformer "$@"
}

part() { # FILE.gz: as it is, or in a rehearsal a file of its first lines
    if [ -z "$updates" ]; then echo "$1"; return; fi
    gzip -dc "$1" | head -n 40 | gzip > "$here/${1##*/}"
    echo "$here/${1##*/}"
}

train() { # NAME OPTION...
    output=$here/$1
    shift
    if [ -e "$output/config.json" ]; then return; fi
    if [ -d "$output/checkpoints" ]; then set -- "$@" --resume; fi
    transformer train "$output" "$@" ${updates:+--max-steps "$updates"}
}

translator() { # NAME FROM-TO OPTION...: en-de, say
    name=$1 source=${2%-*} target=${2#*-}
    shift 2
    train "$name" --task multi30k --source "$source" --target "$target" \
        --bf16 "$@"
}

further() { # the same, from the weights of another model
    translator "$@" --preset tiny --peak-rate 2e-3 --warmup 100
}

risk() { # the same, for BLEU itself, on people's pairs alone
    translator "$@" --dropout 0.1 --batch-tokens 1024 --warmup 20 \
        --checkpoint-every 100
}

more_pairs() { # FILE FORWARD BACKWARD FROM-TO: of the same text
    if [ -e "$here/$1" ]; then return; fi
    $python -c "$MORE_PAIRS" "$here/$2" "$here/$3" \
        "$(part "$text/train.${4%-*}.gz")" \
        "$(part "$text/train.${4#*-}.gz")" "$here/$1"
}

swap() { # FILE NEW: the same pairs for the other direction
    awk -F '\t' -v OFS='\t' '{ print $2, $1 }' "$here/$1" > "$here/$2"
}

other_side() { # FILE MODEL LANGUAGE OPTION...: pairs of descriptions
    output=$here/$1 model=$here/$2 lines=$here/descriptions.$3
    shift 3
    if [ -e "$output" ]; then return; fi
    transformer backtranslate "$model" "$lines" --output "$output" "$@"
}

drawn() { # FILE MODEL LANGUAGE: the same, drawn
    if [ -e "$here/$1" ]; then return; fi
    $python -c "$DRAWN" "$here/$2" "$here/descriptions.$3" "$here/$1"
}

misspell() { # FILE NEW: the same pairs, typed carelessly
    if [ -e "$here/$2" ]; then return; fi
    $python -c "$MISSPELL" "$here/$1" "$here/$2"
}

short() { # NAME MODEL FROM-TO: the last stage, with single words
    source=$(part "$text/train.${3%-*}.gz")
    target=$(part "$text/train.${3#*-}.gz")
    if [ ! -e "$here/short.$3" ]; then
        $python -c "$SHORT" "$here/$2" "$source" "$target" "$here/short.$3"
    fi
    if [ ! -e "$here/again.$3" ]; then
        transformer backtranslate "$here/$2" "$source" --forward \
            --output "$here/again.$3"
    fi
    translator "$1" "$3" --from "$here/$2" --preset tiny --dropout 0.1 \
        --noise 2 --extra "$here/again.$3=0.35" --extra "$here/short.$3=0.3" \
        --max-steps 800 --peak-rate 1e-3 --warmup 50 --checkpoint-every 100
}

mean() { # NAME BEFORE AFTER FROM-TO: of two models
    if [ -e "$here/$1" ]; then return; fi
    $python -c "$MEAN" "$here/$2" "$here/$3" "${4%-*}" "${4#*-}" "$here/$1"
}

pack() { # NAME FROM-TO NO-REPEAT OPTION...: as it is shipped, with its scores
    name=$1 source=${2%-*} target=${2#*-} repeat=$3
    shift 3
    if [ -e "$here/multi30k-$name" ]; then return; fi
    for test in test_2016_flickr test_2017_flickr test_2017_mscoco; do
        $python tools/record_scores.py "$here/$name" \
            "$(part "$text/$test.$source.gz")" \
            "$(part "$text/$test.$target.gz")" \
            "$here/$name.json" --no-repeat "$repeat"
    done
    $python tools/pack_model.py "$here/multi30k-$name" "$here/$name" \
        --record "$here/$name.json" \
        --valid "$(part "$text/val.$source.gz")" "$@"
}

for language in en de; do
    if [ -e "$here/descriptions.$language" ]; then continue; fi
    $python -c "$DESCRIPTIONS" $language "$here/descriptions.$language"
    if [ -z "$updates" ]; then continue; fi
    head -n 40 "$here/descriptions.$language" > "$here/first"
    mv "$here/first" "$here/descriptions.$language"
done

# English and German: 29,000 pairs, and what models make of them in three rounds
translator en-de-0 en-de --preset tiny
translator de-en-0 de-en --preset tiny --max-steps 5000

more_pairs 1.en-de en-de-0 de-en-0 en-de
swap 1.en-de 1.de-en
translator en-de-1 en-de --preset tiny --set model.d_ff=512 \
    --extra "$here/1.en-de" --max-steps 8500
translator de-en-1 de-en --preset tiny --set model.d_ff=512 \
    --extra "$here/1.de-en" --max-steps 5500

more_pairs 2.en-de en-de-1 de-en-1 en-de
swap 2.en-de 2.de-en
further en-de-2 en-de --from "$here/en-de-1" --extra "$here/2.en-de" \
    --max-steps 2000
further de-en-2 de-en --from "$here/de-en-1" --extra "$here/2.de-en" \
    --max-steps 3000

more_pairs 3.en-de en-de-2 de-en-2 en-de
swap 3.en-de 3.de-en
further en-de-3 en-de --from "$here/en-de-2" --extra "$here/3.en-de" \
    --max-steps 4500
further de-en-3 de-en --from "$here/de-en-2" --extra "$here/3.de-en" \
    --max-steps 4500

# the ends of what pairs alone give
risk en-de-pairs en-de --from "$here/en-de-3" --risk 8 --max-steps 350 \
    --peak-rate 3e-4
risk de-en-pairs de-en --from "$here/de-en-3" --risk 4 --max-steps 600 \
    --peak-rate 2e-4
pack en-de-pairs en-de 3
pack de-en-pairs de-en 3

# those of the package: they learn from descriptions of the pictures as well,
# with sources that a model wrote for them, and targets
drawn back.en-de de-en-pairs de
other_side ahead.en-de en-de-pairs en --forward
other_side ahead.de-en de-en-pairs de --forward
swap ahead.en-de back.de-en
more_pairs 4.en-de en-de-pairs de-en-pairs en-de
swap 4.en-de 4.de-en
further en-de-4 en-de --from "$here/en-de-pairs" --dropout 0.1 \
    --extra "$here/back.en-de=0.5" --extra "$here/ahead.en-de=0.2" \
    --max-steps 6000
further de-en-4 de-en --from "$here/de-en-pairs" --dropout 0.1 \
    --extra "$here/back.de-en=0.5" --max-steps 3500
further en-de-5 en-de --from "$here/en-de-4" --dropout 0.1 \
    --extra "$here/4.en-de=0.35" --extra "$here/back.en-de=0.25" \
    --extra "$here/ahead.en-de=0.15" --max-steps 4000
further de-en-5 de-en --from "$here/de-en-4" --dropout 0.1 \
    --extra "$here/4.de-en=0.35" --extra "$here/back.de-en=0.25" \
    --extra "$here/ahead.de-en=0.15" --max-steps 4000
risk en-de-6 en-de --from "$here/en-de-5" --risk 8 --max-steps 350 \
    --peak-rate 3e-4
risk de-en-6 de-en --from "$here/de-en-5" --risk 4 --max-steps 600 \
    --peak-rate 2e-4

# and as people type: with noise, the descriptions translated once more
drawn typed.back.en-de de-en-6 de
other_side typed.ahead.en-de en-de-6 en --forward
other_side typed.ahead.de-en de-en-6 de --forward
swap typed.ahead.en-de typed.back.de-en
further en-de-7 en-de --from "$here/en-de-6" --dropout 0.1 --noise 2 \
    --extra "$here/typed.back.en-de=0.4" \
    --extra "$here/typed.ahead.en-de=0.25" --max-steps 2500
further de-en-7 de-en --from "$here/de-en-6" --dropout 0.1 --noise 2 \
    --extra "$here/typed.back.de-en=0.4" \
    --extra "$here/typed.ahead.de-en=0.25" --max-steps 2500

# at last single words and noun phrases, which no caption is
short en-de en-de-7 en-de
short de-en de-en-7 de-en
pack en-de en-de 3
pack de-en de-en 3

# English and French: with subwords of their own, from the two of pairs alone
translator en-fr-1 en-fr --from "$here/en-de-pairs" --new-subwords \
    --preset tiny --peak-rate 3e-3 --warmup 300 --max-steps 3000
translator fr-en-1 fr-en --from "$here/de-en-pairs" --new-subwords \
    --preset tiny --peak-rate 3e-3 --warmup 300 --max-steps 3000
more_pairs 1.en-fr en-fr-1 fr-en-1 en-fr
further en-fr-2 en-fr --from "$here/en-fr-1" --extra "$here/1.en-fr" \
    --max-steps 3500 --checkpoint-every 250
risk en-fr-3 en-fr --from "$here/en-fr-2" --risk 4 --max-steps 800 \
    --peak-rate 3e-4
more_pairs 2.en-fr en-fr-3 fr-en-1 en-fr
further en-fr-4 en-fr --from "$here/en-fr-3" --extra "$here/2.en-fr" \
    --max-steps 3500 --checkpoint-every 250
risk en-fr-5 en-fr --from "$here/en-fr-4" --risk 4 --max-steps 600 \
    --peak-rate 3e-4
risk en-fr-pairs en-fr --from "$here/en-fr-5" --risk 8 --max-steps 600 \
    --peak-rate 3e-4
pack en-fr-pairs en-fr 4
other_side typed.ahead.en-fr en-fr-pairs en --forward
translator en-fr-6 en-fr --from "$here/en-fr-pairs" --preset tiny \
    --dropout 0.1 --noise 4 --extra "$here/typed.ahead.en-fr=0.5" \
    --max-steps 2500 --checkpoint-every 250 --peak-rate 1e-3 --warmup 100

# and once more with typing errors in all made pairs; then the mean of the model
# before and after, since such pairs make it worse at clean text
awk 'NR % 8 == 0' "$here/descriptions.en" > "$here/descriptions.some.en"
other_side ahead.en-fr en-fr-6 some.en --forward --beam 2
misspell ahead.en-fr misspelt.en-fr
translator en-fr-7 en-fr --from "$here/en-fr-6" --preset tiny --dropout 0.1 \
    --noise 4 --extra "$here/misspelt.en-fr=0.5" --max-steps 1000 \
    --checkpoint-every 125 --peak-rate 1e-3 --warmup 100
mean en-fr-8 en-fr-6 en-fr-7 en-fr
short en-fr en-fr-8 en-fr
pack en-fr en-fr 4 --learned "$text/train.en.gz" "$here/descriptions.en"

# pronouns: the built-in grammar
train pronouns --task pronouns
if [ ! -e "$here/packed-pronouns" ]; then
    $python tools/pack_model.py "$here/packed-pronouns" "$here/pronouns"
fi
