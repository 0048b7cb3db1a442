"""A training that goes on from its last commit, with another number of ranks after each start.

    state = hvd.elastic.TorchState(model=model, optimizer=optimizer, sampler=sampler, epoch=0)

    @hvd.elastic.run
    def train(state):
        while state.epoch < 10:
            for number, batch in enumerate(loader):
                ...
                sampler.record_batch(number, batch_size)
                state.commit()
            state.epoch += 1
            sampler.set_epoch(state.epoch)
            state.commit()

    train(state)
"""

from paceline.horovod.torch.elastic.running import run
from paceline.horovod.torch.elastic.sampler import ElasticSampler
from paceline.horovod.torch.elastic.state import TorchState
from paceline.horovod.torch.missing import placeholder

__all__ = ["ElasticSampler", "TorchState", "run"]


def __getattr__(name):
    return placeholder(__name__, name)
