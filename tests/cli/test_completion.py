"""Shell completion: scripts that know every verb and option, run by the shells themselves."""

import shutil
import subprocess

import pytest

from deep500.cli import VERBS, main, options_of, parser


@pytest.fixture
def script(capsys):
    def text(shell):
        assert main(["completion", shell]) == 0
        return capsys.readouterr().out

    return text


def completed(shell, script, tmp_path, *words):
    """What the shell offers for the last of these words."""
    file = tmp_path / "d5.bash"
    file.write_text(script)
    quoted = " ".join(f"'{word}'" for word in ("d5", *words))
    code = (
        f"source '{file}'; COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _d5; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        [shell, "-c", code], capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.split()


def test_bash_completes_verbs_nouns_options_and_choices(script, tmp_path):
    text = script("bash")

    def offered(*words):
        return completed("bash", text, tmp_path, *words)

    assert offered("rep") == ["reproduce", "report"] or set(offered("rep")) == {
        "report",
        "reproduce",
    }
    assert "operator" in offered("check", "oper")
    assert offered("bench", "operator", "--shap") == ["--shape"]
    assert "--gate" in offered("compare", "--g")
    assert "parquet" in offered("export", "--to", "par")
    assert offered("show", "no-option-here") == []


def test_every_option_of_every_verb_is_in_it(script):
    for shell in ("bash", "fish"):
        text = script(shell)
        for verb, actions in options_of(parser(VERBS)).items():
            assert verb.split()[0] in text
            for option in filter(lambda name: name.startswith("--"), actions):
                name = option.removeprefix("--") if shell == "fish" else option
                assert name in text, (shell, verb, option)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_take_it(shell, script, tmp_path):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    file = tmp_path / "script"
    file.write_text(script(shell))
    done = subprocess.run(
        [shell, "-n", str(file)], capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr


def test_an_unknown_shell_is_one_line(capsys):
    assert main(["completion", "tcsh"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
