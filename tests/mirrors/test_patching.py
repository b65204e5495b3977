"""JSON Patch by RFC 6902 and JSON Pointer by RFC 6901."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recovery_kit.mirrors.patching import DoesNotFit, patched, pointer, same

RIGHT = [
    ({"foo": "bar"}, [{"op": "add", "path": "/baz", "value": "qux"}], {"foo": "bar", "baz": "qux"}),
    ({"foo": ["a", "c"]}, [{"op": "add", "path": "/foo/1", "value": "b"}], {"foo": ["a", "b", "c"]}),
    ({"foo": ["a"]}, [{"op": "add", "path": "/foo/-", "value": "b"}], {"foo": ["a", "b"]}),
    ({"foo": 1, "bar": 2}, [{"op": "remove", "path": "/bar"}], {"foo": 1}),
    ({"foo": ["a", "b"]}, [{"op": "remove", "path": "/foo/0"}], {"foo": ["b"]}),
    ({"a": 1}, [{"op": "replace", "path": "/a", "value": [2]}], {"a": [2]}),
    ({"a": 1}, [{"op": "replace", "path": "", "value": 3}], 3),
    ({"a": {"b": 1}, "c": {}}, [{"op": "move", "from": "/a/b", "path": "/c/d"}], {"a": {}, "c": {"d": 1}}),
    ({"a": [1, 2, 3]}, [{"op": "move", "from": "/a/0", "path": "/a/2"}], {"a": [2, 3, 1]}),
    ({"a": [1]}, [{"op": "copy", "from": "/a", "path": "/b"}], {"a": [1], "b": [1]}),
    ({"a/b": 1, "c": 0}, [{"op": "test", "path": "/a~1b", "value": 1}, {"op": "remove", "path": "/c"}], {"a/b": 1}),
    ({"m~n": 2}, [{"op": "remove", "path": "/m~0n"}], {}),
    ({"": 1}, [{"op": "replace", "path": "/", "value": 2}], {"": 2}),
]

WRONG = [
    [{"op": "remove", "path": "/nothing"}],
    [{"op": "add", "path": "/list/9", "value": 1}],
    [{"op": "add", "path": "/list/01", "value": 1}],
    [{"op": "add", "path": "/no/where", "value": 1}],
    [{"op": "replace", "path": "/list/-", "value": 1}],
    [{"op": "test", "path": "/one", "value": True}],
    [{"op": "test", "path": "/one", "value": 2}],
    [{"op": "add", "path": "/new"}],
    [{"op": "add", "path": "new", "value": 1}],
    [{"op": "move", "from": "/deep", "path": "/deep/er"}],
    [{"op": "copy", "path": "/x"}],
    [{"op": "spin", "path": "/x"}],
    [{"path": "/x"}],
    [{"op": "remove"}],
]


@pytest.mark.parametrize(("document", "patch", "wanted"), RIGHT)
def test_operations(document: object, patch: list[dict[str, object]], wanted: object) -> None:
    """The examples of the RFC, and the corners of pointers."""
    assert patched(document, patch) == wanted


@pytest.mark.parametrize("patch", WRONG)
def test_what_does_not_fit(patch: list[dict[str, object]]) -> None:
    """A patch that does not fit raises, and changes nothing even where an earlier operation fitted."""
    document = {"one": 1, "list": [1, 2], "deep": {"er": 1}}
    with pytest.raises(DoesNotFit):
        patched(document, [{"op": "add", "path": "/first", "value": 0}, *patch])
    assert document == {"one": 1, "list": [1, 2], "deep": {"er": 1}}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(), JSON, min_size=1, max_size=4), st.data(), JSON)
def test_any_member_by_its_pointer(document: dict[str, object], data: st.DataObject, value: object) -> None:
    """Whatever a member is called, its pointer finds it: replaced, it is the new value and nothing else changed."""
    key = data.draw(st.sampled_from(sorted(document)))
    after = patched(document, [{"op": "replace", "path": pointer(key), "value": value}])
    assert same(after, document | {key: value})
