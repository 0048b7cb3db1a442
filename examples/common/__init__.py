"""What the example trainings share: data and options; and of those that know nothing of Paceline the
order of samples, checkpoints, reports and the loop.

`train.py` begins with `common.start`, which has the package paceline, `train_plain.py` with
`common.launch`, which has nothing of it: its workers speak to Paceline through their environment, their
exit code, lines on stdout and, where there is one, the worker socket. Both come before torch, which
starts threads of its own.
"""
