"""Every fault of tests/mutants/mutants.txt still has its line in the source, and the list is long enough to mean something."""

import collections
import importlib.machinery
import importlib.util
import pathlib
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
loader = importlib.machinery.SourceFileLoader("mutants", str(HERE / "mutants"))
mutants = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutants", loader))
loader.exec_module(mutants)


class ListTest(unittest.TestCase):
    def setUp(self):
        self.list = mutants.read_list(mutants.LIST.read_text(encoding="utf-8"))

    def test_each_fault_has_its_line_once_and_tests_that_may_find_it(self):
        self.assertEqual([fault for fault in map(mutants.complaint, self.list) if fault], [])

    def test_there_are_enough_in_every_folder(self):
        self.assertGreaterEqual(len(self.list), 60)
        folders = collections.Counter(mutant.folder for mutant in self.list)
        for folder in ("plan", "scheduler", "engine/agents", "agent", "agent/linux", "store/memory"):
            self.assertGreaterEqual(folders[folder], 3, folder)
        self.assertEqual(len({mutant.sentence for mutant in self.list}), len(self.list))

    def test_each_changes_something(self):
        for mutant in self.list:
            self.assertNotEqual(mutant.old, mutant.new, mutant.sentence)


class MutantTest(unittest.TestCase):
    def test_a_line_is_replaced_and_one_that_is_not_there_is_told(self):
        (mutant,) = mutants.read_list("it never stops\nsrc/a.cpp\n- if (done) return;\n+ ;\nlives: nobody looks\n")
        self.assertEqual((mutant.sentence, mutant.lives), ("it never stops", "nobody looks"))
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            (root / "src").mkdir()
            (root / "src/a.cpp").write_text("void f() {\n  if (done) return;\n}\n")
            self.assertEqual(mutant.mutated(root), "void f() {\n;\n}\n")
            (root / "src/a.cpp").write_text("void f() {\n}\n")
            with self.assertRaisesRegex(ValueError, "has its line 0 times"):
                mutant.mutated(root)

    def test_a_fault_in_a_header_is_told(self):
        header = mutants.Mutant("a header errs", "src/model/state.hpp", ["a"], ["b"])
        self.assertEqual(mutants.complaint(header), "'a header errs': src/model/state.hpp is not compiled by itself")


if __name__ == "__main__":
    unittest.main()
