"""Several sources are audited together, each finding names its source, and links in a folder are not followed."""

import shutil
from pathlib import Path

import pytest

import deep500 as d5
from deep500.dossiers.devices import launch_year
from deep500.dossiers.sources import read_sources

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
CLAIM = "[[speedup]]\nname = 'fast'\nvalue = 2.0\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    bundles = tmp_path / "bundles"
    bundles.mkdir()
    for name in ("bench_one", "recipe"):
        shutil.copy(GOLDEN / f"{name}.zip", bundles)
    (bundles / "notes.txt").write_text("not a bundle")
    (bundles / "linked.zip").symlink_to(GOLDEN / "gan.zip")
    return bundles


def test_a_folder_stands_for_its_bundles(folder: Path) -> None:
    names = [source.name for source in read_sources([str(folder)])]
    assert names == ["bench_one.zip", "recipe.zip"]


def test_a_finding_names_its_source(folder: Path) -> None:
    (folder / "claim.toml").write_text(CLAIM)
    result = d5.audit_sources(folder, folder / "claim.toml", rules=["R1", "R5"])
    by_id = {outcome.id: outcome for outcome in result.outcomes}
    [finding] = by_id["R1"].findings
    assert finding.text.startswith("claim.toml, fast: ")
    assert finding.evidence[0].file == "claim.toml"
    files = {found.evidence[0].file for found in by_id["R5"].findings}
    assert files == {"bench_one.zip/derived.json", "recipe.zip/derived.json"}


@pytest.mark.parametrize("name", ["", "missing", "nothing.toml"])
def test_what_is_missing_is_one_line(name: str, tmp_path: Path) -> None:
    with pytest.raises(d5.Deep500Error) as caught:
        d5.audit_sources(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_own_rules_take_the_place_of_all_others(folder: Path) -> None:
    class Always(d5.AuditRule):
        """Everything has a name."""

        why = advice = breaks = keeps = ""

        def judge(self, dossier):
            for number in dossier.number:
                yield number.passes("it has a name", "name")

    result = d5.audit_sources(folder, rules=[Always()])
    assert [outcome.verdict for outcome in result.outcomes] == ["PASS"]


YEARS = {
    "NVIDIA Tesla K20": 2012,
    "NVIDIA H100 80GB HBM3": 2022,
    "Tesla V100-SXM2-32GB": 2017,
    "NVIDIA A100-SXM4-40GB": 2020,
    "AMD EPYC 7742 64-Core Processor": 2019,
    "AMD EPYC 9654 96-Core Processor": 2022,
    "Intel(R) Xeon(R) CPU E5-2690 v3 @ 2.60GHz": 2014,
    "Intel(R) Xeon(R) Platinum 8180 CPU @ 2.50GHz": 2017,
    "Intel 8086": 1978,
    "AMD EPYC": None,
    "unheard of": None,
}


@pytest.mark.parametrize(("device", "year"), YEARS.items(), ids=list(YEARS))
def test_the_year_of_a_device(device: str, year: int | None) -> None:
    assert launch_year(device) == year
