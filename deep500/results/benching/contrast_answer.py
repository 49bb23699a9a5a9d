"""Is B faster than A? One sentence about the entries that two measurements share."""

from collections import Counter
from collections.abc import Mapping

from ...errors import TooFewSamples
from ...measure.statistics.comparison import Comparison
from ...reports.blocks import Banner
from ...reports.tables import Number, ratio
from ...reports.text import Text, VerdictWord, clean

Answer = Comparison | TooFewSamples
WORDS = {
    "faster": "faster",
    "slower": "slower",
    "same": "as fast",
    "inconclusive": "inconclusive",
}


def contrast_banner(answers: Mapping[str, Answer]) -> Banner:
    """The answer on a single entry, or how many of several are faster and slower."""
    verdicts = Counter(map(verdict_of_answer, answers.values()))
    counts = {VerdictWord(word): verdicts[word] for word in WORDS if verdicts[word]}
    if len(answers) == 1:
        [(name, answer)] = answers.items()
        sentence = _one(name, answer)
    else:
        sentence = [_several(verdicts, len(answers))]
    return Banner(sentence, sentence, counts)


def verdict_of_answer(answer: Answer) -> str:
    """The verdict; without enough samples there is none."""
    if isinstance(answer, TooFewSamples):
        return "inconclusive"
    return answer.verdict


def _one(name: str, answer: Answer) -> list[Text]:
    label = clean(name)
    if isinstance(answer, TooFewSamples):
        return [f"Inconclusive whether {label} is faster in A or in B: {clean(answer)}"]
    factor = ratio(answer.ratio, answer.low, answer.high, answer.n)
    number = Number(factor.value, factor.interval)
    if answer.verdict == "inconclusive":
        return [f"Inconclusive: {label} takes ", number, " as long in B as in A"]
    word = WORDS[answer.verdict]
    return [f"{label} is {word} in B: it takes ", number, " as long as in A"]


def _several(verdicts: Mapping[str, int], total: int) -> str:
    parts = []
    for verdict, word in WORDS.items():
        if verdicts[verdict]:
            parts.append(f"{verdicts[verdict]} {word}")
    return f"{total} entries in B against A: {', '.join(parts)}"
