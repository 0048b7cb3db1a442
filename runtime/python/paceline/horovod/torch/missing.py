"""What Horovod has and this has not: a sentence each, told where it is called."""

from paceline.errors import PacelineError

_SETS = "all ranks are one set here: for parts of them use torch.distributed.new_group()"
_TIMELINE = "torch.profiler shows where the time goes"
_ABSENT = {
    "ProcessSet": _SETS,
    "add_process_set": _SETS,
    "remove_process_set": _SETS,
    "get_process_set_ids_and_ranks": _SETS,
    "start_timeline": _TIMELINE,
    "stop_timeline": _TIMELINE,
    "SyncBatchNorm": "keep torch.nn.BatchNorm, which normalizes by each rank's own batch",
    "sparse_allreduce_async": "call allreduce_async(tensor.to_dense())",
    "broadcast_object_fn": "call broadcast_object(object, root_rank)",
    "check_extension": "nothing has to be built; leave the call out",
    "check_num_rank_power_of_2": "it serves Adasum, which is not there; leave the call out",
    "num_rank_is_power_2": "it serves Adasum, which is not there; leave the call out",
    "gpu_available": "call torch.cuda.is_available()",
    "ObjectState": "use TorchState, which keeps any values",
    "State": "use TorchState, which keeps any values",
    "run_fn": "use the decorator elastic.run",
}


def placeholder(module, name):
    """What stands for a name that is not there. Raises AttributeError for one that Horovod hasn't either."""
    if name not in _ABSENT:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    def absent(*_, **__):
        raise PacelineError(f"paceline.horovod has no {name}: {_ABSENT[name]}")

    absent.__name__ = name
    return absent
