# SPDX-License-Identifier: MIT
"""Includes of the project point down, and scripts/include-arrows sees one that does not."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/include-arrows"


def run(*arguments):
    command = [sys.executable, "-B", str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class IncludeArrows(unittest.TestCase):
    def of_tree(self, files):
        """Returns the script's output for a tree of these files, by path."""
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                path = pathlib.Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return run("--root", root)

    def test_the_project_has_no_arrow_up(self):
        result = run("--quiet")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_arrows_down_are_counted(self):
        result = self.of_tree({
            "tools/compiler/lower/lower.hpp": '#include "compiler/ir/graph.hpp"\n#include <vector>\n',
            "tools/compiler/lower/lower.cpp": '#include "compiler/ir/graph.hpp"\n',
            "tools/compiler/ir/graph.hpp": "",
        })
        self.assertEqual(result.stdout, "tools/compiler/lower -> tools/compiler/ir (2)\n")
        self.assertEqual(result.returncode, 0)

    def test_an_arrow_up_is_a_fault(self):
        result = self.of_tree({
            "tools/compiler/ir/graph.hpp": '#include "compiler/lower/lower.hpp"\n',
            "tools/compiler/lower/lower.hpp": "",
        })
        self.assertEqual(result.returncode, 1)
        self.assertEqual(
            result.stderr,
            "tools/compiler/ir/graph.hpp includes compiler/lower/lower.hpp: "
            "tools/compiler/lower stands above tools/compiler/ir\n",
        )

    def test_folders_within_one_belong_to_it(self):
        result = self.of_tree({
            "tools/compiler/import/context.hpp": "",
            "tools/compiler/import/operators.cpp": '#include "compiler/import/bpu/pool.hpp"\n',
            "tools/compiler/import/bpu/pool.hpp": '#include "compiler/import/context.hpp"\n',
        })
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_the_module_is_included_nowhere_else(self):
        result = self.of_tree({
            "libruntime/src/open_device.cpp": '#include "../../kmod/overtake_drv.h"\n',
            "kmod/overtake_drv.h": "",
        })
        self.assertEqual(result.returncode, 1)
        self.assertIn("libruntime includes nothing of kmod", result.stderr)

    def test_a_folder_without_a_place_is_a_fault(self):
        result = self.of_tree({
            "tools/painter/paint.cpp": '#include "compiler/ir/graph.hpp"\n',
            "tools/compiler/ir/graph.hpp": "",
        })
        self.assertEqual(result.returncode, 1)
        self.assertIn("has no place for tools/painter", result.stderr)


if __name__ == "__main__":
    unittest.main()
