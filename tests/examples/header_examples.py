"""Writes a test of the examples in headers: header_examples.py OUT.cpp [HEADER…]

A line `//   EXPRESSION == VALUE` above a header's `#pragma once` is a claim, which the test holds the source to. It runs
with the lines before it in the same example. Two blanks end a claim; what follows is said beside it."""
import pathlib
import re
import sys

SRC = pathlib.Path(__file__).resolve().parents[2] / "src"
CLAIM = re.compile(r"(?! *(?:if|while|for)\b)(\S.*? +== .+?)(?:  .*)?(?<!;)$")


def examples(text):
    """The indented blocks of the comment that begins a header, as lists of lines."""
    block = []
    for line in text.partition("#pragma once")[0].splitlines():
        if line.startswith("//   "):
            block.append(line[5:])
        elif block:
            yield block
            block = []
    if block:
        yield block


def body(block):
    """The statements of a test; nothing if the block claims nothing."""
    claims = [CLAIM.match(line) for line in block]
    if not any(claims):
        return []
    return [f"  EXPECT_TRUE({claim[1]});" if claim else f"  {line}" for line, claim in zip(block, claims)]


def tests(headers):
    for header in headers:
        path = header.relative_to(SRC)
        name = "".join(word.capitalize() for word in re.split(r"\W|_", str(path.with_suffix(""))))
        bodies = [lines for lines in map(body, examples(header.read_text())) if lines]
        for number, lines in enumerate(bodies, 1):
            yield path, "\n".join([f"TEST(HeaderExamples, {name}{number}) {{", *lines, "}"])


def main(out, *headers):
    found = list(tests(map(pathlib.Path, headers) if headers else sorted(SRC.rglob("*.hpp"))))
    includes = "\n".join(f'#include "{path}"' for path in dict.fromkeys(path for path, _ in found))
    text = "\n\n".join(text for _, text in found)
    pathlib.Path(out).write_text(
        f"#include <gtest/gtest.h>\n\n#include <cerrno>\n\n{includes}\n\n"
        f"namespace paceline {{\nusing namespace agent;\nusing namespace sim;\n\n{text}\n\n}}  // namespace paceline\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
