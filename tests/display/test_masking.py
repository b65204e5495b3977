"""Secrets never leave: by value, by shape, whatever stands around them."""

import json
import pickle
import time
from base64 import b64encode
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recovery_kit.display import MASK, Masker, mask, secrets_of_url, shown, unmasked, url_host

ANY_TEXT = st.text(max_size=60)
# Without the mask's own sign and word: whether those are still there cannot be asked.
SECRETS = st.text(
    st.characters(exclude_characters="•maskedMASKED", exclude_categories=("Cs",)), min_size=6, max_size=60
)

SHAPES = {
    "AKIAEXAMPLE000000FAK": "AKIAEXAMPLE000000FAK",
    "ghp_fake00000000000000000000000000000000": "fake0000",
    "github_pat_11FAKE0000000000_fakefakefake": "fakefake",
    "xoxb-000000000000-fakefakefakefake": "fakefake",
    "sk-ant-api03-fakefakefakefake-AA": "fakefake",
    "sk-proj-fakefakefakefake0000": "fakefake",
    "sk-fakefakefakefakefake0000": "fakefake",
    "whsec_fakefake/fake+fake=": "fakefake",
    "eyJhbGciOiJub25lIn0.eyJmYWtlIjoxfQ.c2lnbmF0dXJl": "c2lnbm",
    "Authorization: Bearer fake.fakefakefake.0": "fakefake",
    "bearer abcdefghijkl": "abcdef",
    "Authorization: Basic ZmFrZTpmYWtl": "ZmFr",
    "password=hunter2!": "hunter2",
    "passwd: hunter2": "hunter2",
    "DB_PASSWORD='hunter2 and more'": "more",
    'x {"password": "hun\\"ter2"} y': "ter2",
    '{"a":"{\\"api_key\\":\\"hun\\\\\\"ter2\\"}"}': "ter2",
    "?api_key=hunter2&x=1": "hunter2",
    "https%3A%2F%2Fx%2F%3Ftoken%3Dhunter2%26x": "hunter2",
    "aws_secret_access_key = fake/fake+FAKE0000": "fake",
    "tool --db-password hunter2 --fast": "hunter2",
    "postgres://user:p@ss:w@db.example.invalid/x": "p@ss",
    "-----BEGIN RSA PRIVATE KEY-----\nTUlJRmFrZQ==\n-----END RSA PRIVATE KEY-----": "TUlJ",
    '{"key":"-----BEGIN PRIVATE KEY-----\\nTUlJRmFrZQ==\\ncut of': "TUlJ",
}
NOT_SECRETS = (
    '{"tokens": 84, "current_tokens":5629, "max_tokens": 60000}',
    '"has_signing_key": true, "password": null, token: 42',
    "PWD=/srv/demo/work",
    "the bearer of bad news; a task-oriented approach-to-everything, risk-averse-and-careful",
    "Bearer authentication is described elsewhere",
    "https://hooks.example.test:8080/lev",
    '{"content":"set password=","other":1}',
    "### [secrets]\n| token | meaning |",
)


@given(secret=SECRETS, before=ANY_TEXT, after=ANY_TEXT)
@settings(deadline=None)
def test_a_given_secret_never_survives(secret: str, before: str, after: str) -> None:
    """Neither the secret nor its first 24 characters are left, in whatever spelling it stood there."""
    masker = Masker([secret])
    for spelled in (
        secret,
        quote(secret, safe=""),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
    ):
        masked = masker(before + spelled + after)
        assert MASK in masked
        assert spelled not in masked and spelled[:24] not in masked


@given(
    secret=SECRETS.filter(lambda secret: len(secret.encode()) >= 9),
    before=st.binary(max_size=5),
    after=st.binary(max_size=5),
)
@settings(deadline=None)
def test_base64_of_a_text_with_the_secret_holds_nothing_of_it(secret: str, before: bytes, after: bytes) -> None:
    """The secret is found in base64 at each alignment."""
    assert MASK in Masker([secret])(b64encode(before + secret.encode() + after).decode())


@given(st.text(), st.lists(SECRETS, max_size=3))
@settings(deadline=None)
def test_masking_twice_is_masking_once(text: str, secrets: list[str]) -> None:
    """The mask itself is never taken for a secret."""
    masker = Masker(secrets)
    assert masker(masker(text)) == masker(text)


@given(
    st.lists(
        st.sampled_from([*SHAPES, *NOT_SECRETS, "\n", " ", '"', "\\", "=", ":", "password", "@", "://a:", MASK]),
        max_size=6,
    )
)
@settings(deadline=None)
def test_masking_twice_is_masking_once_for_pieces_of_keys(pieces: list[str]) -> None:
    """Shapes glued to each other settle as well."""
    once = mask("".join(pieces))
    assert mask(once) == once


@pytest.mark.parametrize("text", SHAPES)
def test_what_looks_like_a_key_is_masked(text: str) -> None:
    """Each shape, alone, in a sentence, and behind the escapes of JSON and of a terminal colour."""
    for around in ("{}", "it said {} and left", "a\n{}\nb"):
        masked = mask(around.replace("{}", text))
        assert MASK in masked and SHAPES[text] not in masked


@pytest.mark.parametrize("key", [text for text in SHAPES if text[:2] in ("AK", "gh", "xo", "sk", "wh", "ey")])
@pytest.mark.parametrize("before", ["\\n", "\\\\n", "\x1b[31m", "%0A", '"', "="])
def test_a_key_is_known_behind_an_escape(key: str, before: str) -> None:
    """The letter that ends an escape is not part of the word that follows."""
    if before != "%0A" or not key.startswith("sk-f"):
        assert SHAPES[key] not in mask(before + key)


@pytest.mark.parametrize("text", NOT_SECRETS)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    """Counts, paths, prose and addresses are no keys."""
    assert mask(text) == text


def test_what_is_kept_around_a_mask() -> None:
    """Only the secret goes; the mask has one length."""
    assert mask("postgres://user:pw12@db/x") == f"postgres://user:{MASK}@db/x"
    assert mask('{"password":"a","b":1}') == f'{{"password":"{MASK}","b":1}}'
    assert mask("login(password='x y', user=1)") == f"login(password='{MASK}', user=1)"
    assert Masker(["abcdef", "defghi"])("abcdefghi abcdef") == f"{MASK} {MASK}"


@pytest.mark.parametrize("kept", [12, 20, 30])
def test_a_secret_that_was_cut_is_still_masked(kept: int) -> None:
    """Tools and the engine shorten texts themselves: beginnings and ends of a long secret count."""
    secret = "q7Wn-4kPz_90aaB-xyzzy-TTr5-0123456789"
    masker = Masker([secret])
    assert secret[:kept] not in masker(f"key {secret[:kept]}…") and secret[-kept:] not in masker(
        f"…{secret[-kept:]} end"
    )


def test_short_values_are_no_secrets() -> None:
    """Five characters occur everywhere."""
    assert Masker(["abcde"])("abcde") == "abcde"


def test_a_masker_is_a_value_that_tells_nothing() -> None:
    """Equal by its secrets, picklable, extended by making another; its repr names no secret."""
    masker = Masker(["hunter22", "hunter33"])
    assert masker == Masker(["hunter33", "hunter22"]) == pickle.loads(pickle.dumps(masker))
    assert Masker(["hunter22"]).knowing(["hunter33"]) == masker and hash(masker) == hash(
        Masker(["hunter33", "hunter22"])
    )
    assert "hunter" not in repr(masker)
    with pytest.raises(AttributeError):
        masker.secrets = ()  # type: ignore[misc]


def test_the_one_switch() -> None:
    """`unmasked` holds inside its block, also when the block fails."""
    with pytest.raises(KeyError), unmasked():
        assert mask("password=hunter2") == "password=hunter2"
        raise KeyError
    assert mask("password=hunter2") == f"password={MASK}"


def test_what_a_url_gives_away() -> None:
    """User, password, query values, fragment, token-like path segments, as spelled and decoded; the host is shown."""
    address = "https://robot:pa%2Fss1@Hooks.example.test:8080/lev/T0A1B2C3D4E5F6G7H8"
    url = address + "?token=DEMO-QUERY-TOKEN&run=demo-ledger-1#frag-ment"
    assert set(secrets_of_url(url)) >= {"pa%2Fss1", "pa/ss1", "T0A1B2C3D4E5F6G7H8", "DEMO-QUERY-TOKEN", "frag-ment"}
    assert "demo-ledger-1" not in secrets_of_url(url)
    assert url_host(url) == "hooks.example.test"
    assert (
        secrets_of_url("https://[broken/?token=x") == ("https://[broken/?token=x",)
        and url_host("https://[broken/") is None
    )
    assert secrets_of_url("") == () and url_host("") is None


@given(st.text())
def test_any_address_can_be_asked(url: str) -> None:
    """A callback URL is text of a run: nothing raises."""
    for text in (url, "https://" + url):
        url_host(text)
        assert all(secrets_of_url(text))


HOSTILE = (
    *(
        "a",
        "eyJ",
        "eyJ.",
        "\\",
        "password=",
        'password=\\"',
        "token: '",
        "://a:",
        "://a@",
        "--a-",
        "bearer ",
        "abc",
        "sk-",
    ),
    *("authorization: ", "-----BEGIN PRIVATE KEY-----", "AKIA", "secret_access_", 'token":"', "•", "•••masked•••"),
)


@pytest.mark.parametrize("unit", HOSTILE)
def test_a_text_made_to_be_slow_is_not(unit: str) -> None:
    """Four times the text takes about four times as long, not sixteen: a quarter and all of a megabyte."""
    masker = Masker(["a" * 40, "abcabcabcabcabcabcX"])
    took = []
    for size in (250_000, 1_000_000):
        text = unit * (size // len(unit))
        start = time.perf_counter()
        masker(text)
        took.append(time.perf_counter() - start)
    assert took[1] < 10 * took[0] + 0.25


@given(before=st.integers(0, 300), far=st.integers(8000, 9000))
@settings(max_examples=30, deadline=None)
def test_masked_before_it_is_shortened(before: int, far: int) -> None:
    """No place of a cut, the visible one or the one behind it, leaves a piece of a secret."""
    secret = "q7Wn-4kPz_90aaB-xyzzy-TTr5-0123456789"
    text = "x" * before + secret + " " * far + secret * 3 + "y" * 9000
    preview = shown(text, Masker([secret]), limit=160)
    assert "q7Wn" not in preview and "xyzzy" not in preview and len(preview) <= 160


def test_many_secrets_in_front_do_not_push_the_cut_into_view() -> None:
    """Masks are shorter than what they hide; a preview then reads on until it has enough."""
    secret = "q7Wn-4kPz_90aaB-xyzzy-TTr5-0123456789" * 20
    assert "q7Wn" not in shown((secret + " ") * 40 + "end", Masker([secret]), limit=160)
