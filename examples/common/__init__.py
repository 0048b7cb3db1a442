"""What the example trainings share: data, the order of samples, checkpoints, reports, the loop.

Import `common.launch` before torch: it takes the stop signal and sets one thread per worker, and
both must happen before torch starts threads of its own. Nothing here imports Paceline; a worker
speaks to it through its environment, its exit code, lines on stdout and, where there is one, the
worker socket.
"""
