"""Which files Python code writes, by the names in it."""

from __future__ import annotations

from cases import each_case
from cfglint.source.document import Document
from cfglint.source.python.writes import as_shell, files_written, may_write


@each_case(
    ("code", "expected"),
    [
        ('json.dump(x, open("ds.json", "w"))', ["ds.json"]),
        ("with open('a/b.yaml', mode='a', encoding='utf-8') as file:", ["a/b.yaml"]),
        ('Path("c.json").write_text(x)', ["c.json"]),
        ('pathlib.Path("c.json").open("w")', ["c.json"]),
        ('OmegaConf.save(config, "d.yaml")', ["d.yaml"]),
        ('PATH = "e.json"  # of the engine\nopen(PATH, "w")\nopen("e.json", "w")', ["e.json"]),
        ('open("f.json")\nopen("f.json", "rb")\nopen(name, "w")\nopen(f"{name}.json", "w")', []),
    ],
)
def test_the_names_of_what_is_opened_for_writing(code, expected):
    assert files_written(code) == expected


@each_case(
    ("text", "with_file", "without"),
    [
        ("with open('ds.json', 'w') as f: f.write(x)\nuse('ds.json')\n", True, True),
        ("p = 'conf/ds.json'\nP(p).write_text(x)\nuse('ds.json')\n", False, True),
        ("%%writefile ds.json\n{}\nuse('ds.json')\n", True, True),
        ("use('ds.json')\njson.dump(x, f)\n", False, False),
        ("p = 'ds.json'\nuse('ds.json')\nprint(x)\n", False, False),
    ],
)
def test_a_program_may_write_a_file_that_it_names(text, with_file, without):
    document = Document("train.py", text, "python")
    assert [may_write(document, "ds.json", is_there=is_there) for is_there in (True, False)] == [with_file, without]


def test_names_are_quoted_for_the_shell():
    assert as_shell("open('my file.json', 'w')") == "true > 'my file.json'\n"
