"""Every call of paceline.horovod.torch against what one process knows of all ranks' data. test_runtime_horovod.py starts it
on some ranks; its argument is what to call: each function below whose name begins with it."""

import os
import sys

import torch
from torch import nn
from torch.nn import functional as F

import paceline.horovod.torch as hvd
from paceline.errors import GroupError, PacelineError

MIXED = "Some ranks reduce the gradients of an optimizer while others make another call"

hvd.init()
RANK, SIZE = hvd.rank(), hvd.size()


def close(one, other, delta=1e-6):
    assert one.shape == other.shape, (one.shape, other.shape)
    assert one.dtype == other.dtype, (one.dtype, other.dtype)
    assert torch.allclose(one.double(), other.double(), atol=delta, rtol=delta), (one, other)


def of(rank, *shape, dtype=torch.float32):
    return (torch.randn(*shape, generator=torch.Generator().manual_seed(rank)) * 8).to(dtype)


def of_all(*shape, dtype=torch.float32):
    return torch.stack([of(rank, *shape, dtype=dtype) for rank in range(SIZE)])


def fails(kind, words, function, *arguments, **options):
    try:
        function(*arguments, **options)
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"no {kind.__name__}: {words}")


# ---- calls ----

def call_ranks():
    assert (RANK, SIZE) == (int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1)))
    assert (hvd.local_rank(), hvd.local_size()) == (RANK, SIZE)
    assert (hvd.cross_rank(), hvd.cross_size()) == (0, 1)
    assert hvd.is_initialized() and hvd.is_homogeneous()
    assert not (hvd.mpi_built() or hvd.mpi_enabled() or hvd.mpi_threads_supported() or hvd.nccl_built() or hvd.gloo_built())
    assert hvd.global_process_set.ranks == list(range(SIZE))
    hvd.init()
    hvd.barrier()


def call_allreduce():
    for dtype in (torch.float32, torch.float64, torch.int64, torch.int32):
        mine, everyones = of(RANK, 5, 3, dtype=dtype), of_all(5, 3, dtype=dtype)
        close(hvd.allreduce(mine, op=hvd.Sum), everyones.sum(0, dtype=dtype))
        close(hvd.allreduce(mine, average=False), everyones.sum(0, dtype=dtype))
        close(hvd.allreduce(mine, op=hvd.Min, name="least"), everyones.amin(0))
        close(hvd.allreduce(mine, op=hvd.Max), everyones.amax(0))
        close(mine, of(RANK, 5, 3, dtype=dtype))
    mean = of_all(4).mean(0)
    close(hvd.allreduce(of(RANK, 4)), mean)
    close(hvd.allreduce(of(RANK, 4), prescale_factor=2.0, postscale_factor=3.0), mean * 6, 1e-5)
    close(hvd.allreduce(torch.tensor(1.0 + RANK), op=hvd.Sum), torch.tensor(SIZE * (SIZE + 1) / 2))
    close(hvd.allreduce(torch.empty(0)), torch.empty(0))
    close(hvd.allreduce(of(RANK, 3, 4).t()), of_all(3, 4).mean(0).t())
    close(hvd.allreduce(of(RANK, 4), compression=hvd.Compression.fp16), mean, 2e-2)
    sum_of_large = hvd.allreduce(torch.full((2,), 40000.0), op=hvd.Sum, compression=hvd.Compression.fp16)
    assert sum_of_large.isinf().all() == (SIZE > 1), "it travels as float16, whose greatest number is 65504"


def call_allreduce_in_place_and_with_handles():
    tensor = of(RANK, 6)
    assert hvd.allreduce_(tensor) is tensor
    close(tensor, of_all(6).mean(0))
    tensors = [of(RANK + shift, 4) for shift in range(3)]
    handles = [hvd.allreduce_async(each, op=hvd.Sum, name=f"number {i}") for i, each in enumerate(tensors)]
    handles.append(hvd.allreduce_async_(tensors[1], op=hvd.Sum))
    assert hvd.poll(handles[0])
    for shift in (2, 1, 0):
        wanted = sum(of(rank + shift, 4) for rank in range(SIZE))
        close(hvd.synchronize(handles[shift]), wanted, 1e-5)
        close(hvd.synchronize(handles[shift]), wanted, 1e-5)
    assert hvd.synchronize(handles[3]) is tensors[1]
    close(tensors[1], sum(of(rank + 1, 4) for rank in range(SIZE)), 1e-5)


def call_grouped_allreduce():
    def given(rank):
        return [of(rank, 3), of(rank, 2, 2, dtype=torch.int64), of(rank, 5)]

    wanted = [torch.stack(each).sum(0) for each in zip(*map(given, range(SIZE)))]
    for one, other in zip(hvd.grouped_allreduce(given(RANK), op=hvd.Sum), wanted):
        close(one, other, 1e-5)
    tensors = given(RANK)
    hvd.grouped_allreduce_(tensors, op=hvd.Sum)
    for one, other in zip(tensors, wanted):
        close(one, other, 1e-5)
    for one, other in zip(hvd.synchronize(hvd.grouped_allreduce_async(given(RANK), op=hvd.Sum)), wanted):
        close(one, other, 1e-5)


def call_allgather():
    wanted = torch.cat([of(rank, rank + 1, 2) for rank in range(SIZE)])
    close(hvd.allgather(of(RANK, RANK + 1, 2)), wanted)
    close(hvd.synchronize(hvd.allgather_async(of(RANK, RANK + 1, 2), name="rows")), wanted)
    close(hvd.allgather(of(RANK, 3, 2) > 0), torch.cat([of(rank, 3, 2) > 0 for rank in range(SIZE)]))
    close(hvd.allgather(torch.tensor(RANK)), torch.arange(SIZE))
    close(hvd.allgather(of(RANK, 2 if RANK == 0 else 0, 3)), of(0, 2, 3))
    one, two = hvd.grouped_allgather([of(RANK, 1), of(RANK, 2)])
    close(one, of_all(1).reshape(-1))
    close(two, of_all(2).reshape(-1))


def call_broadcast():
    for root in range(SIZE):
        for dtype in (torch.float32, torch.bool, torch.int64, torch.bfloat16):
            mine, wanted = of(RANK, 4, 3).to(dtype), of(root, 4, 3).to(dtype)
            close(hvd.broadcast(mine, root), wanted)
            close(mine, of(RANK, 4, 3).to(dtype))
            close(hvd.synchronize(hvd.broadcast_async(mine, root)), wanted)
            assert hvd.broadcast_(mine, root_rank=root) is mine
            close(mine, wanted)
        turned = of(RANK, 3, 4).t()
        hvd.synchronize(hvd.broadcast_async_(turned, root))
        close(turned, of(root, 3, 4).t())


def call_alltoall():
    mine = slice(RANK * 2, RANK * 2 + 2)
    close(hvd.alltoall(of(RANK, SIZE * 2, 3)), torch.cat([of(rank, SIZE * 2, 3)[mine] for rank in range(SIZE)]))
    # Rank r has so many rows for rank s:
    splits = torch.tensor([[(rank + other) % 3 for other in range(SIZE)] for rank in range(SIZE)])
    rows, received = hvd.alltoall(of(RANK, int(splits[RANK].sum()), 2), splits=splits[RANK])
    wanted = [of(rank, int(splits[rank].sum()), 2).split(splits[rank].tolist())[RANK] for rank in range(SIZE)]
    close(rows, torch.cat(wanted))
    assert received.tolist() == splits[:, RANK].tolist()
    large = torch.full((SIZE * 100_000,), float(RANK))
    close(hvd.synchronize(hvd.alltoall_async(large)), torch.arange(SIZE).float().repeat_interleave(100_000))


def call_reducescatter():
    starts = [0]
    for rank in range(SIZE):
        starts.append(starts[-1] + 7 // SIZE + (rank < 7 % SIZE))
    mine = slice(starts[RANK], starts[RANK + 1])
    close(hvd.reducescatter(of(RANK, 7, 2)), of_all(7, 2).mean(0)[mine])
    close(hvd.synchronize(hvd.reducescatter_async(of(RANK, 7, 2), op=hvd.Sum)), of_all(7, 2).sum(0)[mine], 1e-5)
    close(hvd.grouped_reducescatter([of(RANK, 7, 2)])[0], of_all(7, 2).mean(0)[mine])


def call_gradients_flow_through():
    def gradient(function, *shape):
        tensor = of(RANK, *shape).requires_grad_()
        out = function(tensor)
        (out * (RANK + 1)).sum().backward()
        return tensor.grad

    mean, total = (SIZE + 1) / 2, SIZE * (SIZE + 1) / 2
    close(gradient(hvd.allreduce, 3), torch.full((3,), mean))
    close(gradient(lambda tensor: hvd.allreduce(tensor, op=hvd.Sum), 3), torch.full((3,), total))
    close(gradient(hvd.allgather, RANK + 1, 2), torch.full((RANK + 1, 2), mean))
    close(gradient(lambda tensor: hvd.broadcast(tensor, SIZE - 1), 3), torch.full((3,), mean * (RANK == SIZE - 1)))
    close(gradient(hvd.alltoall, SIZE), torch.arange(1.0, SIZE + 1))
    close(gradient(hvd.reducescatter, SIZE), torch.arange(1.0, SIZE + 1))


def call_objects():
    assert hvd.broadcast_object({"rank": RANK, "of": torch.tensor(RANK)}, root_rank=SIZE - 1)["rank"] == SIZE - 1
    assert hvd.allgather_object(("rank", RANK) if RANK else None) == [None, *(("rank", rank) for rank in range(1, SIZE))]


def call_broadcast_parameters_and_optimizer_state():
    def trained(seed):
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
        optimizer = torch.optim.Adam([{"params": model[0].parameters(), "lr": 0.1 + seed}, {"params": model[2].parameters()}])
        for _ in range(seed + 1 if seed == SIZE - 1 else 0):  # of the others none has made a step
            model(of(seed, 8, 3)).sum().backward()
            optimizer.step()
        return model, optimizer

    model, optimizer = trained(RANK)
    wanted, wanted_optimizer = trained(SIZE - 1)
    hvd.broadcast_parameters(model.state_dict(), root_rank=SIZE - 1)
    for one, other in zip(model.state_dict().values(), wanted.state_dict().values()):
        close(one, other)
    hvd.broadcast_parameters(model.named_parameters(), root_rank=0)
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=[
        each for each in model.named_parameters() if not each[0].startswith("1.")])
    hvd.broadcast_optimizer_state(optimizer, root_rank=SIZE - 1)
    one, other = optimizer.state_dict(), wanted_optimizer.state_dict()
    assert one["param_groups"] == other["param_groups"]
    assert one["state"].keys() == other["state"].keys() and len(one["state"]) == 4
    for number, values in one["state"].items():
        for name, value in values.items():
            close(value, other["state"][number][name])


# ---- the optimizer ----

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(4, 300), nn.Linear(300, 2)
        self.seldom = nn.Linear(4, 2)  # only on rank 0
        self.never = nn.Linear(2, 2)

    def forward(self, x, rank):
        y = self.two(torch.tanh(self.one(x)))
        return y + self.seldom(x) if rank == 0 else y


def adam(parameters):
    return torch.optim.Adam(parameters, lr=0.01, weight_decay=0.1)


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)


def trains_as_one(delta=1e-6, make=adam, passes=1, clip=None, op=hvd.Average, closure=False, **options):
    """Trains over all ranks, and again what all ranks train on in this process alone."""
    def loss_of(net, rank, step, scale=1.0):
        x = of(rank * 1000 + step, 6, 4)
        return F.mse_loss(net(x, rank), x[:, :2]) * scale

    torch.manual_seed(3)
    net, alone = Net(), Net()
    alone.load_state_dict(net.state_dict())
    optimizer, alone_optimizer = make(net.parameters()), make(alone.parameters())
    optimizer = hvd.DistributedOptimizer(optimizer, net.named_parameters(), backward_passes_per_step=passes, op=op, **options)
    assert isinstance(optimizer, type(alone_optimizer))
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    for step in range(5):
        def computed(step=step):
            optimizer.zero_grad()
            for each in range(passes):
                loss_of(net, RANK, step * passes + each).backward()
            return torch.zeros(())

        if closure:
            optimizer.step(computed)
        else:
            computed()
            if clip:
                optimizer.synchronize()
                nn.utils.clip_grad_norm_(net.parameters(), clip)
                with optimizer.skip_synchronize():
                    optimizer.step()
            else:
                optimizer.step()
        scheduler.step()

        alone_optimizer.param_groups[0]["lr"] = 0.01 * 0.9 ** step
        for parameter in alone.parameters():
            parameter.grad = torch.zeros_like(parameter) if SIZE > 1 else None  # as those that no rank uses
        for rank in range(SIZE):
            for each in range(passes):
                loss_of(alone, rank, step * passes + each, 1.0 if op is hvd.Sum else 1 / SIZE).backward()
        if clip:
            nn.utils.clip_grad_norm_(alone.parameters(), clip)
        alone_optimizer.step()
    for (name, one), other in zip(net.state_dict().items(), alone.state_dict().values()):
        assert (one - other).abs().max() < delta, (name, (one - other).abs().max())
    if SIZE > 1:
        assert (net.never.weight.grad == 0).all()


def optimizer_trains_as_one():
    trains_as_one()
    trains_as_one(make=sgd)


def optimizer_takes_several_passes():
    trains_as_one(make=sgd, passes=2)


def optimizer_clips_between_synchronize_and_step():
    trains_as_one(make=sgd, clip=0.1)


def optimizer_sums():
    trains_as_one(make=sgd, op=hvd.Sum)


def optimizer_divides_before():
    trains_as_one(make=sgd, gradient_predivide_factor=2.0)


def optimizer_sends_float16():
    trains_as_one(make=sgd, compression=hvd.Compression.fp16, delta=1e-2)
    net = nn.Linear(1, 1, bias=False)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=1.0), compression=hvd.Compression.fp16)
    (net.weight * (1 + 2 ** -13)).sum().backward()
    optimizer.synchronize()
    assert net.weight.grad.item() == (1.0 if SIZE > 1 else 1 + 2 ** -13), "it travelled as float16"
    with optimizer.skip_synchronize():
        optimizer.step()


def optimizer_takes_a_closure():
    trains_as_one(make=sgd, closure=True)


def optimizer_with_two_losses():
    one, two = nn.Linear(2, 1), nn.Linear(2, 1)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([*one.parameters(), *two.parameters()], lr=0.1))
    x = torch.full((1, 2), RANK + 1.0)
    one(x).sum().backward()
    two(x).sum().backward()
    optimizer.step()
    for each in (one, two):
        close(each.weight.grad, torch.full((1, 2), (SIZE + 1) / 2))


def optimizer_with_sparse_gradients():
    table = nn.Embedding(5, 2, sparse=True)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(table.parameters(), lr=0.1), sparse_as_dense=True)
    table(torch.tensor([RANK])).sum().backward()
    optimizer.step()
    if SIZE > 1:
        wanted = torch.zeros(5, 2)
        wanted[:SIZE] = 1 / SIZE
        close(table.weight.grad, wanted)


def optimizer_keeps_its_state():
    net = nn.Linear(2, 1)
    inner = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    torch.optim.lr_scheduler.ExponentialLR(inner, 0.9)
    net(torch.ones(1, 2)).sum().backward()
    inner.step()
    optimizer = hvd.DistributedOptimizer(inner)
    assert optimizer.state[net.weight]["momentum_buffer"] is inner.state[net.weight]["momentum_buffer"]
    inner.param_groups[0]["lr"] = 0.5
    assert optimizer.param_groups[0]["lr"] == 0.5
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    optimizer.load_state_dict(optimizer.state_dict())


# ---- join ----

def joined_training():
    torch.manual_seed(1)
    model = nn.Linear(3, 1)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), op=hvd.Sum)
    alone = nn.Linear(3, 1)
    alone.load_state_dict(model.state_dict())
    alone_optimizer = torch.optim.SGD(alone.parameters(), lr=0.1)
    data = [list(of(rank, 2 * rank, 4, 3)) for rank in range(SIZE)]  # rank 0 has none, rank 1 two batches, ...
    for x in data[RANK]:
        optimizer.zero_grad()
        F.mse_loss(model(x), x[:, :1]).backward()
        optimizer.step()
    if RANK == SIZE - 1:
        for number in range(2 * RANK):
            alone_optimizer.zero_grad()
            sum(F.mse_loss(alone(its[number]), its[number][:, :1]) for its in data if number < len(its)).backward()
            alone_optimizer.step()
        close(model.weight.detach(), alone.weight.detach())
        close(hvd.allreduce(torch.ones(3)), torch.ones(3) / SIZE)  # an average of all ranks still
        close(hvd.grouped_allreduce([torch.ones(2), torch.ones(2, dtype=torch.int64)], op=hvd.Sum)[1],
              torch.ones(2, dtype=torch.int64))
        hvd.barrier()
    last = hvd.join()
    assert last == SIZE - 1, last
    hvd.broadcast_parameters(model.state_dict(), root_rank=last)
    hvd.broadcast_parameters(alone.state_dict(), root_rank=last)
    close(model.weight.detach(), alone.weight.detach())
    assert hvd.join() in range(SIZE)
    close(hvd.allreduce(torch.ones(3), op=hvd.Sum), torch.full((3,), float(SIZE)))


def joined_needs_something_from_all():
    words = "allgather() needs something from every rank, and some have joined"
    if RANK == 0:
        fails(ValueError, words, hvd.join)
    else:
        fails(ValueError, words, hvd.allgather, torch.ones(1))


# ---- what goes wrong ----

def wrong_arguments():
    one = torch.ones(2)
    model = nn.Linear(2, 1)
    inner = torch.optim.SGD(model.parameters(), lr=0.1)
    fails(ValueError, "Adasum is not there: use op=Average", hvd.allreduce, one, op=hvd.Adasum)
    fails(ValueError, "Product is not there: sum logarithms", hvd.allreduce, one, op=hvd.Product)
    fails(ValueError, "pass one of them", hvd.allreduce, one, average=True, op=hvd.Sum)
    fails(ValueError, "tensors of type bool can't be reduced: convert", hvd.allreduce, one > 0)
    fails(ValueError, "a float can't be reduced: pass torch.tensor(value)", hvd.allreduce, 1.0)
    fails(ValueError, "pass tensor.to_dense()", hvd.allreduce, one.to_sparse())
    fails(ValueError, "are for numbers of floating point",
          hvd.allreduce, torch.ones(1, dtype=torch.int64), prescale_factor=2.0)
    fails(ValueError, f"ranks go from 0 to {SIZE - 1}", hvd.broadcast, one, SIZE)
    fails(ValueError, "leave process_set= out", hvd.allreduce, one, process_set=object())
    fails(ValueError, "is no handle", hvd.synchronize, 3)
    fails(ValueError, "must be", hvd.alltoall, one, splits=[5] * SIZE)
    fails(ValueError, "takes model.state_dict()", hvd.broadcast_parameters, 5, root_rank=0)
    fails(ValueError, "share it by broadcast_object()", hvd.broadcast_parameters, {"extra": 5}, root_rank=0)
    fails(ValueError, "LBFGS keeps", hvd.broadcast_optimizer_state, torch.optim.LBFGS(model.parameters()), 0)
    distributed = hvd.DistributedOptimizer
    fails(ValueError, "pairs of a name and a parameter", distributed, inner, named_parameters=model.parameters())
    fails(ValueError, "has bias, weight more than once",
          distributed, inner, [*model.named_parameters(), *model.named_parameters()])
    fails(ValueError, "1 of the optimizer's 2 parameters are not in",
          distributed, inner, list(model.named_parameters())[:1])
    fails(ValueError, "gradient_predivide_factor is for op=Average",
          distributed, inner, op=hvd.Sum, gradient_predivide_factor=2.0)
    fails(ValueError, "Adasum is not there", distributed, inner, op=hvd.Adasum)
    fails(ValueError, "must be 1 or more", distributed, inner, backward_passes_per_step=0)
    fails(ValueError, "no compress() and decompress()", distributed, inner, compression=16)
    fails(ValueError, "already", distributed, distributed(inner))
    complex_ = nn.Parameter(torch.ones(1, dtype=torch.complex64))
    fails(ValueError, "odd is of type complex64", distributed, torch.optim.SGD([complex_], lr=0.1), [("odd", complex_)])
    model.requires_grad_(False)
    fails(ValueError, "no parameter that requires a gradient", distributed, torch.optim.SGD(model.parameters(), lr=0.1))
    fails(PacelineError, "paceline.horovod has no SyncBatchNorm: keep torch.nn.BatchNorm", hvd.SyncBatchNorm, 3)
    fails(PacelineError, "torch.profiler", hvd.start_timeline, "file")
    fails(PacelineError, "new_group", hvd.add_process_set, [0])
    fails(PacelineError, "use TorchState", hvd.elastic.ObjectState)
    fails(AttributeError, "no attribute 'nonsense'", lambda: hvd.nonsense)
    fails(ValueError, "elastic.run needs a TorchState", hvd.elastic.run(print), 5)


def wrong_forks():
    child = os.fork()
    if child == 0:
        try:
            assert hvd.rank() == RANK
            fails(ValueError, "not in a DataLoader's worker", hvd.allreduce, torch.ones(1))
        except BaseException as error:
            print(error, flush=True)
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    close(hvd.allreduce(torch.ones(1)), torch.ones(1))


def wrong_sequences():
    model = nn.Linear(2, 1)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1))
    model(torch.ones(1, 2)).sum().backward()
    if SIZE > 1:
        fails(ValueError, "on their way to the other ranks", optimizer.zero_grad)
        fails(ValueError, "backward() ran more often than backward_passes_per_step=1", model(torch.ones(1, 2)).sum().backward)
    optimizer.step()
    fails(ValueError, "would not be reduced", optimizer.add_param_group, {"params": [nn.Parameter(torch.ones(1))]})
    hvd.shutdown()
    assert not hvd.is_initialized()
    fails(ValueError, "hvd.init() has not been called", hvd.rank)


def differ_in_calls():
    words = "the same calls in the same order"
    if RANK == 0:
        fails(ValueError, words, hvd.allreduce, torch.ones(3), name="a", op=hvd.Sum)
    else:
        fails(ValueError, words, hvd.allreduce, torch.ones(3), name="b", op=hvd.Sum)
    fails(ValueError, words, hvd.allreduce, torch.ones(3 + RANK))
    fails(ValueError, words, hvd.allgather, torch.ones(2, 3 + RANK))
    fails(ValueError, words, hvd.broadcast, torch.ones(2), root_rank=RANK)
    if RANK == 0:
        fails(ValueError, words, hvd.barrier)
    else:
        fails(ValueError, words, hvd.broadcast_object, 5)
    close(hvd.allreduce(torch.ones(3)), torch.ones(3))


def differ_in_models():
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 4 if RANK == 1 else 1))
    words = "rank 0 has 1.bias (1 float32), rank 1 has 1.bias (4 float32) in its place"
    fails(ValueError, words, hvd.broadcast_parameters, model.state_dict(), 0)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model.named_parameters())
    fails(ValueError, "rank 0 has 1.weight (1x3 float32), rank 1 has 1.weight (4x3 float32)",
          model(torch.ones(1, 2)).sum().backward)


def mixed_in_a_step():
    model = nn.Linear(2, 1)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1))
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    if RANK == 0:
        fails(ValueError, MIXED, hvd.allreduce, torch.ones(3))
    else:
        fails((ValueError, GroupError), MIXED, lambda: (model(torch.ones(1, 2)).sum().backward(), optimizer.step()))


def apart_before_a_step():
    used, seldom = nn.Linear(2, 1), nn.Linear(2, 1)
    hvd.DistributedOptimizer(torch.optim.SGD([*used.parameters(), *seldom.parameters()], lr=0.1))
    (used(torch.ones(1, 2)) + (seldom(torch.ones(1, 2)) if RANK == 0 else 0)).sum().backward()
    fails(GroupError, MIXED, hvd.allreduce, torch.ones(3))


chosen = [function for name, function in sorted(globals().items()) if name.startswith(sys.argv[1]) and callable(function)]
assert chosen
for function in chosen:
    function()
print("fine")
