# SPDX-License-Identifier: MIT
"""Small faults that can be planted in C and C++ sources: mutants("libruntime/src/a.cpp", source).

It reads sources as text: it blanks out comments, literals and preprocessor lines, and finds the bodies of
functions by their braces. Text is enough because clang-format formats the sources: a binary operator has
a space on either side, a template argument has none.

A fault keeps the number of lines, so code with line numbers in it stays as it is.
"""

import dataclasses
import re

RELATIONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
LOGIC = {"&&": "||", "||": "&&"}
ARITHMETIC = {"+": "-", "-": "+", "+=": "-=", "-=": "+="}

# Calls without faults: a program does not rely on them, or the compiler checks them.
IGNORED_CALLS = {"assert", "static_assert", "_Static_assert", "printf", "fprintf", "perror", "fputs"}

FILLER = "\x01"  # stands for the content of a literal: no space, no letter, no operator


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One fault: characters start to end of the file become text."""

    path: str
    operator: str
    start: int
    end: int
    text: str

    def apply(self, source):
        return source[: self.start] + self.text + source[self.end :]

    def line(self, source):
        return source.count("\n", 0, self.start) + 1

    def old(self, source):
        """Returns the lines that change, as one."""
        begin, end = self._lines(source)
        return one_line(source[begin:end])

    def new(self, source):
        begin, end = self._lines(source)
        return one_line(source[begin : self.start] + self.text + source[self.end : end])

    def _lines(self, source):
        begin = source.rfind("\n", 0, self.start) + 1
        end = source.find("\n", self.end)
        return begin, end if end >= 0 else len(source)


def one_line(text):
    return " ".join(text.split())


# Reading

NOT_CODE = re.compile(
    r"""
    (?P<comment> //(?:\\\n|[^\n])* | /\*.*?\*/ )
  | (?P<directive> ^[ \t]*\#(?:\\\n|[^\n])* )
  | (?P<literal> R"(?P<mark>[^(\n]*)\(.*?\)(?P=mark)" | "(?:\\.|[^"\\\n])*" | (?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+' )
    """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)


def masked(source):
    """Returns the source with comments, directives and the content of literals blanked out; its length stays."""

    def blank(match):
        text = match.group()
        if match.group("literal"):
            return text[0] + re.sub(r"[^\n]", FILLER, text[1:-1]) + text[-1]
        return re.sub(r"[^\n]", " ", text)

    return NOT_CODE.sub(blank, source)


def closing(code, position):
    """Returns the position at which the bracket at position is closed."""
    depth = 0
    for place in range(position, len(code)):
        if code[place] in "([{":
            depth += 1
        elif code[place] in ")]}":
            depth -= 1
            if depth == 0:
                return place
    return len(code)


SCOPE = re.compile(r"\b(namespace|class|struct|union|enum)\b[^()=]*$|\bextern\s*\"[^\"]*\"\s*$")


def bodies(code):
    """Yields (start, end) of each function's body, without its braces."""
    position = head = 0
    while position < len(code):
        if code[position] in ";}":
            head = position + 1
        elif code[position] == "{":
            before = code[head:position].strip()
            if SCOPE.search(before):
                head = position + 1
            else:
                end = closing(code, position)
                if "(" in before and not before.endswith("="):
                    yield position + 1, end
                position = end
                # An initialiser belongs to a declaration, which goes on behind it.
                head = end + 1 if not before.endswith("=") else head
        position += 1


def opens_block(code, position):
    """Returns whether the brace at position begins statements rather than the values of an initialiser."""
    before = code[max(0, position - 200) : position]
    if before.endswith(")"):
        return False  # a compound literal: (struct point){ ... }
    before = before.rstrip()
    return not before or before[-1] in ");{}]:" or bool(
        re.search(r"\b(else|do|try|mutable|const|noexcept)$|->\s*[\w:<>&* ]+$", before))


def statements(code, start, end):
    """Yields (start, end) of each statement that ends with a semicolon: with `if (...)` and labels before it,
    without the semicolon."""
    frames = [("block", start)]
    for place in range(start, end):
        char = code[place]
        kind, begin = frames[-1]
        if char in "([":
            frames.append(("brackets", place))
        elif char == "{":
            frames.append(("block" if opens_block(code, place) else "brackets", place + 1))
        elif char in ")]}":
            if len(frames) > 1:
                frames.pop()
            if char == "}" and kind == "block" and frames[-1][0] == "block":
                frames[-1] = ("block", place + 1)
        elif char == ";" and kind == "block":
            yield begin, place
            frames[-1] = ("block", place + 1)


CONTROL = re.compile(r"\s*(?:(?:if(?: constexpr)?|while|for|switch)\s*(?=\()|(?:else|do)\b|case\b[^:]*(?:::[^:]*)*:(?!:)|default\s*:)")


def without_control(code, start, end):
    """Returns (start, end) of the statement itself: behind `if (...)`, `else`, `case 3:` or another label."""
    while match := CONTROL.match(code, start, end):
        start = match.end()
        if code.startswith("(", start):
            start = closing(code, start) + 1
    while start < end and code[start].isspace():
        start += 1
    return start, end


KEYWORDS = r"return|throw|break|continue|goto|using|typedef|delete|new|co_\w+"
DECLARATION = re.compile(
    r"(?!(?:" + KEYWORDS + r")\b)"
    r"(?:(?:static|const|constexpr|struct|enum|union|unsigned|volatile|auto)\b\s*)*"
    r"(?:[\w:]+(?:<[^;=]*>)?(?:::\w+)*[\s*&]+)?(?:const\s+)?[*&]*(?:\w+|\[[^\]]*\])\s*(?:\[[^\]]*\]\s*)*(?=[={(;,]|$)"
)
LEADS_DECLARATION = re.compile(
    r"(?:static|const|constexpr|struct|enum|union|unsigned|volatile|auto)\b"
    r"|(?!(?:" + KEYWORDS + r")\b)[\w:]+(?:<[^;=]*>)?(?:::\w+)*(?:\s+[*&]*|[*&]+\s*)\w+\s*(?:[={(;,\[]|$)"
)


def declared(code, start, end):
    """Returns the position at which a declaration's value begins, behind type and name; None for other statements."""
    if not LEADS_DECLARATION.match(code, start, end):
        return None
    match = DECLARATION.match(code, start, end)
    return match.end() if match else end


def called(code, start, end):
    """Returns the name of the function that a statement calls, or None if it does anything else."""
    match = re.compile(r"[\w:.>*()\[\]-]*?(\w+)\(").match(code, start, end)
    return match.group(1) if match and code[start:end].rstrip().endswith(")") else None


ASSIGNMENT = re.compile(r"[^=;]*?(?:[^=<>!]=(?!=)|<<=|>>=)|(?:\+\+|--)[*\w]|[^=;]*(?:\+\+|--)$")


class Function:
    """The body of one function, and the faults in it."""

    def __init__(self, path, source, code, start, end):
        self.path, self.source, self.code, self.start, self.end = path, source, code, start, end
        self.cplusplus = path.endswith((".cpp", ".hpp"))
        self.spared = []  # spans without faults: declarations, assertions
        self.simple = []  # statements, without `if (...)` and labels before them
        for span in statements(code, start, end):
            span = without_control(code, *span)
            if span[0] < span[1]:
                self._sort(*span)

    def _sort(self, start, end):
        name = called(self.code, start, end)
        value = declared(self.code, start, end)
        if name in IGNORED_CALLS:
            self.spared.append((start, end))
        elif value is not None:
            self.spared.append((start, value))
        else:
            self.simple.append((start, end))

    def mutants(self):
        found = [*self.conditions(), *self.operators(), *self.constants(), *self.deletions(), *self.returns()]
        return [mutant for mutant in found if not self._is_spared(mutant)]

    def _is_spared(self, mutant):
        return any(start <= mutant.start < end for start, end in self.spared)

    def _mutant(self, operator, start, end, text):
        return Mutant(self.path, operator, start, end, text)

    def _matches(self, pattern):
        return re.compile(pattern).finditer(self.code, self.start, self.end)

    def conditions(self):
        for match in self._matches(r"\b(if|while)\s*(?=\()"):
            start = match.end() + 1
            end = closing(self.code, match.end())
            condition = self.code[start:end]
            if ";" in condition or LEADS_DECLARATION.match(condition):
                continue
            text = self.source[start:end]
            yield self._mutant("negate condition", start, end, f"!({text})")
            if match.group(1) == "if":
                yield self._mutant("skip if", start, end, f"({text}) && 0")

    def operators(self):
        for name, table in (("relation", RELATIONS), ("and, or", LOGIC), ("plus, minus", ARITHMETIC)):
            choice = "|".join(re.escape(text) for text in sorted(table, key=len, reverse=True))
            for match in self._matches(rf"(?<=\s)(?:{choice})(?=\s)"):
                yield self._mutant(name, match.start(), match.end(), table[match.group()])

    def constants(self):
        for match in self._matches(r"(?<![\w.'<])(0[xX][0-9a-fA-F]+|\d[\d']*)([uUlLzZ]*)(?![\w.'>])"):
            digits, suffix = match.groups()
            octal = len(digits) > 1 and digits.startswith("0") and digits[1] not in "xX"
            if octal:
                continue
            value = int(digits.replace("'", ""), 0)
            for other in (value + 1, value - 1):
                if other >= 0:
                    text = hex(other) if digits[:2] in ("0x", "0X") else str(other)
                    yield self._mutant("constant", match.start(), match.end(), text + suffix)

    def deletions(self):
        for start, end in self.simple:
            text = self.code[start:end]
            if text.startswith("(void)") or re.match(rf"(?:{KEYWORDS})\b", text):
                continue
            if called(self.code, start, end) or ASSIGNMENT.match(text):
                lines = "\n" * text.count("\n")
                yield self._mutant("delete statement", start, end + 1, ";" + lines)

    def returns(self):
        for start, end in self.simple:
            match = re.match(r"return\s+", self.code[start:end])
            if not match:
                continue
            begin = start + match.end()
            value = self.source[begin:end].strip()
            lines = "\n" * self.source.count("\n", begin, end)
            other = self._other_value(value)
            if other != value:
                yield self._mutant("return value", begin, end, other + lines)

    def _other_value(self, value):
        swap = {"true": "false", "false": "true", "0": "1"}
        if value in swap:
            return swap[value]
        if value in ("NULL", "nullptr", "{}"):
            return value
        return "{}" if self.cplusplus else "0"


def mutants(path, source):
    """Returns all faults of a file, in the order of their places."""
    code = masked(source)
    found = {}
    for start, end in bodies(code):
        for mutant in Function(path, source, code, start, end).mutants():
            # Two operators may make the same fault: return 1 for return 0.
            found.setdefault((mutant.start, mutant.end, mutant.text), mutant)
    return [found[place] for place in sorted(found)]


# Faults that do not change the program

@dataclasses.dataclass(frozen=True)
class Equivalent:
    """A fault that no test can notice, and why."""

    path: str
    old: str
    new: str
    reason: str


def read_equivalents(text, name):
    """Returns the entries of a list: a file's name, `- old line`, `+ new line`, `= reason`; blank lines between."""
    entries = []
    for block in re.split(r"\n\s*\n", "\n".join(line for line in text.splitlines() if not line.startswith("#"))):
        lines = block.strip().splitlines()
        if not lines:
            continue
        if len(lines) < 4 or [line[:2] for line in lines[1:4]] != ["- ", "+ ", "= "]:
            raise ValueError(f"{name}: the entry that begins with '{lines[0]}' is not a file, '- old line', "
                             "'+ new line' and '= reason'")
        reason = " ".join([lines[3][2:], *(line.strip() for line in lines[4:])])
        entries.append(Equivalent(lines[0].strip(), one_line(lines[1][2:]), one_line(lines[2][2:]), reason))
    return entries


def key_of(mutant, source):
    return mutant.path, mutant.old(source), mutant.new(source)
