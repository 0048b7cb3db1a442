"""script/check_layers finds what it is there to find, in small trees with one planted mistake."""
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
loader = importlib.machinery.SourceFileLoader("check_layers", str(HERE / "check_layers"))
spec = importlib.util.spec_from_loader("check_layers", loader)
check_layers = importlib.util.module_from_spec(spec)
loader.exec_module(check_layers)

TABLE = """
# the house
core = base model
base:
model:        base
clock:        base
store:        model
store/memory: store
scheduler:    model clock store | store/memory
app:          *
"""


class Layers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("layers.txt", TABLE)

    def write(self, name, text):
        path = self.root / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def faults(self, name=None, text=""):
        if name:
            self.write(name, text)
        return check_layers.Checker(self.root).run()

    def assert_fault(self, wanted, name, text):
        faults = self.faults(name, text)
        self.assertEqual(len(faults), 1, faults)
        self.assertIn(wanted, faults[0])
        self.assertIn(f"{name}:", faults[0])

    def assert_clean(self, name, text):
        self.assertEqual(self.faults(name, text), [])

    def test_what_the_table_allows_is_clean(self):
        self.write("model/job.hpp", '#include "base/id.hpp"\n#include <vector>\n')
        self.write("scheduler/round.cpp", '#include "store/store.hpp"\n#include "base/id.hpp"\n')
        self.write("app/main.cpp", '#include "store/memory/memory.hpp"\n#include <thread>\n')
        self.assertEqual(self.faults(), [])

    def test_tests_alone_use_what_supports_tests(self):
        self.assert_clean("model/job_test.cpp", '#include "support/world.hpp"\n')
        self.assert_fault("in no folder", "model/job.cpp", '#include "support/world.hpp"\n')

    def test_a_back_edge_is_found(self):
        self.assert_fault("base may not include model", "base/id.hpp", '#include "model/job.hpp"\n')

    def test_a_sideways_edge_is_found(self):
        self.assert_fault("clock may not include store", "clock/c.cpp",
                          '\n  #  include "store/store.hpp"\n')

    def test_a_part_of_a_room_is_only_for_app_tests_and_itself(self):
        include = '#include "store/memory/memory.hpp"\n'
        self.assert_fault("a part of store", "scheduler/round.cpp", include)
        (self.root / "src/scheduler/round.cpp").unlink()
        self.assert_clean("scheduler/round_test.cpp", include)
        self.assert_clean("store/memory/memory.cpp", include)

    def test_a_test_may_include_no_more_than_it_links(self):
        self.assert_fault("a part of store", "clock/clock_test.cpp",
                          '#include "store/memory/memory.hpp"\n')

    def test_parts_of_one_room_stand_on_each_other_as_the_table_says(self):
        self.write("layers.txt", TABLE + "sim/truth: store\nsim: sim/truth\nfaults: sim\n")
        self.write("sim/truth/pace.cpp", '#include "store/store.hpp"\n')
        self.assert_clean("sim/study.cpp", '#include "sim/truth/pace.hpp"\n')
        self.assert_fault("a part of sim", "faults/world.cpp", '#include "sim/truth/pace.hpp"\n')
        (self.root / "src/faults/world.cpp").unlink()
        self.assert_fault("sim/truth may not include sim", "sim/truth/fit.cpp",
                          '#include "sim/study.hpp"\n')

    def test_an_include_beside_the_file_is_found(self):
        self.assert_fault("relative to src/", "model/job.cpp", '#include "job.hpp"\n')

    def test_a_folder_without_a_line_in_the_table_is_found(self):
        self.assert_fault("not in src/layers.txt", "extra/thing.cpp", "")

    def test_the_core_includes_no_thread_file_or_clock(self):
        for header in ("thread", "mutex", "fstream", "filesystem", "iostream", "random", "ctime",
                       "unistd.h", "sys/socket.h", "boost/asio.hpp", "nlohmann/json.hpp"):
            self.assert_fault(f"<{header}>", "model/job.cpp", f"#include <{header}>\n")

    def test_gtest_is_for_the_tests_of_the_core_alone(self):
        self.assert_clean("model/job_test.cpp", "#include <gtest/gtest.h>\n")
        self.assert_fault("<gtest/gtest.h>", "model/job.cpp", "#include <gtest/gtest.h>\n")

    def test_the_core_reaches_for_nothing(self):
        for code in ("auto t = std::chrono::system_clock::now();", "auto t = Clock::now();",
                     'auto v = std::getenv("HOME");', "int r = std::rand();",
                     "std::random_device device;", 'auto f = fopen("x", "r");',
                     "int s = socket(1, 2, 3);", "thread_local int x;", "std::mutex m;"):
            self.assert_fault("reaches out of the core", "model/job.cpp", code + "\n")

    def test_comments_strings_and_the_snapshots_now_are_no_reach(self):
        self.assert_clean("model/job.cpp", "// never calls getenv(\n/* std::rand()\n */\n"
                          'auto text = "fopen(";\nauto now = snapshot.now();\nint n = 1\'000;\n')

    def test_outside_the_core_the_world_may_be_reached(self):
        self.assert_clean("clock/system.cpp", "auto t = std::chrono::system_clock::now();\n")

    def test_the_core_does_not_know_where_it_runs(self):
        for word in ("simulated", "SimClock", "sim", "MockStore", "slurm", "Kubernetes", "SQLite",
                     "http_status"):
            self.assert_fault("does not mention", "base/id.hpp", f"// for the {word}\n")

    def test_words_that_only_look_foreign_are_clean(self):
        self.assert_clean("base/id.hpp", "// a similar, simple, simultaneous thing; asim\n")
        self.assert_clean("base/id_test.cpp", "#include <gmock/gmock.h>\n")

    def test_a_signal_that_nobody_asked_about_is_found(self):
        self.write("layers.txt", TABLE + "agent: model\nagent/linux: agent\n")
        self.assert_fault("send_signal()", "agent/linux/worker.cpp", "void f() { ::kill(1, 9); }\n")
        self.write("agent/linux/worker.cpp", "void W::kill() { send_signal(pids, 9); } // ::kill(1)\n")
        self.assertEqual(self.faults("agent/linux/signals.cpp", "void f() { ::kill(1, 9); }\n"), [])

    def test_a_table_that_points_upwards_is_found(self):
        self.write("layers.txt", "core = base\nbase: model\nmodel:\n")
        self.assertIn("which is not above it", self.faults()[0])

    def test_a_table_that_stands_on_a_part_of_another_room_is_found(self):
        self.write("layers.txt", "core = base\nbase:\nstore/memory: base\nsim: store/memory\n")
        self.assertIn("a part of another room", self.faults()[0])

    def test_the_archive_is_searched_for_symbols_of_the_outside(self):
        source, obj = self.root / "a.cpp", self.root / "a.o"
        source.write_text("#include <cstdlib>\nconst char* f() { return std::getenv(\"A\"); }\n")
        subprocess.run(["g++", "-c", source, "-o", obj], check=True)
        self.assertIn("getenv", check_layers.archive_faults(obj)[0])
        source.write_text("int f() { return 1; }\n")
        subprocess.run(["g++", "-c", source, "-o", obj], check=True)
        self.assertEqual(check_layers.archive_faults(obj), [])

    def test_what_waits_for_a_time_may_go(self):
        wait = "void f() { timer_.async_wait(\n    [this](const error_code&) { look(); }); }\n"
        self.assert_fault("clock/x.cpp:1: what waits may have gone", "clock/x.cpp", wait)
        self.assertEqual(self.faults("clock/x.cpp", wait.replace("timer_", "signals")), [])
        self.assertEqual(self.faults("clock/x.cpp", wait.replace("[this]", "[self]")), [])

    def test_this_house_has_a_sound_table(self):
        self.assertEqual(check_layers.Table(HERE.parent / "src/layers.txt").faults, [])


if __name__ == "__main__":
    unittest.main()
