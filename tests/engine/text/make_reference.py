#!/usr/bin/env python3
"""Makes reference/*.json: tokenizers made by Hugging Face's tokenizers, and what they make of odd strings.

Recipe (the committed files were made once with the version that reference/expected.json names):

    python3 -m venv venv && venv/bin/pip install tokenizers
    venv/bin/python tests/engine/text/make_reference.py

reference/text.txt is Genesis 1-3 of the King James text as Debian's bible-kjv prints it, and a few lines of other scripts.
"""

import json
import pathlib

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).parent / "reference"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")

ODD = [
    "", " ", "   ", "\n", "\r\n\r\n", "\t\tx", "a", "In the beginning God created the heaven and the earth.",
    "don't DON'T we'll I'VE it's 'sup '", "12345678 3.14159 1,000,000 \u0663\u0664\u0665 \u00bd \u2167",
    "Überall naïve cafés garçon e\u0301 \ufb01", "Привет, мир! 你好，世界。こんにちは",
    "👋🏽👩‍👩‍👧‍👦🇩🇪 \U0001f9ff", "trailing   ", "   leading", "a  b   c    d\n\n\n  e\n", "\u00a0nbsp\u00a0\u3000ideographic\u2003em\u2028line\u180emongolian",
    "\u200b\u200d\ufeffzero width", "\x00\x01\x7f\x80\u0085controls", "<|endoftext|>", "a<|endoftext|>b <|endoftext|><|endoftext|>",
    "<|endoftext", "<|a|><|a|>b|> <|a|>", "foo_bar(baz[0]) != {\"k\": 'v'}; // done", "word" * 40, "!" * 70, "x\ny\r\nz\r",
    "\u0130I\u0131i \u017fs '\u017f", "\U00010000\U0010ffff\ufffd\uffff", "of the of the of the",
]


def byte_level_bpe(pre_tokenizer, vocabulary, special=("<|endoftext|>",)):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=vocabulary, min_frequency=2, special_tokens=list(special), show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    # One document: the library would otherwise train line by line.
    tokenizer.train_from_iterator([(HERE / "text.txt").read_bytes().decode()], trainer)
    return tokenizer


def llama3_steps():
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3), behavior="isolated", invert=False),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def trained():
    return byte_level_bpe(llama3_steps(), 700)


def gpt2():
    return byte_level_bpe(pre_tokenizers.ByteLevel(add_prefix_space=False), 500)


def smollm():
    steps = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                     pre_tokenizers.ByteLevel(add_prefix_space=False)])
    return byte_level_bpe(steps, 500, ["<|endoftext|>", "<|im_start|>"])


def llama3():
    tokenizer = byte_level_bpe(llama3_steps(), 500, [])
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False)
                                  for t in ("<|endoftext|>", "<|a|>", "<|a|><|a|>b")])
    tokenizer.add_tokens([AddedToken("heaven", normalized=False)])
    begin = tokenizer.token_to_id("<|a|>")
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<|a|> $A", pair="<|a|> $A <|a|> $B", special_tokens=[("<|a|>", begin)])])
    state = json.loads(tokenizer.to_str())
    state["model"]["ignore_merges"] = True
    # A token that no merge makes: only reached because whole pieces are looked up first.
    assert "ĠGod" in state["model"]["vocab"]
    state["model"]["merges"] = [pair for pair in state["model"]["merges"] if "".join(pair) != "ĠGod"]
    return Tokenizer.from_str(json.dumps(state))


def with_prefix():
    steps = pre_tokenizers.Sequence([pre_tokenizers.Split(",", behavior="removed"), pre_tokenizers.ByteLevel(add_prefix_space=True)])
    return byte_level_bpe(steps, 400)


if __name__ == "__main__":
    expected = {"tokenizers": tokenizers.__version__, "texts": ODD, "cases": {}}
    for make in (trained, gpt2, smollm, llama3, with_prefix):
        made = make()
        state = json.loads(made.to_str())
        if make is gpt2:  # the older spelling of merges
            state["model"]["merges"] = [" ".join(pair) for pair in state["model"]["merges"]]
        name = make.__name__
        (HERE / f"{name}.json").write_text(json.dumps(state, ensure_ascii=False, separators=(",", ":")) + "\n")
        made = Tokenizer.from_file(str(HERE / f"{name}.json"))
        expected["cases"][name] = {
            "plain": [made.encode(text, add_special_tokens=False).ids for text in ODD],
            "with_specials": [made.encode(text).ids for text in ODD]}
    (HERE / "expected.json").write_text(json.dumps(expected, separators=(",", ":")) + "\n")
