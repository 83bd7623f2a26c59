# SPDX-License-Identifier: MIT
"""The stubs have the names of the module, no more and no less, and all public names have docstrings."""

import ast
import inspect
import pathlib
import unittest

import overtake
from overtake import _core

PACKAGE = pathlib.Path(overtake.__file__).parent


def members_of(cls):
    """Returns the names that a class adds, without operators that stubs need not have."""
    told = {"__init__", "__len__"}
    return {name for name in vars(cls) if not name.startswith("__") or name in told}


def stubbed():
    """Returns {name: set of members, or None if it is no class} of _core.pyi."""
    found = {}
    for node in ast.parse((PACKAGE / "_core.pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = {of.name for of in node.body if isinstance(of, ast.FunctionDef)}
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = None
        elif isinstance(node, ast.AnnAssign):
            found[node.target.id] = None
    return found


class Stubs(unittest.TestCase):
    def test_the_stubs_are_the_module(self):
        stubs = stubbed()
        names = {name for name in vars(_core) if not name.startswith("__") or name == "__version__"}
        self.assertEqual(names, set(stubs))
        for name, members in stubs.items():
            with self.subTest(name=name):
                of = getattr(_core, name)
                self.assertEqual(inspect.isclass(of), members is not None)
                if members is not None:
                    # Newer versions of pybind11 have attributes for their own use.
                    has = {name for name in members_of(of) if not name.startswith("_pybind11_")}
                    if "__init__" not in members:  # pybind11 gives one that refuses to classes without
                        has.discard("__init__")
                    self.assertEqual(has, members)

    def test_the_package_is_typed(self):
        self.assertTrue((PACKAGE / "py.typed").exists())
        for name in overtake.__all__:
            of = getattr(overtake, name)
            if inspect.isfunction(of):
                hints = inspect.get_annotations(of)
                self.assertEqual(set(hints) - {"return"}, set(inspect.signature(of).parameters), name)
                self.assertIn("return", hints)

    def test_everything_public_is_explained(self):
        bare = []
        for name in overtake.__all__:
            of = getattr(overtake, name)
            if isinstance(of, (int, str)):
                continue
            if not of.__doc__:
                bare.append(name)
            self.assertTrue(inspect.isfunction(of) or of.__module__ == "overtake", name)
            for member, value in vars(of).items() if inspect.isclass(of) else ():
                if not member.startswith("_") and (callable(value) or isinstance(value, property)) and not value.__doc__:
                    bare.append(f"{name}.{member}")
        self.assertEqual(set(bare), {"Tensor.name", "Tensor.zero_point", "Model.name"})  # which say it themselves


if __name__ == "__main__":
    unittest.main()
