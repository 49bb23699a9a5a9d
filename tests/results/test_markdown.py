import re
from dataclasses import replace

import pytest

from deep500.results.benching.data import ReportData

from . import bench_data as results
from .rendering import markdown, terminal


def line_with(text: str, *parts: str) -> str:
    return next(
        line for line in text.splitlines() if all(part in line for part in parts)
    )


def bare_numbers(text: str) -> list[str]:
    """Lines with a time or a ratio that have no interval or no n."""
    results = re.split("## What was", text)[0]
    results = re.sub(
        "### Effect sizes.*?(?=\n#)", "", results, flags=re.DOTALL
    ).splitlines()
    numbers = [
        line for line in results if re.search(r"\d (?:[pnµm]?s|×)(?=[ ,;.|])", line)
    ]
    return [
        line
        for line in numbers
        if not (re.search(r"\[[\d.]+, [\d.]+\]", line) and re.search(r"n = \d+", line))
    ]


def test_the_answer_comes_first(two):
    lines = [line for line in markdown(two).splitlines() if line]
    assert lines[0] == "# Three ways to add"
    assert lines[1].startswith("**`b` is slower than `a`: ratio 1.0")
    assert re.search(
        r"ratio 1\.\d{3} × \[1\.\d{3}, 1\.\d{3}\], n = 120; `a` takes 1\.\d{3} ms \[.*\], n = 240; `b` "
        "takes",
        lines[1],
    )


@pytest.mark.parametrize(
    ("b", "words"),
    [
        (1.298e-3, "`b` is slower than `a`"),
        (1.1e-3, "`b` is faster than `a`"),
        (1.234e-3, "take the same time, within 2 %"),
        (1.26e-3, "Inconclusive: `b` may be faster or slower than `a`, or the same"),
    ],
)
def test_each_verdict_has_its_sentence(make, b, words):
    assert words in markdown(make({"a": 1.234e-3, "b": b})).splitlines()[2]


def test_one_entry_gives_its_median(one):
    assert re.match(
        r"\*\*The median of `a` is 1\.\d{3} ms \[.*\], n = 240\.\*\*",
        markdown(one).splitlines()[2],
    )


def test_many_entries_are_counted(twelve):
    answer = markdown(twelve).splitlines()[2]
    assert re.search(
        r"10 entries are slower \(from 1\.\d+ × \[[\d., ]+\], n = 120 to 1\.\d+ × \[[\d., ]+\], n = 120\)",
        answer,
    )
    assert len(answer) < 350


def test_one_of_several_says_by_how_much(make):
    answer = markdown(make({"a": 1e-3, "b": 1.2e-3, "c": 1.0e-3})).splitlines()[2]
    assert re.search(r"`b` is slower \(1\.\d+ × \[[\d., ]+\], n = 120\)", answer)
    assert "`c` is the same" in answer


def with_interference(data: ReportData, planted: dict | None) -> ReportData:
    return results.changed(data, lambda derived: derived.update(interference=planted))


@pytest.mark.parametrize("others", [0.89, 0.05, 1.0])
def test_a_busy_machine_is_part_of_the_answer(others):
    for data in (results.one(), results.two(), results.twelve()):
        planted = {
            "others": others,
            "low": others - 0.02,
            "high": min(others + 0.02, 1),
            "n": 40,
            "cpus": 2,
        }
        data = with_interference(data, planted)
        text = markdown(data)
        assert (
            f", on a machine that others used to {round(100 * others)} %"
            in text.splitlines()[2]
        )
        assert f"- others used {round(100 * others)} % [" in text and "n = 40" in text


def test_a_quiet_machine_is_not_mentioned():
    data = results.two()
    for planted in (
        None,
        {"others": 0.01, "low": 0.0, "high": 0.02, "n": 40, "cpus": 2},
    ):
        assert "others used" not in markdown(with_interference(data, planted))


def test_every_number_has_interval_and_n(one, two, twelve, awkward):
    for data in (one, two, twelve, awkward):
        assert bare_numbers(markdown(data)) == []


def test_the_check_of_numbers_sees_a_bare_one(two):
    text = markdown(two)
    assert bare_numbers(re.sub(r"\[[^]]*\](?=, n)", "", text))
    assert bare_numbers(text.replace("n = 240", "").replace("n = 120", ""))


def test_a_refused_comparison_is_said_plainly(two):
    refused = {
        "ratio": None,
        "low": None,
        "high": None,
        "verdict": "inconclusive",
        "n": 0,
        "quantiles": [],
        "notes": ["6 samples are needed, there are 2"],
    }
    two = results.changed(
        two, lambda derived: derived["comparisons"][0].update(refused)
    )
    text = markdown(two)
    assert "Inconclusive: `b` may be" in text and "ratio refused, n = 0" in text
    assert "- `b` against `a`: 6 samples are needed, there are 2" in text


def test_a_refused_interval_shows_no_number(one):
    refused = {
        "low": None,
        "high": None,
        "notes": ["6 samples are needed, there are 4"],
    }
    one = results.changed(one, lambda derived: derived["entries"][0].update(refused))
    text = markdown(one)
    assert (
        "`a` was measured, but its median has no interval" in text
        and "6 samples are needed" in text
    )
    assert "refused, n = 240" in line_with(text, "| `a`", "one call")


def test_modes_stand_beside_the_median(awkward):
    row = line_with(markdown(awkward), "| `bimodal`", "flat")
    assert "], n = 240; 2 modes: 3.000 µs (60 %) and 4.500 µs (40 %)" in row
    assert "2 modes" in line_with(markdown(awkward), "| `bimodal`", "slower")


def test_states_that_need_words_get_them(awkward):
    for text in (markdown(awkward), terminal(awkward)):
        assert "- one process, between-process variance unknown" in text
        assert "- `sum`: never steady" in text
        assert "- `bimodal`: 2 modes" in text
        assert (
            "- `add`: 7 calls were timed together: values and quantiles are of means of 7 calls"
            in text
        )
        assert (
            "- Control, `add` against itself: same, 1.001 × [0.997, 1.005], n = 120."
            in text
        )
        assert "means of 7 calls" in line_with(text, "| `add`", "µs", "refused")


def test_a_message_of_all_entries_is_said_once(twelve):
    assert markdown(twelve).count("needs 299 samples, there are 240") == 1
    assert "- every entry: no p99 (p99 at 95 % needs" in markdown(twelve)


def test_a_message_of_some_entries_names_them(twelve):
    def unchecked(derived: dict) -> None:
        for entry in derived["entries"][:3]:
            entry["notes"].append("dependence unchecked")

    twelve = results.changed(twelve, unchecked)
    line = line_with(markdown(twelve), "dependence unchecked")
    assert "every" not in line and line.count("np.einsum") == 3


def test_plan_environment_and_origin_are_shown(two):
    text = markdown(two)
    for part in (
        "random interleaving in mirrored rounds (ABBA), seed 123",
        "| time budget",
        "| caches",
        "perf_counter_ns, resolution 41 ns, overhead 58 ns",
        "6 of 7 facts are known (86 %).",
        "cpu model: AMD EPYC 7763",
        "`d5 verify results/add`",
        "abab",
    ):
        assert part in text, part
    assert (
        line_with(text, "| hardware memory").split("|")[-2].strip() == "memory modules"
    )


def test_factors_and_unknown_settings_are_shown(two):
    data = replace(
        two, plan=replace(two.plan, factors={"n": [10, 100]}, more={"new_setting": [1]})
    )
    assert "n: 10, 100" in markdown(data) and "| new setting" in markdown(data)
    data = results.changed(
        data, lambda derived: derived["entries"][0].update(levels={"n": 10})
    )
    assert "n = 10" in line_with(markdown(data), "| `a`", "one call")


def test_nothing_known_of_the_surroundings_is_said(two):
    data = replace(two, environment={}, bundle=None, hash=None)
    text = markdown(data)
    assert (
        "The environment was not recorded." in text
        and "The raw samples were not saved" in text
    )


def test_sensors_say_what_they_measured_or_why_not(two):
    sensors = {
        "wall time": {"value": 5.01, "unit": "s", "source": "clock"},
        "energy": {"value": None, "source": "RAPL", "unavailable": "no permission"},
    }
    text = markdown(replace(two, sensors=sensors))
    assert "- wall time: 5.01 s" in text and "- energy: unknown, no permission" in text


def test_bases_are_kept_apart(make):
    data = make({"a": 1e-3, "b": 2e-3, "c": 3e-3, "d": 4e-3})
    data = results.changed(
        data, lambda derived: derived["comparisons"][2].update(base="c")
    )
    text = markdown(data)
    said = re.sub(r" \([^)]*\)", "", text)
    assert (
        "Compared with `a`: `b` and `c` are slower; compared with `c`: `d` is slower"
        in said
    )
    assert len(re.findall("^Compared with `[ac]`, which takes", text, re.M)) == 2


def test_text_from_files_stays_text(hostile):
    for text in (markdown(hostile), terminal(hostile)):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e\ud800]", text)
        outside_code = re.sub(r"(`+).*?\1", "", text)
        assert not re.search(r"(?<!\\)<[a-zA-Z/]", outside_code)
        assert "](" not in text
        assert "PROBLEM" in text


def test_the_terminal_gets_the_short_form(two):
    assert len(terminal(two)) < len(markdown(two)) / 2
    assert "slower" in terminal(two) and "d5 verify" in terminal(two)


def test_tables_fit_the_terminal(one, two, twelve, awkward):
    for data in (one, two, twelve, awkward):
        lines = [line for line in terminal(data).splitlines() if line.startswith("|")]
        assert 0 < max(map(len, lines)) <= 100
    whole = [line for line in markdown(twelve).splitlines() if line.startswith("|")]
    assert max(map(len, whole)) > 100  # Markdown is never cut


def test_the_same_data_give_the_same_text(awkward):
    assert markdown(awkward) == markdown(awkward)


def with_drift(entry, comparison):
    def drifting(derived: dict) -> None:
        derived["entries"][0]["drift"] = entry
        derived["comparisons"][0]["drift"] = comparison

    return markdown(results.changed(results.two(), drifting))


NONE_SEEN = {"change": 0.001, "low": -0.01, "high": 0.012, "detectable": 0.031, "n": 6}


def test_a_drift_that_the_data_cannot_exclude_is_said():
    text = with_drift(NONE_SEEN, NONE_SEEN)
    line = line_with(text, "- a slow drift cannot be excluded")
    assert (
        "seen only from this size on: `a` 3.1 % (n = 6 medians, interval ±1.3 %)"
        in line
    )
    assert "`b` against `a` 3.1 %" in line


def test_a_drift_that_would_have_been_seen_is_not_mentioned():
    excluded = NONE_SEEN | {"detectable": 0.009}
    assert "drift" not in with_drift(excluded, excluded)
    assert "drift" not in with_drift(None, None)


def test_a_drift_that_was_seen_is_said():
    seen = {"change": 0.05, "low": 0.03, "high": 0.071, "detectable": 0.01, "n": 10}
    line = line_with(
        with_drift(seen, NONE_SEEN | {"detectable": 0}), "the level drifted"
    )
    assert "`a` by 5 % [3 %, 7.1 %], n = 10 medians" in line
