# SPDX-License-Identifier: MIT
"""Which faults scripts/mutation.py finds in a source, and which it leaves alone."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import mutation  # noqa: E402


def changes(source, operator=None, path="a.c"):
    """(old, new) of the faults of this kind, in the order of their places."""
    return [(mutant.old(source), mutant.new(source)) for mutant in mutation.mutants(path, source)
            if operator in (None, mutant.operator)]


def in_function(text):
    return "static int f(int a, int b)\n{\n" + text + "\n}\n"


class Operators(unittest.TestCase):
    def check(self, text, operator, *expected, path="a.c"):
        self.assertEqual(changes(in_function(text), operator, path), list(expected))

    def test_a_condition_is_negated(self):
        self.check("if (a && (b))\ng();", "negate condition", ("if (a && (b))", "if (!(a && (b)))"))
        self.check("while (a)\ng();", "negate condition", ("while (a)", "while (!(a))"))

    def test_a_body_is_skipped(self):
        self.check("if (a) {", "skip if", ("if (a) {", "if ((a) && 0) {"))
        self.check("while (a)\ng();", "skip if")

    def test_a_condition_that_declares_is_left_alone(self):
        self.check("if (const int c = g())\nh();", "negate condition", path="a.cpp")
        self.check("if (auto* c = g(); c)\nh();", "skip if", path="a.cpp")

    def test_relations(self):
        for old, new in (("<", "<="), ("<=", "<"), (">", ">="), (">=", ">"), ("==", "!="), ("!=", "==")):
            self.check(f"a = b {old} c;", "relation", (f"a = b {old} c;", f"a = b {new} c;"))

    def test_an_operator_at_the_end_of_a_line(self):
        self.check("a = b &&\nc;", "and, or", ("a = b &&", "a = b ||"))

    def test_shifts_arrows_templates_and_references_are_no_relations(self):
        self.check("a = b << 2;\nc->d = e >> 1;\nstd::vector<int> v;\nfor (auto&& x : y)\ng();", "relation", path="a.cpp")
        self.check("for (auto&& x : y)\ng();", "and, or", path="a.cpp")

    def test_plus_and_minus(self):
        self.check("a = b + c;", "plus, minus", ("a = b + c;", "a = b - c;"))
        self.check("a -= b;", "plus, minus", ("a -= b;", "a += b;"))
        self.check("a = -b;\na++;", "plus, minus")

    def test_constants_are_off_by_one(self):
        self.check("a = 8u;", "constant", ("a = 8u;", "a = 7u;"), ("a = 8u;", "a = 9u;"))
        self.check("a = 0;", "constant", ("a = 0;", "a = 1;"))
        self.check("a = 0xff;", "constant", ("a = 0xff;", "a = 0x100;"), ("a = 0xff;", "a = 0xfe;"))
        self.check("a = 1'000;", "constant", ("a = 1'000;", "a = 1001;"), ("a = 1'000;", "a = 999;"), path="a.cpp")

    def test_digits_of_names_fractions_octals_and_templates_are_no_constants(self):
        self.check("a8 = b(x2, 1.5f, 1e9, 0644);\nc = g<4>(d);", "constant", path="a.cpp")

    def test_calls_and_assignments_are_deleted(self):
        self.check("g(a);", "delete statement", ("g(a);", ";"))
        self.check("a->b.c(d);", "delete statement", ("a->b.c(d);", ";"))
        self.check("a->b = c;", "delete statement", ("a->b = c;", ";"))
        self.check("*a += b;", "delete statement", ("*a += b;", ";"))
        self.check("++*a;", "delete statement", ("++*a;", ";"))
        self.check("a++;", "delete statement", ("a++;", ";"))

    def test_what_leads_to_a_deleted_statement_stays(self):
        self.check("if (a)\n\tg(a);\nelse\n\th(b);", "delete statement", ("g(a);", ";"), ("h(b);", ";"))
        self.check("switch (a) {\ncase 1: g(a);\n}", "delete statement", ("case 1: g(a);", "case 1: ;"))
        self.check("for (a = 0; a < b; a++)\n\tg(a);", "delete statement", ("g(a);", ";"))

    def test_a_statement_of_several_lines_leaves_as_many(self):
        source = in_function("g(a,\n  b);\nh(a);")
        for mutant in mutation.mutants("a.c", source):
            self.assertEqual(mutant.apply(source).count("\n"), source.count("\n"))
        self.assertEqual(changes(source, "delete statement"), [("g(a, b);", ";"), ("h(a);", ";")])

    def test_statements_of_a_lambda(self):
        self.check("run([&] {\n\tg(a);\n});", "delete statement",
                   ("run([&] { g(a); });", ";"), ("g(a);", ";"), path="a.cpp")

    def test_jumps_and_throws_are_not_deleted(self):
        self.check("break;\ncontinue;\ngoto out;\nthrow Error(a);\n(void)a;", "delete statement", path="a.cpp")

    def test_returned_values(self):
        self.check("return a * b;", "return value", ("return a * b;", "return 0;"))
        self.assertEqual(changes(in_function("return 0;")), [("return 0;", "return 1;")])
        self.check("return true;", "return value", ("return true;", "return false;"))
        self.check("return g(a);", "return value", ("return g(a);", "return {};"), path="a.cpp")
        self.check("return;\nreturn NULL;", "return value")


class LeftAlone(unittest.TestCase):
    def test_comments_literals_and_directives(self):
        text = '/* a < b */ // c && d\n#if A == 1\n#define B \\\n\t(1 + 2)\n#endif\ng("a + 1", \'1\');'
        self.assertEqual(changes(in_function(text)), [('g("a + 1", \'1\');', ";")])

    def test_raw_strings(self):
        text = 'g(R"(if (a < 1) b();)");'
        self.assertEqual(changes(in_function(text), path="a.cpp"), [(text, ";")])

    def test_what_is_outside_of_functions(self):
        source = ("static const int table[] = { 1, 2 + 3 };\nenum { A = 1 };\nstatic_assert(sizeof(int) == 4);\n"
                  "namespace n {\nclass C {\npublic:\n    int a = 1;\n    int b_[4];\n};\n}\n")
        self.assertEqual(changes(source, path="a.cpp"), [])

    def test_functions_of_namespaces_and_classes_are_inside(self):
        source = "namespace n {\nclass C : public B {\n    int f() const override {\n        return a_ + 0;\n    }\n};\n}\n"
        self.assertIn(("return a_ + 0;", "return a_ - 0;"), changes(source, path="a.cpp"))

    def test_a_function_behind_a_table(self):
        source = "static const struct {\n\tint a;\n} t[] = {\n\t{ 1 },\n};\n\nint f(void)\n{\n\treturn 0;\n}\n"
        self.assertEqual(changes(source), [("return 0;", "return 1;")])

    def test_assertions_and_messages(self):
        text = 'assert(a < b);\nstatic_assert(A == 1);\nfprintf(stderr, "x", a + b);'
        self.assertEqual(changes(in_function(text)), [])

    def test_declarations_but_not_their_values(self):
        text = "unsigned int c[4], d;\nstruct x *e;\nu8 f[2][8];\nstd::array<int, 4> g;\nint h = a + 0;"
        self.assertEqual(changes(in_function(text), path="a.cpp"),
                         [("int h = a + 0;", "int h = a - 0;"), ("int h = a + 0;", "int h = a + 1;")])

    def test_declarations_are_not_deleted(self):
        for text in ("std::vector<int> c(a);", "const auto d = [&](int x) { return x; };", "auto& [e, f] = g(a);",
                     "struct x y = { .z = a };", "Tensor* t = g();"):
            self.assertEqual(changes(in_function(text), "delete statement", "a.cpp"), [], text)


class Equivalents(unittest.TestCase):
    LIST = ROOT / "tests/mutants/equivalent"

    def test_an_entry_is_read(self):
        entries = mutation.read_equivalents("# why\n\na.c\n- if (a  < b)\n+ if (a <= b)\n= they are\n  never equal\n", "x")
        self.assertEqual(entries, [mutation.Equivalent("a.c", "if (a < b)", "if (a <= b)", "they are never equal")])

    def test_an_entry_without_a_reason_is_refused(self):
        with self.assertRaisesRegex(ValueError, "'a.c'"):
            mutation.read_equivalents("a.c\n- b\n+ c\n", "x")

    def test_each_entry_is_a_fault_of_the_sources_as_they_are(self):
        for entry in mutation.read_equivalents(self.LIST.read_text(encoding="utf-8"), self.LIST):
            source = (ROOT / entry.path).read_text(encoding="utf-8")
            self.assertIn((entry.old, entry.new), changes(source, path=entry.path), entry.path)


if __name__ == "__main__":
    unittest.main()
