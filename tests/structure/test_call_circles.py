# SPDX-License-Identifier: MIT
"""scripts/call-circles finds the sources that call each other, from their object files."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/call-circles"

# Each calls the next one, and the last one none.
CHAIN = {
    "upper": "void middle(void); void upper(void) { middle(); }",
    "middle": "void lower(void); void middle(void) { lower(); }",
    "lower": "void lower(void) {}",
}


class CallCircles(unittest.TestCase):
    def of_sources(self, sources, *options, without_object=None):
        """Returns the script's output for sources with these texts, by name."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in sources.items():
                path = pathlib.Path(folder, f"{name}.c")
                path.write_text(text)
                if name != without_object:
                    subprocess.run(["cc", "-c", path, "-o", path.with_suffix(".o")], check=True)
            command = [sys.executable, "-B", str(SCRIPT), "--sources", folder, *options, folder]
            return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_sources_in_an_order_pass(self):
        result = self.of_sources(CHAIN)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(result.stdout, "lower -> (none)\nmiddle -> lower\nupper -> middle\n"
                                        "largest circle: 1 of 3 sources\n")
        self.assertEqual(self.of_sources(CHAIN, "--quiet").stdout, "")

    def test_a_circle_of_calls_fails_and_is_named(self):
        result = self.of_sources(CHAIN | {"lower": "void middle(void); void lower(void) { middle(); }"})
        self.assertEqual(result.returncode, 1)
        self.assertIn("largest circle: 2 of 3 sources\n", result.stdout)
        self.assertEqual(result.stderr, "2 sources call each other in a circle, 1 may:\n"
                                        "    lower -> middle: middle\n    middle -> lower: lower\n")

    def test_a_circle_goes_over_any_number_of_sources(self):
        result = self.of_sources(CHAIN | {"lower": "void upper(void); void lower(void) { upper(); }"})
        self.assertEqual(result.returncode, 1)
        self.assertIn("largest circle: 3 of 3 sources\n", result.stdout)

    def test_variables_and_addresses_of_functions_count(self):
        for text in ("extern int setting; int lower(void) { return setting; }",
                     "void middle(void); void (*lower)(void) = middle;"):
            result = self.of_sources(CHAIN | {
                "middle": "extern void *lower; void *taken = &lower; int setting; void middle(void) {}",
                "lower": text,
            })
            self.assertEqual(result.returncode, 1, text)

    def test_a_call_through_a_pointer_does_not_count(self):
        result = self.of_sources(CHAIN | {
            "upper": "extern void (*back)(void); static void own(void) {} void upper(void) { back = own; }",
            "lower": "void (*back)(void); void lower(void) { back(); }",
        })
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_a_source_without_object_is_a_fault(self):
        result = self.of_sources(CHAIN, without_object="middle")
        self.assertEqual(result.returncode, 1)
        self.assertIn("middle.o", result.stderr)


if __name__ == "__main__":
    unittest.main()
