"""JAX on several processes: a linear model on batches that are spread over all devices of the job."""

import json
import os

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

STEPS, BATCH, WIDTH = 200, 64, 16

# The coordinator's address it finds by itself, in JAX_COORDINATOR_ADDRESS.
jax.distributed.initialize(num_processes=int(os.environ["JAX_NUM_PROCESSES"]),
                           process_id=int(os.environ["JAX_PROCESS_ID"]))
mesh = Mesh(jax.devices(), "data")
print(f"process {jax.process_index()} of {jax.process_count()} sees {len(jax.devices())} devices", flush=True)


@jax.jit
def train(weights, x, y):
    loss, gradient = jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(weights)
    return weights - 0.1 * gradient, loss


chance = np.random.default_rng(jax.process_index())
true_weights = np.arange(WIDTH, dtype=np.float32) / WIDTH
spread = NamedSharding(mesh, PartitionSpec("data"))
weights = jax.device_put(np.zeros(WIDTH, np.float32), NamedSharding(mesh, PartitionSpec()))
for step in range(1, STEPS + 1):
    mine = chance.standard_normal((BATCH // jax.process_count(), WIDTH), np.float32)
    x = jax.make_array_from_process_local_data(spread, mine)
    y = jax.make_array_from_process_local_data(spread, mine @ true_weights)
    weights, loss = train(weights, x, y)
    if jax.process_index() == 0 and step % 20 == 0:
        print(json.dumps({"paceline": {"step": step, "total_steps": STEPS, "loss": float(loss)}}), flush=True)
jax.distributed.shutdown()
