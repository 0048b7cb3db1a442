"""By which way gradients travel in a generation: its ranks choose it together."""

import json
import os
import sys

from paceline import nccl, streams
from paceline.carriers import HostCarrier, NcclCarrier
from paceline.errors import PacelineError
from paceline.group import type_name
from paceline.nccl import NcclError

FORM_WITHIN_S = 60.0
SHARES_GPUS = 23000  # the first NCCL with NCCL_MULTI_RANK_GPU_ENABLE


def choose(group, parameters, in_place):
    """The carrier for gradients of these parameters. Every rank calls it where a generation begins, and rank 0 tells the
    log what came of it, unless nobody has a GPU. `in_place`: this process was in another generation before.

    Raises GroupError, and PacelineError where some ranks have the model on a GPU and others don't.
    """
    own = _own(parameters, in_place)
    everyones = [json.loads(each) for each in group.all_gather_bytes(json.dumps(own).encode(), "takes its first batch")]
    elsewhere = [each["elsewhere"] for each in everyones]
    if not any(elsewhere):
        return HostCarrier(group)
    if not all(elsewhere):
        raise PacelineError(f"The model is on the CPU on rank {elsewhere.index(False)}, and on a GPU on rank "
                            f"{elsewhere.index(True)}: move it to job.device on all.")
    why = _why_not(everyones)
    if not why:
        try:
            carrier = _form(group, next(iter(parameters)).device)
            _say(group, f"gradients travel by NCCL {nccl.version_text(own['version'])}.")
            return carrier
        except NcclError as error:
            why = str(error)
    return over_host(group, why)


def over_host(group, why):
    _say(group, f"gradients travel through host memory: {why}.")
    return HostCarrier(group, threaded=True)


def _own(parameters, in_place):
    """What this rank tells the others of itself. `why` it can't use NCCL, or None."""
    devices = {each.device for each in parameters}
    own = {"elsewhere": any(streams.side(each) for each in devices), "gpu": None, "version": 0, "shares": False, "why": None}
    try:
        if len(devices) > 1:
            raise NcclError("the model lies on several devices")
        other = next((each for each in parameters if type_name(each) not in nccl.TYPES), None)
        if other is not None:
            raise NcclError(f"NCCL doesn't sum parameters of type {type_name(other)}")
        own["version"] = nccl.library().version
        own["gpu"] = streams.gpu_name(*devices)
        own["shares"] = own["version"] >= SHARES_GPUS and os.environ.get("NCCL_MULTI_RANK_GPU_ENABLE") == "1"
        if in_place and os.environ.get("PACELINE_NCCL_IN_PLACE") != "1":
            raise NcclError("it goes on in place, and PACELINE_NCCL_IN_PLACE=1 is not set")
    except NcclError as error:
        own["why"] = str(error)
    return own


def _why_not(everyones):
    for rank, each in enumerate(everyones):
        if each["why"]:
            return f"{each['why']} (rank {rank})"
        if each["version"] != everyones[0]["version"]:
            return (f"rank 0 has NCCL {nccl.version_text(everyones[0]['version'])}, rank {rank} has "
                    f"{nccl.version_text(each['version'])}")
        for other in range(rank):
            if everyones[other]["gpu"] == each["gpu"] and not each["shares"]:
                return f"ranks {other} and {rank} share a GPU"
    return None


def _form(group, device):
    """Raises NcclError on every rank, GroupError."""
    library, side, made, trouble = nccl.library(), streams.side(device), b"", None
    if group.rank == 0:
        try:
            made = library.unique_id()
        except NcclError as error:
            trouble = str(error)
    unique_id = group.broadcast_bytes(made)
    if not unique_id:
        raise NcclError(trouble or "rank 0 can't begin with it")
    with side.on_device():
        communicator = nccl.Communicator(library, unique_id, group.rank, group.size, side.on_device)
        carrier = NcclCarrier(group, communicator, side)
        try:
            carrier.form(FORM_WITHIN_S)
        except BaseException:
            carrier.close()
            raise
    return carrier


def _say(group, text):
    if group.rank == 0:
        print("paceline: " + text, file=sys.stderr, flush=True)
