"""Checks the elastic runtime on a real GPU: `python3 tests/gpu/check.py [--json FILE] [--only WORDS]`

Needs an NVIDIA GPU, a PyTorch with CUDA, and libpaceline, as a build leaves it in build/release/runtime/python (or in the
folder of $PACELINE_BINARY). One GPU is enough: several ranks share it. Each check prints `ok|FAILED name: numbers`; the last
line counts them. Exits with 77 where there is no GPU.
"""

import argparse
import concurrent.futures
import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "runtime/python/tests"))

import support  # noqa: E402
from fake_agent import Agent  # noqa: E402

TRAINING, COMMUNICATORS = HERE / "training.py", HERE / "communicators.py"
CHECKS = []


def check(alone=False):
    """`alone`: it measures time, so nothing else runs meanwhile."""
    def noted(function):
        CHECKS.append((function.__name__.replace("_", " "), function, alone))
        return function

    return noted


class Wrong(Exception):
    """What was found instead."""


def holds(condition, found):
    if not condition:
        raise Wrong(found)


# ---- trainings ----

def run(script, size, within_s=100, fails=False, **asked):
    """What each rank of a gang said."""
    environment = asked.pop("environment", {})
    gang = support.Gang(script, size, json.dumps(asked), **environment)
    try:
        ended = gang.ends(within_s)
    finally:
        gang.kill()
    holds(fails or all(code == 0 for code, _ in ended), f"ended with {[code for code, _ in ended]}: {ended[0][1][-1500:]}")
    return ended


def result(output):
    return json.loads(re.findall(r"^result (.*)$", output, re.M)[-1])


def train(size, **asked):
    return [result(output) for _, output in run(TRAINING, size, **asked)]


def losses(ended):
    """{(rank, step): loss} to the bit; a step that came again counts once."""
    return {(int(rank), int(step)): loss for _, output in ended
            for rank, step, loss in re.findall(r"^loss (\d+) (\d+) (\S+)$", output, re.M)}


def difference(one, other):
    """Of two files of tensors, relative."""
    import torch

    one, other = torch.load(one, weights_only=False), torch.load(other, weights_only=False)
    whole = sum(float((a.double() - b.double()).square().sum()) for a, b in zip(one, other))
    return (whole / sum(float(b.double().square().sum()) for b in other)) ** 0.5


def way(ended):
    found = re.findall(r"^paceline: gradients travel (.*)$", "".join(output for _, output in ended), re.M)
    return found[-1] if found else "nothing was said of the way"


def same_gradients(size, **asked):
    """Gradients of the first batch, and weights after all steps, against those of one process."""
    with tempfile.TemporaryDirectory() as folder:
        def files(name):
            return {"gradients": f"{folder}/g-{name}", "weights": f"{folder}/w-{name}"}

        alone = {key: each for key, each in asked.items() if key not in ("own_host", "environment", "buckets_of")}
        train(1, **files("one"), **alone)
        ended = run(TRAINING, size, **files("all"), **asked)
        sums = {result(output)["sum"] for _, output in ended}
        gradients = difference(f"{folder}/g-all", f"{folder}/g-one")
        weights = difference(f"{folder}/w-all", f"{folder}/w-one")
    holds(gradients <= 1e-6, f"gradients differ by {gradients:.1e}, {way(ended)}")
    holds(weights <= 1e-4, f"weights differ by {weights:.1e}")
    holds(len(sums) == 1, f"ranks end with different weights: {sums}")
    return ended, {"gradients": gradients, "weights": weights}


# ---- NCCL by itself ----

def communicators(size, **asked):
    ended = run(COMMUNICATORS, size, **asked)
    found = [result(output) for _, output in ended]
    for each in found:
        wrong = [name for name, right in each["right"].items() if not right]
        holds(not wrong, f"wrong sums: {wrong}")
    return found


def told(each):
    forms, aborts = ("/".join(f"{ms:.0f}" for ms in each[name]) for name in ("form_ms", "abort_ms"))
    sums = " ".join(f"{int(count) * 4 / 1e6:.3g}MB:{ms:.3f}" for count, ms in each["sum_ms"].items())
    return f"NCCL {each['version']} (torch: {each['torch']}), formed in {forms} ms, aborted in {aborts} ms, sums in ms {sums}"


@check()
def nccl_alone():
    each, = communicators(1)
    holds(each["torch"] is None or each["version"] == each["torch"][0] * 10000 + each["torch"][1] * 100 + each["torch"][2],
          f"torch has {each['torch']}, paceline has {each['version']}")
    return told(each), each


@check()
def nccl_of_two_ranks():
    found = communicators(2, own_host=True, hang=True)
    holds(found[0]["hangs"], "a sum that the other rank doesn't join ended by itself")
    holds(all(each["goes_on"] for each in found), "the GPU is of no use after an abort")
    return told(found[0]), found[0]


# ---- through host memory ----

@check()
def gradients_through_host_memory():
    ended, found = same_gradients(2, width=256, buckets_of=100000)
    holds("through host memory: ranks 0 and 1 share a GPU" in way(ended), way(ended))
    return f"gradients within {found['gradients']:.1e}, weights within {found['weights']:.1e}", found


@check()
def pieces_and_clipping():
    _, found = same_gradients(2, max_local=8, steps=5)
    _, clipped = same_gradients(3, clip=0.05)
    return f"in pieces within {found['gradients']:.1e}, clipped within {clipped['gradients']:.1e}", clipped


@check()
def nccl_switched_off():
    ended = run(TRAINING, 2, steps=2, environment={"PACELINE_NCCL": "off"})
    holds("through host memory: PACELINE_NCCL=off (rank 0)" in way(ended), way(ended))
    return way(ended), {}


@check()
def evaluation():
    one, two = (train(size, evaluate=True, steps=25)[0]["accuracies"] for size in (1, 2))
    holds(one and max(abs(a - b) for a, b in zip(one, two)) < 0.02, f"{one} alone, {two} on two ranks")
    return f"accuracies {two}", {}


@check()
def a_stop_and_a_start_with_dropout():
    asked = {"dropout": 0.3, "norm": True, "adam": True, "steps": 16}
    with tempfile.TemporaryDirectory() as folder:
        whole = losses(run(TRAINING, 2, **asked))
        first = run(TRAINING, 2, fails=True, folder=folder, notice_at=7, **asked)
        holds([code for code, _ in first] == [75, 75], f"ended with {[code for code, _ in first]}: {first[0][1][-1500:]}")
        second = run(TRAINING, 2, folder=folder, **asked)
    parts = {**losses(first), **losses(second)}
    different = sorted(key for key in whole if parts.get(key) != whole[key])
    holds(not different, f"losses of (rank, step) {different[:5]} differ")
    return f"{len(whole)} losses are the same bits", {}


def mixed(amp, **asked):
    one = train(1, amp=amp, steps=30, **asked)[0]
    ended = run(TRAINING, 2, amp=amp, steps=30, **asked)
    two = [result(output) for _, output in ended]
    values = [float.fromhex(value) for (rank, _), value in sorted(losses(ended).items()) if rank == 0]
    holds(two[0]["sum"] == two[1]["sum"], "ranks end with different weights")
    holds(values[-1] < values[0], f"the loss goes from {values[0]} to {values[-1]}")
    holds(two[0]["scale"] == one["scale"], f"scales {one['scale']} and {two[0]['scale']}")
    return f"loss {values[0]:.3f} to {values[-1]:.3f}, scale {two[0]['scale']}"


@check()
def mixed_precision():
    return "; ".join([f"float16 {mixed('float16')}", f"in pieces and clipped {mixed('float16', max_local=8, clip=1.0)}",
                      f"bfloat16 {mixed('bfloat16')}"]), {}


@check()
def exact_on_one_type_of_gpu():
    asked = {"micro": 16, "exact": True, "dropout": 0.2, "norm": True, "steps": 8}
    sums = {each["sum"] for size in (1, 2, 3) for each in train(size, **asked)}
    return ("the same bits on 1, 2 and 3 ranks" if len(sums) == 1 else f"not the same bits: {sorted(sums)}"), {}


# ---- a rank dies ----

def survive(size, in_place=False, **asked):
    """Kills a rank of a slow training; how long the others took to their next step, and what they ended with."""
    with tempfile.TemporaryDirectory() as folder:
        hurry = Path(folder) / "hurry"
        agent = Agent(TRAINING, json.dumps({"steps": 40, "slow": 0.02, "slow_until": str(hurry), **asked}),
                      **({"PACELINE_NCCL_IN_PLACE": "1"} if in_place else {}))
        try:
            agent.start(size)
            until(agent, 5)
            killed = time.time()
            agent.kill(size - 1)
            until(agent, 3)
            hurry.touch()
            codes = [each.wait() for each in agent.ranks]
            outputs = [(0, each.output()) for each in agent.ranks]
        finally:
            agent.close()
    holds(codes == [0] * (size - 1), f"ended with {codes}: {outputs[0][1][-1500:]}")
    for _, output in outputs:
        steps = [(int(a), int(b)) for a, b in re.findall(r"^steps (\d+) (\d+) ", output, re.M)]
        holds(all(one == other and after - other in (0, 1) for (_, one), (other, after) in zip(steps, steps[1:])),
              f"steps are lost or done twice: {steps}")
    pauses = [min(float(at) for before, after, at in re.findall(r"^steps (\d+) (\d+) (\S+)$", output, re.M)
                  if float(at) > killed and before != after) - killed for _, output in outputs]
    return outputs, {"pause_s": max(pauses), "sums": [result(output)["sum"] for _, output in outputs]}


def until(agent, steps):
    """Returns once rank 0 has taken so many more steps."""
    def taken():
        return len(re.findall("^steps", agent.ranks[0].output(), re.M))

    goal, end = taken() + steps, time.monotonic() + 100
    while taken() < goal:
        each = agent.ranks[0]
        holds(time.monotonic() < end and each.process.poll() is None, f"no more steps: {each.output()[-1500:]}")
        time.sleep(0.01)


def close_to_alone(found, **asked):
    alone = train(1, steps=40, **asked)[0]["sum"]
    holds(len(set(found["sums"])) == 1, f"ranks end with different weights: {found['sums']}")
    holds(abs(found["sums"][0] - alone) <= 1e-4 * max(1.0, abs(alone)), f"{found['sums'][0]} instead of {alone}")


@check()
def a_rank_dies_through_host_memory():
    _, found = survive(3)
    close_to_alone(found)
    return f"{found['pause_s'] * 1000:.0f} ms to the next step", found


@check()
def a_rank_dies_in_nccl():
    outputs, found = survive(3, own_host=True)
    close_to_alone(found)
    holds("by NCCL" in "".join(output for _, output in outputs), "it was not in NCCL")
    holds("it goes on in place" in way(outputs), way(outputs))
    return f"{found['pause_s'] * 1000:.0f} ms to the next step, {way(outputs)}", found


@check()
def a_rank_dies_in_nccl_and_it_is_formed_anew():
    outputs, found = survive(3, own_host=True, in_place=True)
    close_to_alone(found)
    said = re.findall("gradients travel by NCCL", "".join(output for _, output in outputs))
    holds(len(said) == 2, f"NCCL was formed {len(said)} times: {way(outputs)}")
    return f"{found['pause_s'] * 1000:.0f} ms to the next step", found


@check()
def gradients_through_nccl():
    ended, found = same_gradients(2, width=256, own_host=True)
    holds("by NCCL" in way(ended), way(ended))
    _, small = same_gradients(2, width=256, own_host=True, buckets_of=100000)
    return f"{way(ended)} gradients within {found['gradients']:.1e}, in small buckets {small['gradients']:.1e}", found


# ---- times ----

LARGE = {"width": 2048, "layers": 6, "batch": 1024, "samples": 20480, "steps": 40, "measure": True}


def measure(size, **asked):
    ended = run(TRAINING, size, **{**LARGE, **asked})
    found = [result(output) for _, output in ended]
    return max(each["ms"] for each in found), found[0]


@check(alone=True)
def a_step_alone():
    ours, found = measure(1)
    plain, _ = measure(1, plain="alone")
    return f"{found['millions']:.1f} M parameters: {ours:.2f} ms, without the runtime {plain:.2f} ms", {"ms": ours, "plain": plain}


@check(alone=True)
def a_step_of_two_ranks_on_one_gpu():
    found = {}
    found["host memory"], each = measure(2)
    found["NCCL"], _ = measure(2, own_host=True)
    for how in ("gloo", "nccl"):
        try:
            found["DDP " + how], _ = measure(2, plain=how, own_host=True)
        except Wrong as wrong:
            found["DDP " + how] = str(wrong)[-200:]
    text = ", ".join(f"{name} {ms:.2f} ms" if isinstance(ms, float) else f"{name}: {ms}" for name, ms in found.items())
    return f"{each['millions']:.1f} M parameters: {text}; the model shared in {each['shared_s'] * 1000:.0f} ms", found


@check(alone=True)
def a_checkpoint_beside_the_training():
    with tempfile.TemporaryDirectory() as folder:
        _, plain = measure(1, adam=True, steps=600)
        _, beside = measure(1, adam=True, steps=600, folder=folder, every=0)  # one after the other: one is always being written
        bytes_of_it = max(each.stat().st_size for each in Path(folder).glob("*.pt"))
    stalled = 1 - plain["mean"] / beside["mean"]
    holds(beside["took_s"] > 0, "no checkpoint was written")
    return (f"{bytes_of_it / 1e6:.0f} MB written in {beside['took_s'] * 1000:.0f} ms, of which the training stalls for "
            f"{stalled:.1%}: a step takes {beside['mean']:.2f} ms, at most {beside['most']:.2f}, without checkpoints {plain['mean']:.2f}",
            {"stalled": stalled, "beside": beside, "plain": plain})


# ---- all of them ----

def why_not():
    """Why nothing can be checked here, or None."""
    try:
        import torch
    except ImportError:
        return "PyTorch is not installed"
    if not torch.cuda.is_available():
        return "PyTorch sees no GPU"
    if not (support.PACKAGE / "libpaceline.so.0").exists():
        return f"libpaceline is not built: {support.PACKAGE} has none"
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name(0)}, {os.cpu_count()} cores", flush=True)
    return None


def perform(name, function):
    begun = time.monotonic()
    try:
        text, numbers = function()
        failed = False
    except Exception as error:  # the others are checked all the same
        text, numbers, failed = f"{'' if isinstance(error, Wrong) else type(error).__name__ + ': '}{error}", {}, True
    seconds = time.monotonic() - begun
    print(f"{'FAILED' if failed else 'ok'} {name}: {text} [{seconds:.1f} s]", flush=True)
    return {"name": name, "ok": not failed, "text": text, "seconds": round(seconds, 1), "numbers": numbers}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help="a file that all numbers are written to")
    parser.add_argument("--only", help="checks whose name has this in it", default="")
    parser.add_argument("--at-once", type=int, default=5, help="how many checks run at the same time")
    asked = parser.parse_args()
    why = why_not()
    if why:
        print(f"skipped: {why}")
        return 77
    chosen = [each for each in CHECKS if re.search(asked.only, each[0])]
    begun = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(asked.at_once) as pool:
        found = list(pool.map(lambda each: perform(*each), [each[:2] for each in chosen if not each[2]]))
    found += [perform(*each[:2]) for each in chosen if each[2]]
    failed = [each["name"] for each in found if not each["ok"]]
    print(f"{len(found) - len(failed)} passed, {len(failed)} failed, {time.monotonic() - begun:.0f} s"
          + (": " + ", ".join(failed) if failed else ""))
    if asked.json:
        Path(asked.json).write_text(json.dumps({"python": sys.version, "checks": found}, indent=1))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
