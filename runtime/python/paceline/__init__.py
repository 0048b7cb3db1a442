"""Train on many devices with the script for one, and on another number of them after each start.

    import paceline

    job = paceline.init()
    model, optimizer = job.distribute(model, optimizer)
    job.checkpoint("checkpoints")
    for epoch in job.epochs(10):
        for images, classes in job.batches(train_set, global_batch_size=256):
            loss = F.cross_entropy(model(images), classes)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            job.step(loss=loss)
        job.report(accuracy=job.evaluate(count_correct, test_set))
        if job.should_stop:
            break
    job.finish()

Outside of Paceline and torchrun the same script trains alone.
"""

from paceline.errors import GroupError, PacelineError
from paceline.start import init

__all__ = ["GroupError", "PacelineError", "init"]
