from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ctxheap.heap.model import Usage
from ctxheap.prices import OverrideError, PriceBook, cost_usd, genai, load_book
from ctxheap.prices.overrides import ENVIRONMENT_VARIABLE, find_file, read_overrides

OWN_MODEL = """
[[models]]
match = "house-model-*"
provider = "vllm"
input = 2.0
cache_read = 0.2
output = 8
window = 65536
date = 2026-11-30

[[models.tiers]]
above = 32000
input = 4.0
"""


def write(folder: Path, text: str, name: str = "prices.toml") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_a_file_adds_a_model_with_its_window_tiers_and_date(tmp_path: Path) -> None:
    path = write(tmp_path, OWN_MODEL)
    book = load_book(path)
    small = Usage(uncached=1_000, cache_read=10_000, output=100)
    large = Usage(uncached=40_000)

    found = book.rates("house-model-7b", "vllm", small, None)
    stepped = book.rates("house-model-7b", "vllm", large, None)

    assert found is not None
    assert stepped is not None
    found_cost = cost_usd(found, small)
    assert found_cost.input == pytest.approx(0.002 + 0.002)
    assert found_cost.output == pytest.approx(0.0008)
    assert cost_usd(stepped, large).input == pytest.approx(0.16)
    assert (found.source, found.date) == (f"{path}: house-model-*", "2026-11-30")
    assert book.window("house-model-7b", "vllm") == 65_536


def test_an_override_for_one_provider_leaves_the_others_alone(tmp_path: Path) -> None:
    book = load_book(write(tmp_path, OWN_MODEL))

    assert book.rates("house-model-7b", "openai", Usage(uncached=1), None) is None


def test_a_file_changes_one_price_and_keeps_the_rest(tmp_path: Path) -> None:
    book = load_book(write(tmp_path, '[[models]]\nmatch = "gpt-4o"\ninput = 1.0\n'))
    usage = Usage(uncached=1_000_000, cache_read=1_000_000, output=1_000_000)

    found = book.rates("openai/gpt-4o", "openai", usage, None)

    assert found is not None
    found_cost = cost_usd(found, usage)
    assert found_cost.input == pytest.approx(1.0 + 1.25)
    assert found_cost.output == pytest.approx(10.0)


def test_a_file_may_set_a_window_only(tmp_path: Path) -> None:
    book = load_book(write(tmp_path, '{"models": [{"match": "gpt-4o", "window": 64000}]}', "prices.json"))
    found = book.rates("gpt-4o", "openai", Usage(uncached=1), None)

    assert book.window("gpt-4o", "openai") == 64_000
    assert found is not None
    assert found.source.endswith("openai/gpt-4o")


def test_zero_is_a_price_when_the_file_says_so(tmp_path: Path) -> None:
    book = load_book(write(tmp_path, '[[models]]\nmatch = "local-*"\ninput = 0\noutput = 0\n'))
    usage = Usage(uncached=1_000, cache_read=500, output=10)

    found = book.rates("local-llm", "", usage, None)

    assert found is not None
    assert cost_usd(found, usage).total == 0.0


def test_output_without_a_price_leaves_the_total_unknown(tmp_path: Path) -> None:
    book = load_book(write(tmp_path, '[[models]]\nmatch = "local-*"\ninput = 1\n'))
    usage = Usage(uncached=1_000, output=10)

    found = book.rates("local-llm", "", usage, None)

    assert found is not None
    assert found.unpriced == ("output",)
    assert cost_usd(found, usage).total is None


def test_later_entries_win(tmp_path: Path) -> None:
    text = '[[models]]\nmatch = "*"\nwindow = 1000\n\n[[models]]\nmatch = "gpt-4o"\nwindow = 2000\n'
    book = load_book(write(tmp_path, text))

    assert (book.window("gpt-4o", ""), book.window("gpt-4", "")) == (2_000, 1_000)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[models]]\nmatch = "m"\ninput = "3"\n', r"models\[0\].input = '3': expected a price in USD"),
        ('[[models]]\nmatch = "m"\ninput = -1\n', r"models\[0\].input = -1: expected a price in USD"),
        ('[[models]]\nmatch = "m"\noutput = true\n', r"models\[0\].output = True: expected a price in USD"),
        ('[[models]]\nmatch = "m"\ninput = inf\n', r"models\[0\].input = inf: expected a price in USD"),
        ('[[models]]\nmatch = "m"\nwindow = 1.5\n', r"models\[0\].window = 1.5: expected a whole number"),
        ('[[models]]\nmatch = "m"\ncash_read = 1\n', r"models\[0\].cash_read = 1: expected one of the keys"),
        ("[[models]]\ninput = 1\n", r"models\[0\].match = None: expected a model name"),
        ("[[models]]\nmatch = 7\n", r"models\[0\].match = 7: expected a string"),
        ('[models]\nmatch = "m"\n', r"models = \{'match': 'm'\}: expected a list of tables"),
        ("prices = 1\n", r"prices = 1: expected one of the keys models"),
        (
            '[[models]]\nmatch = "m"\ntiers = [{input = 1}]\n',
            r"models\[0\].tiers\[0\].above = None: expected",
        ),
        (
            '[[models]]\nmatch = "m"\ntiers = [{above = 5, input = 1}]\n',
            r"models\[0\].input = None: expected a price, because a tier below it has one",
        ),
        ("[[models]\n", r"prices.toml: "),
    ],
)
def test_bad_input_is_refused_with_file_key_and_value(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)

    with pytest.raises(OverrideError, match=message) as caught:
        read_overrides(path)
    assert str(caught.value).startswith(str(path))


def test_a_named_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OverrideError, match=r"nowhere\.toml: cannot be read"):
        load_book(tmp_path / "nowhere.toml")


def test_the_argument_wins_over_the_environment_and_the_environment_over_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    default = tmp_path / ".config" / "ctxheap" / "prices.toml"
    default.parent.mkdir(parents=True)

    nothing = find_file(None, {})
    default.touch()

    assert nothing is None
    assert find_file(None, {}) == default
    assert find_file(None, {ENVIRONMENT_VARIABLE: "b.toml"}) == Path("b.toml")
    assert find_file(Path("a.toml"), {ENVIRONMENT_VARIABLE: "b.toml"}) == Path("a.toml")


def test_without_the_price_list_overrides_work_and_the_book_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(model: str, provider: str) -> None:
        raise genai.PricesMissingError(genai.MISSING)

    monkeypatch.setattr(genai, "find", missing)
    book = load_book(write(tmp_path, OWN_MODEL))

    assert book.rates("gpt-4o", "openai", Usage(uncached=1), None) is None
    assert book.rates("house-model-7b", "vllm", Usage(uncached=1), None) is not None
    assert "install ctxheap[profile]" in book.missing


def test_a_missing_price_list_is_reported_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices.data", None)
    genai._snapshot.cache_clear()  # pyright: ignore[reportPrivateUsage]

    with pytest.raises(genai.PricesMissingError, match=r"install ctxheap\[profile\]"):
        genai.find("gpt-4o", "openai")


def test_an_empty_book_has_no_overrides() -> None:
    assert PriceBook().overrides == ()
