#!/usr/bin/env python3
"""Files of a folder are compiled several as one (PACELINE_UNITY), in groups that change as files come and go. So that this never
matters, a name that is a file's own may be in no other file of its folder, and the name of a type that is a file's own in no header
that the folder includes; nor may a function that is a file's own hide one of a header from another file that calls it. An argument
that converts to what the wrong one takes, as JSON does, would let that compile."""
import collections
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMPILED = "src", "tests", "runtime/cpp/src"  # whose files are compiled several as one
TYPE = re.compile(r"^(?:struct|class|enum(?: class)?) (\w+)\b(?!;)|^using (\w+) =", re.M)
VARIABLE = re.compile(r"^(?:inline )?(?:constexpr|const|thread_local|static) [^()\n=]*?\b(\w+)(?:\[[^]]*\])?\s*(?:=|\{|;)", re.M)
MORE = re.compile(r",\s*(k[A-Z]\w*)\s*(?:=|\{)")
FUNCTION = re.compile(r"^(?!constexpr k|return|using|struct|class|enum|namespace|template|static_assert)"
                      r"\w[\w:<>,&*\[\] ]*?[ &*](\w+)\(([^;{}]*?)\)(?: const)?(?: noexcept)? \{", re.M)
DECLARED = re.compile(r"^(?!return|using|struct|class|enum|namespace|template|static_assert|friend)\w[\w:<>,&*\[\] ]*?[ &*](\w+)\(", re.M)


def own_parts(text):
    """What stands in unnamed namespaces at the outermost level of a file."""
    parts, inside, kept = [], False, []
    for line in text.splitlines():
        if line == "namespace {":
            inside, kept = True, []
        elif inside and line.startswith("}  // namespace"):
            inside = False
            parts.append("\n".join(kept))
        elif inside:
            kept.append(line)
    return "\n".join(parts)


def types_of(parameters):
    """The types of a list of parameters, roughly: names and defaults gone."""
    types = []
    for parameter in re.split(r",(?![^<]*>)", parameters):
        types.append(re.sub(r"\s*=.*$", "", re.sub(r"\b\w+$", "", re.sub(r"\s*=.*$", "", parameter.strip()))).strip())
    return ", ".join(types)


def own_names(text):
    """Of one file: {name as it may clash: what it is}."""
    own = own_parts(text)
    names = {}
    for match in TYPE.finditer(own):
        alias = own[match.start():own.index("\n", match.start())] if match.group(2) else ""
        names[match.group(1) or match.group(2)] = "type " + alias
    for match in VARIABLE.finditer(own):
        names[match.group(1)] = "value"
    for line in own.splitlines():
        if line.startswith("constexpr"):
            names.update((name, "value") for name in MORE.findall(line))
    for match in FUNCTION.finditer(own):
        names[f"{match.group(1)}({types_of(match.group(2))})"] = "function"
    return names


def included(files, headers):
    """Those of the headers that the files include, directly or through others."""
    found, left = {}, list(files.values())
    while left:
        for path in re.findall(r'^#include "([^"]+)"', left.pop(), re.M):
            if path in headers and path not in found:
                found[path] = headers[path]
                left.append(headers[path])
    return found


def clashes(files, headers):
    """files: {path: text} of one folder; headers: {path as it is included: text}. Sentences."""
    where = collections.defaultdict(list)
    for path, text in sorted(files.items()):
        for name, kind in own_names(text).items():
            where[name].append((path, kind))
    public = collections.defaultdict(list)
    for path, text in included(files, headers).items():
        for match in re.finditer(r"^(?:struct|class|enum(?: class)?) (\w+)\b(?!;)|^using (\w+) =|^inline constexpr [^=({\n]*\b(\w+)\s*[={(]", text, re.M):
            public[match.group(1) or match.group(2) or match.group(3)].append(path)
    declared = {match.group(1): path for path, text in included(files, headers).items() for match in DECLARED.finditer(text)}
    said = []
    for name, places in sorted(where.items()):
        function = name.split("(")[0]
        if places[0][1] == "function" and function in declared:
            callers = [path for path, text in sorted(files.items())
                       if path != places[0][0] and re.search(rf"\b{function}\(", own_parts(text))]
            if callers:
                said.append(f"{name} of {places[0][0]} hides that of {declared[function]} from {', '.join(callers)}")
        if len(places) > 1 and not (places[0][1].startswith("type using") and len({kind for _, kind in places}) == 1):
            said.append(f"{name} is in {', '.join(path for path, _ in places)}")
        path, kind = places[0]
        if kind != "function" and name in public:
            said.append(f"{name} of {path} is in {', '.join(public[name])}")
    return said


def types_of_header(text):
    """(namespace, name) of each type that a header defines at the outermost level of its namespace."""
    namespace = re.search(r"^namespace ([\w:]+) \{", text, re.M)
    names = re.findall(r"^(?:template <[^\n]*>\n)?(?:struct|class|enum class) (\w+)(?: final)? ?(?:\{|:(?!:))", text, re.M)
    return [(namespace[1] if namespace else "", name) for name in names]


class Names(unittest.TestCase):
    maxDiff = None

    # Two classes of one name in one program are undefined behaviour: the linker keeps one destructor for both.
    def test_a_type_is_defined_once(self):
        defined = collections.defaultdict(list)
        for path in sorted((ROOT / "src").rglob("*.hpp")):
            for name in types_of_header(path.read_text()):
                defined[name].append(str(path.relative_to(ROOT)))
        self.assertGreater(len(defined), 500)
        self.assertEqual({"::".join(name): paths for name, paths in defined.items() if len(paths) > 1}, {})

    def test_a_files_own_names_are_its_own(self):
        headers = {str(path.relative_to(ROOT / top)): path.read_text()
                   for top in COMPILED for path in (ROOT / top).rglob("*.hpp")}
        said = []
        for top in COMPILED:
            for folder in [ROOT / top, *(path for path in (ROOT / top).rglob("*") if path.is_dir())]:
                for test in (False, True):
                    files = {str(path.relative_to(ROOT)): path.read_text() for path in folder.glob("*.cpp")
                             if path.name.endswith("_test.cpp") == test}
                    said += clashes(files, headers)
        self.assertEqual(said, [], "\n" + "\n".join(said))

    def test_clashes_are_seen(self):
        one = "#include \"x.hpp\"\nnamespace a {\nnamespace {\nconstexpr int kMost = 1, kLeast = 2;\nstruct Own {\n};\nint f(int a) {\n}\n}  // namespace\n}\n"
        two = "namespace a {\nnamespace {\nconstexpr int kLeast = 2;\nint f(int b) {\n}\nint f(long b) {\n}\n}  // namespace\n}\n"
        self.assertEqual(clashes({"1.cpp": one, "2.cpp": two}, {"x.hpp": "struct Own {\n"}),
                         ["Own of 1.cpp is in x.hpp", "f(int) is in 1.cpp, 2.cpp", "kLeast is in 1.cpp, 2.cpp"])

    def test_a_function_that_hides_one_of_a_header_is_seen(self):
        one = "namespace a {\nnamespace {\nint f(double done) {\n}\n}  // namespace\n}\n"
        two = "#include \"x.hpp\"\nnamespace a {\nnamespace {\nint g() {\n  return f(json);\n}\n}  // namespace\n}\n"
        header = {"x.hpp": "int f(const Json& job);\n"}
        self.assertEqual(clashes({"1.cpp": one, "2.cpp": two}, header), ["f(double) of 1.cpp hides that of x.hpp from 2.cpp"])
        self.assertEqual(clashes({"1.cpp": one, "2.cpp": two.replace("f(", "h(")}, header), [])


if __name__ == "__main__":
    sys.exit(unittest.main())
