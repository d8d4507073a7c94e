"""Hard text, and how the tokenizers of known models split it, in the words of the tokenizers library."""

from tokenizers import Regex, pre_tokenizers as pre

TEXTS = [
    "", " ", "  ", "   ", "a", " a", "a ", "a  b", "Hello world", "Hello  world", "   leading", "trailing   ", "\n", "\n\n", " \n", "\n ", " \n \n  x",
    "a\n\nb\n \n c", "\t", "\t\t\tx", " \t \n\t ", "\r\n", "a\r\nb", "a \r\n\r\n  b", "x\n", "x \n", "x;\n\n\ty", "!!!\n\nwow", "//\n/* c */\r\n",
    "The weather today is cold, and the weather tomorrow will be colder.",
    "def f(x):\n    if x > 0:\n\t\treturn {'a': [1, 2.5e-3, None]}\n    # done\n",
    "for (int i = 0; i < n; ++i) {\r\n\tsum += a[i] * b[i];\r\n}\r\n", "<h1>Title</h1><a href=\"x\">y</a>", "#!/usr/bin/env python3\n",
    "don't can't I'll we've they're it's I'm you'd", "DON'T CAN'T I'LL WE'VE THEY'RE IT'S I'M YOU'D", "Don'T We'Ve x'Re y'lL", "it'\u017f 's 'S ' s 'll'",
    "it'\u017fx I'LLx we'veX", "o'clock rock'n'roll \u2019s \u2019t", "'quoted' ''double'' 'tis",
    "1", "12", "123", "1234", "12345", "123456", "1234567", "1234567890", "3.14159 1,000,000 1e-9 0x1F", "v2.0.1-rc3", "\u00bd \u00b2 \u0663\u0664\u0665\u0666 \u096a\u0968 \u2167 \u2460",
    "a1b22c333d4444", "x=1 y= 22 z =333", "CamelCaseAndALLCAPS snake_case_name XMLHttpRequest iPhone eBay", "ABCdef ABC Abc aBC \u01c5x \u02b0a \u00aaB",
    "Gr\u00f6\u00dfe, fa\u00e7ade, na\u00efve, \u00c6r\u00f8sk\u00f8bing", "Za\u017c\u00f3\u0142\u0107 g\u0119\u015bl\u0105 ja\u017a\u0144", "Привет, как дела? 10 раз",
    "Γειά σου Κόσμε", "שלום עולם", "مرحبا بالعالم، كيف الحال؟", "नमस्ते दुनिया। कैसे हो?", "สวัสดีชาวโลก ภาษาไทย", "こんにちは、世界。カタカナ", "你好，世界！中文 字符",
    "안녕하세요 세계", "ᚠᛇᚻ᛫ᛒᛦᚦ", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝒜", "한글 조합",
    "😀😃 👩\u200d👩\u200d👧\u200d👦 🏳\ufe0f\u200d🌈 🇩🇪", "e\u0301 vs \u00e9, a\u0308 \u0301x", "q\u0307\u0323 n\u0303\u0303", "\u200b\u200d\ufeff\u00ad", "\u00a0nbsp\u00a0\u00a0x",
    "em\u2003space \u3000ideographic\u3000 \u3000", "a\u2028b\u2029c\u0085d", "\u1680x\u180ey\u205fz", "\ufffd\ufffd", "\x00", "a\x00b\x01\x1f\x7f\x80\x9f", "a\x0bb\x0cc\x1cd\x1fe",
    "\u202eright to left\u202c", "ﬁ ﬂ Ⅷ ㎏", "\ue000\U000f0000\U0010ffff", "x" * 120, "ab" * 60, "the " * 12, " " * 33 + "x", "=" * 40, "-" * 7 + ">" + "~" * 5, "!?" * 9 + "...",
    "∑_{i=0}^{n} x_i² ≤ ∞ → ×÷", "a/b\\c|d~e`f$g+h<i>j^k", "http://example.org/a?b=c&d=%20", "user@example.org #tag $5.00 100% (a) [b] {c}", "foo...bar…baz", "«a» “b” ‘c’ „d“",
    "<|im_start|>user\nHi<|im_end|>\n", "<|endoftext|>", "a<|endoftext|>b", "<tool_call>{}</tool_call>", "x<tool_call><tool_call>", "    <tool_call>    y", "[multi token][multi]",
    "।۔،,.|()", "w,x。y…z", "A\u0301B\u0301c\u0301", "۱۲۳۴ ১২৩৪", "ß ẞ ŉ ǰ", "\u1e9e\u0130\u0131",
]

ENDINGS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
MIXED = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+%s|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*%s|")


def split(pattern):
    return pre.Split(Regex(pattern), "isolated")


def level():
    return pre.ByteLevel(add_prefix_space=False, use_regex=False)


def gpt2():
    return pre.ByteLevel(add_prefix_space=False, use_regex=True)


def methods():
    """By name of tokenizer.ggml.pre: the pre-tokenizer of the models' tokenizer.json, None where llama.cpp alone tells."""
    llama3 = [split(ENDINGS + "|" + WORDS + r"|\p{N}{1,3}|" + REST), level()]
    return {
        "gpt-2": [gpt2()],
        "llama-bpe": llama3,
        "dbrx": llama3,
        "qwen2": [split(ENDINGS + "|" + WORDS + r"|\p{N}|" + REST), level()],
        "smollm": [pre.Digits(individual_digits=True), gpt2()],
        "seed-coder": [split(ENDINGS + "|" + WORDS + r"|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+"), level()],
        "tekken": [split(MIXED % ("", "") + r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"), level()],
        "gpt-4o": [split(MIXED % (ENDINGS + "?", ENDINGS + "?") + r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"), level()],
        "deepseek-v3": [split(r"\p{N}{1,3}"), split("[一-龥\u3040-ゟ゠-ヿ]+"),
                        split("[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"
                              " ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"), level()],
        "falcon": [pre.Punctuation("contiguous"), gpt2(), pre.Digits(individual_digits=False), split("[0-9][0-9][0-9]")],
        "deepseek-coder": None, "bloom": None, "viking": None, "default": None,
    }
