"""The one error a person is meant to read."""


class UserError(Exception):
    """One sentence that says what is wrong outside this program and what to do next."""
