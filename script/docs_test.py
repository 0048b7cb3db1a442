"""The documents point at things that are there: links, files, and the type that each word names."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]


def glossary():
    """(word, names, files) of each row of ARCHITECTURE.md's table of words."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    table = text.partition("## Where each word lives")[2].partition("\n## ")[0]
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and "`" in cells[2]:
            yield cells[0], re.findall(r"`([^`]+)`", cells[1]), re.findall(r"`([^`]+)`", cells[2])


class Documents(unittest.TestCase):
    def test_links_between_pages_lead_somewhere(self):
        for page in PAGES:
            for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text()):
                if "://" not in target:
                    with self.subTest(page=page.name, target=target):
                        self.assertTrue((page.parent / target).exists())

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

    def test_scripts_that_pages_name_are_there(self):
        for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md"):
            for script in set(re.findall(r"\bscript/\w+", page.read_text())):
                with self.subTest(page=page.name, script=script):
                    self.assertTrue((ROOT / script).exists())


if __name__ == "__main__":
    unittest.main()
