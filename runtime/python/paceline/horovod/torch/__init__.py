"""Horovod's names for PyTorch, with Horovod's meaning, on Paceline's collectives.

    import paceline.horovod.torch as hvd

    hvd.init()
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)

Every rank makes the same calls in the same order, the asynchronous ones too. What Horovod has and this has not
fails where it is called, with a sentence that names the nearest thing.
"""

from paceline.horovod.torch import elastic
from paceline.horovod.torch.compression import Compression
from paceline.horovod.torch.handle import poll, synchronize
from paceline.horovod.torch.missing import placeholder
from paceline.horovod.torch.moving import (
    allgather, allgather_async, alltoall, alltoall_async, barrier, broadcast, broadcast_, broadcast_async,
    broadcast_async_, grouped_allgather, grouped_allgather_async)
from paceline.horovod.torch.operators import Adasum, Average, Max, Min, Product, Sum
from paceline.horovod.torch.optimizer import DistributedOptimizer
from paceline.horovod.torch.reducing import (
    allreduce, allreduce_, allreduce_async, allreduce_async_, grouped_allreduce, grouped_allreduce_,
    grouped_allreduce_async, grouped_allreduce_async_)
from paceline.horovod.torch.scattering import (
    grouped_reducescatter, grouped_reducescatter_async, reducescatter, reducescatter_async)
from paceline.horovod.torch.sharing import (
    allgather_object, broadcast_object, broadcast_optimizer_state, broadcast_parameters)
from paceline.horovod.torch.world import (
    ccl_built, cross_rank, cross_size, cuda_built, ddl_built, global_process_set, gloo_built, gloo_enabled, init,
    is_homogeneous, is_initialized, join, local_rank, local_size, mpi_built, mpi_enabled, mpi_threads_supported,
    nccl_built, rank, rocm_built, shutdown, size)

__all__ = [
    "Adasum", "Average", "Compression", "DistributedOptimizer", "Max", "Min", "Product", "Sum", "allgather",
    "allgather_async", "allgather_object", "allreduce", "allreduce_", "allreduce_async", "allreduce_async_", "alltoall",
    "alltoall_async", "barrier", "broadcast", "broadcast_", "broadcast_async", "broadcast_async_", "broadcast_object",
    "broadcast_optimizer_state", "broadcast_parameters", "ccl_built", "cross_rank", "cross_size", "cuda_built",
    "ddl_built", "elastic", "global_process_set", "gloo_built", "gloo_enabled", "grouped_allgather",
    "grouped_allgather_async", "grouped_allreduce", "grouped_allreduce_", "grouped_allreduce_async",
    "grouped_allreduce_async_", "grouped_reducescatter", "grouped_reducescatter_async", "init", "is_homogeneous",
    "is_initialized", "join", "local_rank", "local_size", "mpi_built", "mpi_enabled", "mpi_threads_supported",
    "nccl_built", "poll", "rank", "reducescatter", "reducescatter_async", "rocm_built", "shutdown", "size",
    "synchronize"]


def __getattr__(name):
    return placeholder(__name__, name)
