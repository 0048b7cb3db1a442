"""`paceline simulate` as people type it: what it prints, what it writes, and what it says of bad input."""

import csv
import json
import lzma
import os
import random
import shutil
import subprocess
import tarfile
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
BINARY = os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")

KEYS = {"policy", "seed", "jobs", "average_jct_seconds", "median_jct_seconds", "p99_jct_seconds", "average_wait_seconds",
        "makespan_seconds", "utilization", "resizes", "preemptions", "gpu_seconds_lost", "unfairness", "digest", "events",
        "wall_seconds", "rejected"}
VOID = {"meta", "br"}  # HTML elements without an end
LOADED = {"src", "href", "srcset", "data", "poster", "action"}  # attributes that name what a page loads or leads to
EXACT = ["--placement", "any", "--costs", "none", "--protect", "off"]


class Page(HTMLParser):
    """A page that was read strictly: every element ends, in order. Keeps its text, its tags and what it would load."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.loads, self.text = [], [], [], ""
        self.feed(html)
        self.close()
        if self.open:
            raise ValueError(f"never ended: {self.open}")

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.loads += [value for name, value in attributes if name in LOADED]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        if self.open.pop() != tag:
            raise ValueError(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data):
        self.text += data


class SimulateTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def trace(self, rows, name="jobs.csv"):
        text = "job_id,submission_time,duration,num_gpu\n" + "".join(
            f"job-{i},{submitted},{duration},{slots}\n" for i, (submitted, duration, slots) in enumerate(rows))
        path = self.directory / name
        path.write_bytes(lzma.compress(text.encode()) if name.endswith(".xz") else text.encode())
        return path

    def call(self, *arguments):
        return subprocess.run([BINARY, "simulate", *map(str, arguments)], capture_output=True, text=True, timeout=300)

    def study(self, *arguments):
        done = self.call(*arguments, "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def assert_refused(self, words, *arguments):
        done = self.call(*arguments)
        self.assertNotIn(done.returncode, (0, 1), done.stdout)
        self.assertEqual(done.stdout, "")
        self.assertIn(words, done.stderr)

    def test_numbers_of_a_case_done_by_hand(self):
        trace = self.trace([(0, 100, 4), (10, 50, 2), (10, 20, 1), (20, 5, 9)], "jobs.csv.xz")
        runs = self.study("--trace", trace, "--cluster", "2x2", "--policy", "fifo,srtf", *EXACT)["runs"]
        self.assertLessEqual(KEYS, runs[0].keys())
        fifo, srtf = runs
        self.assertEqual((fifo["policy"], fifo["jobs"], fifo["rejected"]), ("fifo", 3, 1))
        self.assertEqual(fifo["average_jct_seconds"], (100 + 140 + 110) / 3)
        self.assertEqual(fifo["makespan_seconds"], 150)
        self.assertEqual(fifo["utilization"], (400 + 100 + 20) / (150 * 4))
        self.assertEqual(srtf["preemptions"], 1)
        self.assertEqual(srtf["average_jct_seconds"], (150 + 50 + 20) / 3)

    def test_a_table_says_what_was_left_out_and_what_it_rests_on(self):
        trace = self.trace([(0, 100, 4), (10, 0, 2), (10, 20, 0)])
        done = self.call("--trace", trace, "--cluster", "2x2", "--policy", "fifo,fifo(backfill=greedy)")
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("1 without slots, 1 without duration", "policies know: oracle", "fifo(backfill=greedy)"):
            self.assertIn(words, done.stdout)

    def test_a_table_of_ones_own_is_a_trace(self):
        path = self.directory / "own.csv"
        path.write_text("when,gpus,elapsed(s),who\n2026-01-02 03:04:05,2,600,ann\n2026-01-02 03:14:05,1,60,ben\n")
        columns = "submitted_at=when,slots=gpus,duration=elapsed(s),user=who"
        study = self.study("--trace", path, "--cluster", "1x2", "--columns", columns, "--policy", "fifo", *EXACT)
        self.assertEqual((study["trace"]["format"], study["trace"]["users"]), ("paceline", 2))
        self.assertEqual(study["runs"][0]["makespan_seconds"], 660)
        self.assert_refused("--columns 'submitted_at=COLUMN", "--trace", path, "--cluster", "1x2")
        self.assert_refused("has no column 'gpu' in its first line",
                            "--trace", path, "--cluster", "1x2", "--columns", "slots=gpu,submitted_at=when")
        self.assert_refused("A trace has no column 'gpus'.", "--trace", path, "--cluster", "1x2", "--columns", "gpus=gpus")

    def test_a_table_tells_users_targets_and_files(self):
        trace = self.trace([(0, 100, 4), (10, 50, 2)])
        plot = self.directory / "cdf.svg"
        done = self.call("--trace", trace, "--cluster", "2x2", "--learning", "exp=3", "--reach", "0.5", "--plot", plot)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("The trace names no users: to policies all jobs are one user's.", done.stdout)
        header, row = done.stdout.splitlines()[-2:]
        self.assertEqual(row[:header.index("TARGETS MET") + len("TARGETS MET")].split()[-1], "2", done.stdout)
        self.assertIn(f"Wrote {plot}.", done.stderr)

    def test_what_became_of_each_job(self):
        trace = self.trace([(0, 100, 4), (10, 50, 2)])
        out = self.directory / "out.csv"
        self.study("--trace", trace, "--cluster", "2x2", "--policy", "fifo", "--jobs-out", out, *EXACT)
        with open(out, newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([(row["job"], row["ended"], row["wait"]) for row in rows],
                         [("job-0", "100", "0"), ("job-1", "150", "90")])

    def test_seeds_are_paired_and_digests_are_the_same_again(self):
        trace = self.trace([(i * 7000, 90000 if i % 5 == 0 else 600, 1 + i % 4) for i in range(100)])
        command = ["--trace", trace, "--cluster", "1x4", "--policy", "fifo,las", "--seeds", 3, "--threads"]
        one, two = self.study(*command, 1), self.study(*command, 2)
        self.assertEqual([run["digest"] for run in one["runs"]], [run["digest"] for run in two["runs"]])
        self.assertEqual(len({run["digest"] for run in one["runs"]}), 6)
        self.assertEqual([run["seed"] for run in one["runs"]], [0, 1, 2] * 2)
        comparison = one["comparisons"][0]
        self.assertLessEqual(comparison["low"], comparison["ratio"])
        self.assertLessEqual(comparison["ratio"], comparison["high"])

    def test_a_policy_of_ones_own(self):
        trace = self.trace([(0, 100, 4), (10, 50, 2)])
        script = ROOT / "examples/policies"
        mine = sorted(script.glob("*.lua"))[0]
        run = self.study("--trace", trace, "--cluster", "2x2", "--policy", mine)["runs"][0]
        self.assertEqual((run["policy"], run["jobs"], run["unfinished"]), (mine.stem, 2, 0))

    def test_a_script_that_fails_once_ends_the_study(self):
        """Fails only under load, in the middle of the trace; the numbers of nobody stand under its name."""
        trace = self.trace([(i * 10, 1000, 2) for i in range(20)])
        script = self.directory / "mine.lua"
        script.write_text("function decide(c)\n  if #c.waiting > 5 then error('too many') end\n  return {}\nend\n")
        command = ["--trace", trace, "--cluster", "2x2", "--policy", f"fifo,{script}", "-o", "json"]
        done = self.call(*command)
        self.assertEqual((done.returncode, done.stdout), (64, ""), done.stderr)
        for words in ("The policy mine fails in line 2: too many.", "00:00:50 after the first submission",
                      "--on-failure fallback"):
            self.assertIn(words, done.stderr)
        there = sorted(self.directory.iterdir())
        files = {"--report": "report.html", "--jobs-out": "out.csv", "--plot": "cdf.svg"}
        words = [word for option, name in files.items() for word in (option, self.directory / name)]
        self.assertEqual(self.call(*command, *words).returncode, 64)
        self.assertEqual(sorted(self.directory.iterdir()), there)
        done = self.call(*command, "--on-failure", "fallback")
        runs = json.loads(done.stdout)["runs"]
        self.assertEqual((runs[0]["failed_rounds"], runs[0]["failure"]), (0, None))
        self.assertGreaterEqual(runs[1]["failed_rounds"], 3)
        self.assertIn("in line 2", runs[1]["failure"]["why"])
        self.assertEqual(runs[1]["failure"]["after_seconds"], 50)
        self.assertGreater(runs[1]["failure"]["replaced_after_seconds"], 50)
        report = self.directory / "report.html"
        done = self.call(*command[:-2], "--on-failure", "fallback", "--report", report)
        self.assertIn("FAILED ROUNDS", done.stdout)
        self.assertIn("rounds another policy decided", Page(report.read_text(encoding="utf-8")).text)

    def test_an_endless_script_is_told_as_endless(self):
        trace = self.trace([(0, 100, 4), (10, 50, 2)])
        script = self.directory / "late.lua"
        for text in ("function decide(c)\n  while true do end\nend\n",
                     "function decide(c)\n  while #c.running > 0 do end\n"
                     "  if #c.waiting == 0 then return {} end\n"
                     "  return {{job = c.waiting[1].id, workers = 4}}\nend\n"):
            script.write_text(text)
            done = self.call("--trace", trace, "--cluster", "2x2", "--policy", script)
            self.assertEqual((done.returncode, done.stdout), (64, ""), done.stderr)
            self.assertIn("The policy late does not come to an end within 20000000 instructions. It was at line 2.",
                          done.stderr)

    def test_unequal_devices_have_speeds_or_are_said_to_count_as_equal(self):
        trace = self.trace([(0, 100, 2), (0, 100, 2)])
        command = ["--trace", trace, "--cluster", "1x2:A100;1x2:V100", "--policy", "fifo", *EXACT]
        report = self.directory / "report.html"
        done = self.call(*command, "--report", report)
        self.assertIn("A100 and V100 count as equally fast; --device-speeds says otherwise", done.stdout)
        self.assertIn("count as equally fast", Page(report.read_text(encoding="utf-8")).text)
        done = self.call(*command, "--device-speeds", "A100=1,V100=0.5")
        self.assertIn("Devices: A100=1,V100=0.5.", done.stdout)
        self.study(*command, "--device-speeds", "A100=1,V100=0.5", "--report", report)
        self.assertNotIn("count as equally fast", Page(report.read_text(encoding="utf-8")).text)
        study = self.study(*command, "--device-speeds", "A100=1,V100=0.5")
        self.assertEqual(study["runs"][0]["average_jct_seconds"], (100 + 200) / 2)
        self.assertEqual(study["settings"]["devices"], ["A100", "V100"])
        for wrong, words in (("A100=1", "how fast the device 'V100' is"), ("nowhere.json", "nowhere.json")):
            done = self.call(*command, "--device-speeds", wrong)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)

    def named_trace(self, rows):
        """Jobs of applications, all at once: name, application, seconds, slots."""
        path = self.directory / "named.csv"
        path.write_text("job_id,num_gpu,submit_time,duration,model_name\n"
                        + "".join(f"{name},{slots},0,{seconds},{application}\n" for name, application, seconds, slots in rows))
        return path

    def seconds_of(self, *arguments):
        """How long each job ran, to the millisecond, by its name and in order of their ends."""
        out = self.directory / "out.csv"
        out.unlink(missing_ok=True)
        self.study(*arguments, "--jobs-out", out)
        with open(out, newline="") as file:
            return [(row["job"], round(float(row["ended"]) - float(row["started"]), 3))
                    for row in sorted(csv.DictReader(file), key=lambda row: float(row["ended"]))]

    def test_devices_are_as_fast_as_gavel_measured_them(self):
        file = self.directory / "throughputs.json"
        file.write_text(json.dumps({
            "v100": {"('LM (batch size 5)', 2)": {"null": 10, "('A3C', 2)": [1, 2]}, "('A3C', 2)": {"null": 4}},
            "a100": {"('LM (batch size 5)', 2)": {"null": 40}}}))
        cluster = ["--cluster", "1x2:A100;1x2:V100", "--policy", "fifo", *EXACT, "--device-speeds", file]
        both = ["--trace", self.named_trace([("first", "LM (batch size 5)", 100, 2), ("second", "LM (batch size 5)", 100, 2)]), *cluster]
        # The trace's seconds are of the reference.
        self.assertEqual([seconds for _, seconds in self.seconds_of(*both, "--reference-device", "V100")], [25, 100])
        self.assertEqual([seconds for _, seconds in self.seconds_of(*both)], [100, 400], "the fastest, unless one is named")
        wide = ["--trace", self.named_trace([("wide", "LM (batch size 5)", 100, 4)]), *cluster, "--reference-device", "v100"]
        self.assertEqual(self.seconds_of(*wide), [("wide", 100)], "as fast as its slowest device")
        other = ["--trace", self.named_trace([("a", "A3C", 100, 2), ("b", "A3C", 100, 2), ("c", "unheard-of", 100, 2)]), *cluster]
        self.assertEqual([seconds for _, seconds in self.seconds_of(*other)], [100] * 3, "measured on one of both, or not at all")
        self.assert_refused("T4", *both, "--reference-device", "T4")
        file.write_text('{"v100": {"LM": {"null": 10}}}')
        self.assert_refused("'LM'", *both)

    def sia_profiles(self):
        """Of `toy`: a step takes four times as long on rtx as on dgx at the batches that both have, 2.5 times on two nodes."""
        folder = self.directory / "sia/toy"
        folder.mkdir(parents=True)
        for device, steps, wide in (("dgx", {8: 1, 16: 2, 32: 4}, 1), ("rtx", {8: 4, 16: 8}, 2.5)):
            (folder / f"placements-{device}.csv").write_text(
                "placement,local_bsz,step_time,sync_time\n" + "".join(f"2,{batch},{step},0\n" for batch, step in steps.items()))
            (folder / f"scalability-{device}.csv").write_text(
                f"num_nodes,num_replicas,local_bsz,step_time,sync_time\n2,4,8,{wide},0\n")
        return folder.parent

    def test_devices_are_as_fast_as_sia_profiled_them(self):
        profiles = self.sia_profiles()
        packed = self.directory / "sia.tar.gz"
        with tarfile.open(packed, "w:gz") as tar:
            tar.add(profiles, "sia")
        cluster = ["--cluster", "2x2:dgx;2x2:rtx", "--policy", "fifo", *EXACT]
        pairs = ["--trace", self.named_trace([(f"job-{i}", "toy", 100, 2) for i in range(4)]), *cluster]
        for measured in (profiles, packed):
            speeds = ["--device-speeds", measured]
            self.assertEqual([seconds for _, seconds in self.seconds_of(*pairs, *speeds)], [100, 100, 400, 400])
            self.assertEqual([seconds for _, seconds in self.seconds_of(*pairs, *speeds, "--reference-device", "rtx")],
                             [25, 25, 100, 100])
        self.assertEqual(self.study(*pairs, "--device-speeds", profiles)["settings"]["devices"], ["dgx", "rtx"])
        fours = ["--trace", self.named_trace([("a", "toy", 100, 4), ("b", "toy", 100, 4)]), *cluster]
        self.assertEqual([seconds for _, seconds in self.seconds_of(*fours, "--device-speeds", profiles)], [100, 250])
        for file in (profiles / "toy").iterdir():
            file.rename(file.with_name(file.name.split("-")[0] + ".csv"))
        self.assert_refused("holds no profiles of devices", *pairs, "--device-speeds", profiles)

    def test_a_report_is_one_page_that_loads_nothing(self):
        trace = self.trace([(i * 700, 9000 if i % 5 == 0 else 600, 1 + i % 4) for i in range(100)], "<b>&.csv")
        report = self.directory / "report.html"
        command = ["--trace", trace, "--cluster", "2x2", "--policy", "fifo,srtf", "--seeds", 2]
        with_report = self.study(*command, "--report", report)
        html = report.read_text(encoding="utf-8")
        page = Page(html)
        self.assertEqual(page.loads, [])
        self.assertFalse({"script", "link", "img", "iframe", "object", "b"} & set(page.tags))
        self.assertNotIn("@import", html)
        self.assertNotIn("url(", html)
        self.assertNotIn("https://", html)
        self.assertNotIn("http://", html.replace('xmlns="http://www.w3.org/2000/svg"', ""))
        for words in ("srtf", "95 %", "--policy", "<b>&.csv", "job completion time", with_report["runs"][0]["digest"]):
            self.assertIn(words, page.text)
        drawings = [ElementTree.fromstring(part.split("</svg>")[0] + "</svg>") for part in
                    ("<svg " + piece for piece in html.split("<svg ")[1:])]
        self.assertEqual(len(drawings), 4)
        self.assertEqual([run["digest"] for run in with_report["runs"]],
                         [run["digest"] for run in self.study(*command)["runs"]])
        first = report.read_bytes()
        self.study(*command, "--report", report)
        self.assertEqual(report.read_bytes(), first)
        self.assertEqual(sorted(path.name for path in self.directory.iterdir()), ["<b>&.csv", "report.html"])

    def test_a_plot_is_of_the_kind_its_name_says(self):
        trace = self.trace([(0, 100, 4), (10, 50, 2), (10, 20, 1)])
        png, svg = self.directory / "cdf.png", self.directory / "cdf.svg"
        options = ["--trace", trace, "--cluster", "2x2", "--policy", "fifo,srtf", "--plot"]
        self.study(*options, svg)
        if shutil.which("rsvg-convert"):
            self.study(*options, png)
            self.assertEqual(png.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        with mock.patch.dict(os.environ, {"PATH": str(self.directory)}):
            self.assert_refused("librsvg2-bin", *options, png)
        drawing = ElementTree.parse(svg).getroot()
        self.assertEqual(drawing.tag, "{http://www.w3.org/2000/svg}svg")
        texts = [text.text for text in drawing.iter("{http://www.w3.org/2000/svg}text")]
        for words in ("fifo", "srtf", "Job completion time", "Wait"):
            self.assertIn(words, texts)

    def test_what_was_there_stays_where_a_study_can_not_be_written(self):
        trace = self.trace([(0, 100, 4)])
        report = self.directory / "report.html"
        report.write_text("earlier")
        ok = ["--trace", trace, "--cluster", "2x2"]
        self.assert_refused("ends in .png or .svg", *ok, "--report", report, "--plot", "cdf.pdf")
        self.assert_refused("can't be written", *ok, "--report", self.directory / "no/such/report.html")
        self.assert_refused("can't be written", *ok, "--report", report, "--plot", self.directory / "no/such/cdf.png")
        self.assert_refused("can't be written", *ok, "--report", self.directory)
        self.assert_refused("two files", *ok, "--report", report, "--jobs-out", report)
        self.assert_refused("two files", *ok, "--report", trace)
        self.assert_refused("'nofo'", *ok, "--policy", "nofo", "--report", report)
        self.assertEqual(report.read_text(), "earlier")
        self.assertEqual(len(list(self.directory.iterdir())), 2)

    def test_jobs_that_learn_end_at_their_targets(self):
        trace = self.trace([(0, 100, 4), (10, 50, 4)])
        learning = ["--learning", "power=0.5", "--reach", "0.5"]
        study = self.study("--trace", trace, "--cluster", "2x2", "--policy", "fifo", *EXACT, *learning)
        (run,) = study["runs"]
        targets = run["targets"]
        self.assertEqual((targets["reached"], targets["average_seconds"], targets["median_seconds"]), (2, 57.5, 57.5))
        self.assertEqual(run["makespan_seconds"], 75)
        self.assertEqual((study["settings"]["learning"], study["settings"]["reach"]), ("power=0.5", "0.5"))
        self.assertIsNone(self.study("--trace", trace, "--cluster", "2x2", *EXACT)["runs"][0]["targets"])

    def profiles(self):
        """Of `toy`: a step takes a tenth of a second for each sample of a replica, and one more on two nodes."""
        folder = self.directory / "profiles/toy"
        folder.mkdir(parents=True)
        rows = [f"{gang},{batch},{batch / 10 + (len(gang) > 1)},0" for gang in ("1", "2", "11", "22") for batch in (5, 40)]
        (folder / "placements.csv").write_text("\n".join(["placement,local_bsz,step_time,sync_time", *rows, ""]))
        for batch in (10, 40):
            (folder / f"validation-{batch}.csv").write_text("progress,iteration,metric,grad_sqr,grad_var\n100,100,0.9,1,1\n")
        return folder.parent

    def jobs_of(self, *rows):
        path = self.directory / "pollux.csv"
        path.write_text("name,time,application,num_replicas,batch_size\n" + "".join(f"{row}\n" for row in rows))
        return path

    def test_profiled_jobs_train_as_fast_as_was_measured(self):
        trace = self.jobs_of("a,0,toy,2,40")
        command = ["--trace", trace, "--profiles", self.profiles(), "--cluster", "2x2", "--policy", "fifo", *EXACT]
        study = self.study(*command)
        # 100 steps of 10 samples are 62.5 of 40, with φ = 10; on two slots of a node each takes 2 s, on one slot 4 s.
        self.assertAlmostEqual(study["runs"][0]["average_jct_seconds"], 125)
        self.assertAlmostEqual(study["runs"][0]["useful_utilization"], 0.5)
        self.assertEqual(study["settings"]["profiles"], {"batch": "fixed", "unknown": 0})
        self.assertEqual(study["settings"]["speedup"], "as profiled, batch fixed")
        four = [*command, "--policy", "elastic-fifo", "--elastic", "min=2,max=4"]
        # On all four slots a step takes 1 s and one more; a batch of 40 is the largest that was validated.
        for batch in ("fixed", "scaled"):
            self.assertAlmostEqual(self.study(*four, "--batch", batch)["runs"][0]["average_jct_seconds"], 125)
        self.assertLess(self.study(*four, "--speedup", "linear")["runs"][0]["average_jct_seconds"], 65)
        self.assertIn("speed-up as profiled, batch scaled", self.call(*four, "--batch", "scaled").stdout)

    def test_a_profiled_workload_is_handed_on_with_its_batches(self):
        trace = self.jobs_of(*(f"j{i},{i * 40},toy,{1 + i % 3},{10 + 5 * (i % 5)}" for i in range(30)))
        handed_on = self.directory / "handed-on.csv"
        options = ["--profiles", self.profiles(), "--cluster", "2x2", "--policy", "las,afs", "--elastic", "min=1,max=2x"]
        first = self.study("--trace", trace, *options, "--record", handed_on)
        again = self.study("--trace", handed_on, *options, "--threads", 1)
        self.assertEqual([run["digest"] for run in first["runs"]], [run["digest"] for run in again["runs"]])
        self.assertEqual(again["settings"]["profiles"], {"batch": "fixed", "unknown": 0})

    def test_jobs_that_were_not_profiled_are_counted(self):
        trace = self.trace([(0, 100, 2), (10, 50, 2)])
        options = ["--trace", trace, "--profiles", self.profiles(), "--cluster", "2x2"]
        self.assertEqual(self.study(*options)["settings"]["profiles"], {"batch": "fixed", "unknown": 2})
        self.assertIn("2 jobs without a profile or a batch: amdahl=0.05",
                      self.call(*options, "--elastic", "max=2x").stdout)

    def test_bad_profiles(self):
        trace, profiles = self.jobs_of("a,0,toy,2,40", "b,0,other,2,40"), self.profiles()
        ok = ["--trace", trace, "--cluster", "2x2"]
        self.assert_refused("'b' is unknown: it trains 'other', of which there is no profile", *ok, "--profiles", profiles)
        self.assert_refused("pollux.csv', line 3", *ok, "--profiles", profiles)
        self.assert_refused("not for how long", *ok)
        self.assert_refused("no-such", *ok, "--profiles", self.directory / "no-such")
        self.assert_refused("nothing was measured", *ok, "--speedup", "profile")
        self.assert_refused("--batch is for jobs whose speeds are profiled", *ok, "--batch", "scaled")
        self.assert_refused("no rule for batches", *ok, "--profiles", profiles, "--batch", "large")
        with open(profiles / "toy/placements.csv", "a") as table:
            table.write("1,80,eight,0\n")
        self.assert_refused("toy/placements.csv', line 10, column 'step_time'", *ok, "--profiles", profiles)

    def test_bad_input(self):
        trace = self.trace([(0, 100, 4)])
        ok = ["--trace", trace, "--cluster", "2x2"]
        self.assert_refused("--trace names no file", "--cluster", "2x2")
        self.assert_refused("--cluster", "--trace", trace)
        self.assert_refused("no-such-file", "--trace", self.directory / "no-such-file", "--cluster", "2x2")
        self.assert_refused("'2y2' is no nodes", "--trace", trace, "--cluster", "2y2")
        self.assert_refused("'nofo'", *ok, "--policy", "nofo")
        self.assert_refused("parameters", *ok, "--policy", "fifo(backfill")
        self.assert_refused("--load", *ok, "--load", "0")
        self.assert_refused("--seeds", *ok, "--seeds", "-1")
        self.assert_refused("--costs", *ok, "--costs", "free")
        self.assert_refused("--protect", *ok, "--protect", "maybe")
        self.assert_refused("nothing a policy could know", *ok, "--know", "all")
        self.assert_refused("no range of sizes", *ok, "--elastic", "min=0")
        self.assert_refused("--speedup", *ok, "--speedup", "linear")
        self.assert_refused("no learning curve", *ok, "--learning", "exp=0")
        self.assert_refused("--reach", *ok, "--reach", "0.5")
        self.assert_refused("no part of a training", *ok, "--learning", "exp=3", "--reach", "1.5")
        self.assert_refused("can't be written", *ok, "--jobs-out", self.directory / "no/such/out.csv")
        for row, words in (((0, "nan", 4), ":2"), ((0, -5, 4), ":2"), (("", 5, 4), ":2"), ((0, 5, "1e99"), ":2")):
            with self.subTest(row=row):
                self.assert_refused(str(self.trace([row])), "--trace", self.trace([row]), "--cluster", "2x2")
        damaged = self.trace([(0, 100, 4)] * 50, "cut.csv.xz")
        damaged.write_bytes(damaged.read_bytes()[:-20])
        self.assert_refused("cut.csv.xz", "--trace", damaged, "--cluster", "2x2")
        (self.directory / "empty.csv").touch()
        self.assert_refused("empty.csv", "--trace", self.directory / "empty.csv", "--cluster", "2x2")

    def test_faults_are_the_same_again_and_none_is_found(self):
        one = self.study("--faults", "1..6", "--threads", 2)
        two = self.study("--faults", "1..6", "--threads", 1)
        self.assertEqual(one["digest"], two["digest"])
        self.assertEqual((one["seeds"], one["failures"], one["failed"]), (6, 0, []))
        self.assertGreaterEqual(one["jobs"], 6 * 30)
        self.assertGreater(one["happened"]["server crash"], 0)

    def test_faults_in_words(self):
        done = self.call("--faults", "3")
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("WHAT HAPPENED", "server crash", "1 seed", "0 failed"):
            self.assertIn(words, done.stdout)
        story = self.call("--faults", "3", "--story").stdout
        self.assertIn("worker started: worker 0 of generation 1 of job", story)
        self.assertIn("server crash", story)

    def test_no_policy_changes_its_mind_for_ever(self):
        # With slots kept for a job, and others that run there until it needs them.
        chance, at, rows = random.Random(5), 0, []
        for _ in range(150):
            at += chance.randrange(1, 1500)
            rows.append((at, 60 * 2 ** chance.randrange(0, 11) + chance.randrange(60), 2 ** chance.randrange(0, 5)))
        study = self.study("--trace", self.trace(rows), "--cluster", "4x8", "--policy", "elastic-las,ffdl,afs,elastic-srtf",
                           "--seeds", 3, *EXACT)
        self.assertEqual({run["jobs"] for run in study["runs"] if run["seed"] == 0}, {150})

    def test_bad_faults(self):
        trace = self.trace([(0, 100, 4)])
        self.assert_refused("--trace belongs to a trace", "--faults", "1", "--trace", trace)
        self.assert_refused("--seeds belongs to a trace", "--faults", "1", "--seeds", "3")
        self.assert_refused("'9..2' is no range of seeds", "--faults", "9..2")
        self.assert_refused("'many' is no range of seeds", "--faults", "many")
        self.assert_refused("--threads", "--faults", "1", "--threads", "0")
        self.assert_refused("--story tells of one seed", "--faults", "1..2", "--story")
        self.assert_refused("--story tells of a seed", "--story", "--trace", trace, "--cluster", "2x2")


if __name__ == "__main__":
    unittest.main()
