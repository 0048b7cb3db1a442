"""Scripts that were written for Horovod: `import paceline.horovod.torch as hvd` is all that changes.

There is a part for PyTorch, none for other frameworks.
"""
