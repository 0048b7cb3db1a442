"""The documents point at things that are there: links, headings, files, what is built, and the type that each word names."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
# What the design tells of in prose until it is there: where its pattern is found, and its mark is to go then.
UNBUILT = {"Kubernetes": ("src", r"kubernetes/"), "hang and idle": ("src/model", r"\bidle_slot_seconds")}


def glossary():
    """(word, names, files) of each row of ARCHITECTURE.md's table of words."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    table = text.partition("## Where each word lives")[2].partition("\n## ")[0]
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and "`" in cells[2]:
            yield cells[0], re.findall(r"`([^`]+)`", cells[1]), re.findall(r"`([^`]+)`", cells[2])


LINE_MAX = 140
NOT_BUILT = "(not built)"


def lines_of_prose(text):
    """(number, line) of each line that is in no block of code and no row of a table."""
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            in_code = not in_code
        elif not in_code and not line.startswith("|"):
            yield number, line


def anchors(page):
    """The names under which a page's headings are linked."""
    for _, line in lines_of_prose(page.read_text()):
        if line.startswith("#"):
            words = re.sub(r"[^\w\s-]", "", line.lstrip("#").strip().lower())
            yield re.sub(r"\s", "-", words)


def built(text):
    """The text without what bears the mark: sections by their heading, lines of prose and rows on their own."""
    sections = re.split(r"(?m)^(?=## )", text)
    for section in sections:
        if NOT_BUILT in section.partition("\n")[0]:
            continue
        yield from (line for line in section.splitlines() if NOT_BUILT not in line)


def folders_of_the_house(design):
    """(path, line) of each folder that the tree of the design names without the mark. A folder that begins a line lies in
    the outer one, a folder that the line tells of in the one that begins it."""
    tree = design.partition("## 3. The house")[2].partition("```\n")[2].partition("```")[0]
    for line in tree.splitlines():
        names = re.findall(r"([\w-]+)/", line)
        unmarked = re.findall(r"([\w-]+)/(?!\w)(?! *\(not built\))", line)
        is_outer = not line.startswith(" ")
        if is_outer:
            outer = names[0]
        for name in unmarked:
            inner = [] if is_outer else [outer] if name == names[0] else [outer, names[0]]
            yield ROOT.joinpath(*inner, name), line


def examples():
    """(header, line) of each indented line of the comment that begins a header."""
    for header in sorted((ROOT / "src").rglob("*.hpp")):
        for line in header.read_text().partition("#pragma once")[0].splitlines():
            if line.startswith("//   "):
                yield header.relative_to(ROOT), line


def tests_of_the_tree():
    """"Suite.Name" of each C++ test and "Class.test_name" of each Python one, and each suite's and class's own name."""
    cpp = re.compile(r"\b(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\(\s*(\w+),\s*(\w+)\)")
    for path in (path for folder in ("src", "tests") for path in (ROOT / folder).rglob("*.?pp")):
        for suite, name in cpp.findall(path.read_text()):
            yield from (suite, f"{suite}.{name}")
    for path in (ROOT / "tests/e2e").glob("*_test.py"):
        for text in re.split(r"(?m)^class ", path.read_text())[1:]:
            name = re.match(r"\w+", text)[0]
            yield from (name, *(f"{name}.{test}" for test in re.findall(r"(?m)^    def (test_\w+)", text)))


class Documents(unittest.TestCase):
    def test_links_between_pages_lead_somewhere(self):
        for page in PAGES:
            for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text()):
                if "://" not in target:
                    with self.subTest(page=page.name, target=target):
                        self.assertTrue((page.parent / target).exists())

    def test_links_to_headings_lead_to_one(self):
        for page in PAGES:
            for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", page.read_text()):
                if "://" not in target:
                    with self.subTest(page=page.name, target=target, anchor=anchor):
                        self.assertIn(anchor, list(anchors(page.parent / target if target else page)))

    def test_lines_of_prose_are_short(self):
        for page in PAGES:
            for number, line in lines_of_prose(page.read_text()):
                with self.subTest(page=page.name, line=number):
                    self.assertLessEqual(len(line), LINE_MAX)

    def test_what_the_design_names_without_the_mark_is_built(self):
        design = (ROOT / "docs/design.md").read_text()
        folders = list(folders_of_the_house(design))
        self.assertGreater(len(folders), 20)
        for path, line in folders:
            with self.subTest(folder=path, line=line):
                self.assertTrue(path.is_dir(), f"mark it {NOT_BUILT}, or build it")
        self.assertLessEqual({path for path in (ROOT / "src").iterdir() if path.is_dir()}, {path for path, _ in folders})
        text = "\n".join(built(design))
        commands = set(re.findall(r'\{"([a-z]+(?: [a-z]+)?)",', self.sources("cli/commands")))
        for words in re.findall(r"`paceline ([a-z]+(?: [a-z]+)?)", text):
            with self.subTest(command=words):
                self.assertTrue({words, words.partition(" ")[0]} & commands, f"mark it {NOT_BUILT}, or build it")
        for route in re.findall(r"/v1/[a-z/]+", text):
            with self.subTest(route=route):
                self.assertIn(f'"{route}', self.sources("api"), f"mark it {NOT_BUILT}, or build it")
        policies = text.partition("## 8. Policies")[2].partition("\n## ")[0]
        names = re.findall(r"(?m)^\| ([a-z][a-z, -]*) \|", policies)[1:]
        self.assertGreater(len(names), 5)
        for name in ", ".join(names).split(", "):
            with self.subTest(policy=name):
                self.assertIn(f'.name = "{name}"', self.sources("policy"), f"mark it {NOT_BUILT}, or build it")

    def test_what_is_not_built_bears_the_mark_until_it_is(self):
        lines = (ROOT / "docs/design.md").read_text().splitlines()
        for phrase, (folder, pattern) in UNBUILT.items():
            with self.subTest(phrase=phrase):
                self.assertTrue(any(phrase in line and NOT_BUILT in line for line in lines), f"mark it {NOT_BUILT}")
                root = ROOT / folder
                files = [root] if root.is_file() else list(root.rglob("*.?pp"))
                self.assertFalse([path for path in files if re.search(pattern, path.read_text())], "take the mark off")

    # Lines with `==` are run: tests/examples.
    def test_examples_of_headers_name_what_is_there(self):
        sources = [*(ROOT / "src").rglob("*.hpp"), *(ROOT / "src").rglob("*.cpp")]
        there = set(re.findall(r"[A-Za-z_]\w*", "".join(re.sub(r"//.*", "", path.read_text()) for path in sources)))
        found = list(examples())
        self.assertGreater(len(found), 300)
        for header, line in found:
            code = re.sub(r'"[^"]*"', "", line)
            for name in re.findall(r"\b([a-z]\w{2,})\(", code) + re.findall(r"(?:\.|->)([a-z]\w+)", code):
                with self.subTest(header=header, line=line):
                    self.assertTrue(name in there or re.fullmatch(r"s_[ab]", name), f"there is no {name}")

    def test_jobs_and_people_are_named_before_who(self):
        bare = re.compile(r"(?i)\b(of|for|than|from|by|only|holds|asks) who\b|[;,] who (doesn't|shows|sends|stays|waits|calls|comes|has)\b")
        pages = [page for page in PAGES if "decisions" not in page.parts]
        for path in (*pages, *(ROOT / "src").rglob("*.?pp"), *(ROOT / "runtime").rglob("*.?pp"), *(ROOT / "tests").rglob("*.txt")):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                with self.subTest(path=path, line=number):
                    self.assertIsNone(bare.search(line))

    # The glossary's verbs, and words that stood for its nouns: the paths that may use them.
    def test_a_word_has_one_meaning(self):
        allowed = {"settle": r"src/policy/|src/scheduler/explain\.cpp", "settled": "^$", "borrower": "^$", "lender": "^$", "taker": "^$", "victim": "^$"}
        words = re.compile(rf"\b({'|'.join(allowed)})\b")
        folders = ("src", "runtime/cpp", "tests/scenario", "tests/support", "tests/worlds", "bench")
        for path in (path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in (".cpp", ".hpp", ".txt")):
            name = str(path.relative_to(ROOT))
            for word in set(words.findall(path.read_text())):
                with self.subTest(path=name, word=word):
                    self.assertRegex(name, allowed[word])

    @staticmethod
    def sources(folder):
        return "".join(path.read_text() for path in (ROOT / "src" / folder).glob("*.cpp"))

    def test_every_word_is_found_where_the_table_says(self):
        rows = list(glossary())
        self.assertGreater(len(rows), 20)
        for word, names, files in rows:
            paths = [ROOT / "src" / name for name in files]
            for path in paths:
                self.assertTrue(path.exists(), f"{word}: there is no {path}")
            text = "".join(path.read_text() for path in paths if path.is_file())
            for name in names:
                identifier = name.split("::")[-1]
                self.assertRegex(text, rf"\b{identifier}\b", f"{word}: {name} is not in {files}")

    def test_every_word_of_the_design_is_in_the_table(self):
        words = (ROOT / "docs/design.md").read_text().partition("## 2. Words")[2].partition("\n## ")[0]
        table = (ROOT / "ARCHITECTURE.md").read_text().partition("## Where each word lives")[2].partition("\n## ")[0]
        listed = {word.strip() for line in table.splitlines() if line.startswith("|")
                  for word in line.split("|")[1].split(",")}
        for word in re.findall(r"\*\*(\w+)\*\*", words):
            with self.subTest(word=word):
                self.assertTrue({word, word.removesuffix("s")} & listed)

    def test_every_decision_is_listed(self):
        pages = {page.name for page in (ROOT / "docs/decisions").glob("0*.md")}
        listed = set(re.findall(r"\((0[^)]+\.md)\)", (ROOT / "docs/decisions/README.md").read_text()))
        self.assertEqual(pages, listed)

    def test_what_shows_a_promise_is_there(self):
        promises = (ROOT / "docs/trust.md").read_text().partition("## What looks for more")[0]
        shown_by = [line.rsplit("|", 2)[1] for line in promises.splitlines() if line.startswith("| ") and "shown by" not in line]
        self.assertGreater(len(shown_by), 50)
        tests = set(tests_of_the_tree())
        for cell in shown_by:
            names = re.findall(r"`([^`=]+)`", cell)
            self.assertTrue(names, f"nothing shows it: {cell}")
            for name in names:
                with self.subTest(name=name):
                    self.assertTrue((ROOT / name).exists() if "/" in name else name in tests, f"there is no {name}")

    def test_scripts_that_pages_name_are_there(self):
        for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md"):
            for script in set(re.findall(r"\bscript/\w+", page.read_text())):
                with self.subTest(page=page.name, script=script):
                    self.assertTrue((ROOT / script).exists())


if __name__ == "__main__":
    unittest.main()
