"""Texts of every language that is known to be written without blanks."""

from sacrebleu import BLEU

from annotated_transformer.text.languages import WITHOUT_BLANKS

SENTENCES = {  # A dog runs on the beach. Two men sleep. The girl sings a song.
    "zh": ["一只狗在沙滩上奔跑。", "两个男人在睡觉。", "女孩唱了一首歌。"],
    "ja-mecab": [
        "犬が砂浜を走っている。",
        "二人の男が眠っている。",
        "女の子が歌を歌う。",
    ],
    "char": ["หมาวิ่งบนชายหาด", "ผู้ชายสองคนนอนหลับ", "เด็กผู้หญิงร้องเพลง"],
}
CUT = {cut: cut for cut in SENTENCES}
try:
    BLEU(tokenize="ja-mecab")
except RuntimeError:  # it needs MeCab
    CUT["ja-mecab"] = "char"
# each language, what sacrebleu calls its cut, and its sentences
LANGUAGES = [
    (language, CUT[cut], SENTENCES[cut])
    for cut, names in WITHOUT_BLANKS.items()
    for name in names.split()
    for language in (name, f"{name.upper()}_Abcd-XX")
]
# and one for each way to cut
ONE_OF_EACH = [
    (names.split()[0], CUT[cut], SENTENCES[cut])
    for cut, names in WITHOUT_BLANKS.items()
]
