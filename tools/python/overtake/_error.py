# SPDX-License-Identifier: MIT
"""Error: the exception that the library raises."""


class Error(RuntimeError):
    """A call that libovertake refuses, or the failure of a request.

    `code` is an errno value greater than 0, such as errno.EINVAL; str() is one line that names the
    place and, where there is one, the remedy.
    """

    code: int

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code

    def __reduce__(self):
        return Error, (self.code, str(self))
