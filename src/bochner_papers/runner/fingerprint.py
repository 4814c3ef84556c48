"""Hash of the code behind an experiment's numbers: the same on every version of Python."""

import ast
import hashlib
import importlib.util
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

_Definition = tuple[str, str]  # a module's name, and a name that it defines
_LAYOUT = {"COMMENT", "NL", "INDENT", "DEDENT", "ENDMARKER"}


def run_fingerprint(module: str, version: str) -> str:
    """Return the hash of the code that ``run`` of a module uses, and of the library's version.

    It covers ``run`` and the functions, classes and constants that ``run`` uses, in its own file
    and in other files of its package. Claims, verdicts, figures and lists of cases do not count,
    and neither do comments, docstrings, blank lines and line breaks inside brackets.  ``module`` is
    the name of a module, or the path of a file, whose imports are then not followed.
    """
    root = module.rpartition(".")[0] + "."
    files: dict[str, _Source] = {}
    used: dict[_Definition, str] = {}
    waiting: list[_Definition] = [(module, "run")]
    while waiting:
        file, name = definition = waiting.pop()
        if file not in files:
            files[file] = _Source(file)
        if definition not in used:
            used[definition], further = files[file].definition(name)
            waiting += further
    text = "\n".join(
        f"{file.removeprefix(root)} {name}\n{used[file, name]}" for file, name in sorted(used)
    )
    return hashlib.sha256(f"{version}\n{text}".encode()).hexdigest()[:12]


class _Source:
    """File of the package: its top-level statements by the names that they define."""

    def __init__(self, module: str):
        package = module.rpartition(".")[0]
        source = _source_file(module).read_text(encoding="utf-8")
        self.module = module
        self.lines = list(token_lines(source))
        self.statements: dict[str, list[ast.stmt]] = {}
        self.imports: dict[str, _Definition] = {}  # (file, "") for a whole file
        for statement in ast.parse(source).body:
            if isinstance(statement, ast.ImportFrom) and statement.level == 1:
                for alias in statement.names:
                    file = f"{package}.{statement.module or alias.name}"
                    self.imports[alias.asname or alias.name] = (
                        file,
                        alias.name if statement.module else "",
                    )
            else:
                for name in _defined_names(statement):
                    self.statements.setdefault(name, []).append(statement)

    def definition(self, name: str) -> tuple[str, list[_Definition]]:
        """Return the tokens of the statements that define a name, and the definitions they use."""
        if name in self.imports:
            return "", [self.imports[name]]
        text, used = "", []
        for statement in self.statements.get(name, []):
            decorators = getattr(statement, "decorator_list", [])
            first = min(node.lineno for node in [statement, *decorators])
            last = statement.end_lineno or first
            text += "".join(line for number, line in self.lines if first <= number <= last)
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and node.id in self.statements:
                    used.append((self.module, node.id))
                elif isinstance(node, ast.Name) and node.id in self.imports:
                    used.append(self.imports[node.id])
                elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    file, entry = self.imports.get(node.value.id, ("", "-"))
                    used += [] if entry else [(file, node.attr)]  # protocol.split
        return text, used


def _source_file(module: str) -> Path:
    """Return the path of a module, which may be given by its path."""
    if module.endswith(".py"):
        return Path(module)
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise OSError(f"{module} has no source file.")
    return Path(spec.origin)


def _defined_names(statement: ast.stmt) -> set[str]:
    """Return the names that a statement of a module defines or, by setting an item, changes."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    stored = [
        node for node in ast.walk(statement) if isinstance(getattr(node, "ctx", None), ast.Store)
    ]
    return {name.id for node in stored for name in ast.walk(node) if isinstance(name, ast.Name)}


def token_lines(source: str) -> Iterator[tuple[int, str]]:
    """Yield the number of each logical line and its tokens, after the column of the first one.

    Lines that are a string alone are docstrings and left out.
    """
    line: list[tuple[str, tuple[int, int], str]] = []
    for token in _tokens(source):
        if token[0] not in _LAYOUT:
            line.append(token)
        if token[0] == "NEWLINE":
            kind, (number, column), _ = line[0]
            if kind != "STRING" or len(line) > 2:
                yield number, " ".join([str(column), *(text for _, _, text in line[:-1]), "\n"])
            line = []


def _tokens(source: str) -> Iterator[tuple[str, tuple[int, int], str]]:
    """Yield type, start and text of each token; an f-string is one token, as before Python 3.12."""
    lines = io.StringIO(source).readlines()
    starts: list[tuple[int, int]] = []  # of f-strings, which may stand inside each other
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        kind = tokenize.tok_name[token.type]
        if kind == "FSTRING_START":
            starts.append(token.start)
        elif kind == "FSTRING_END":
            (row, column), (last_row, end) = starts.pop(), token.end
            if not starts:
                text = "".join([*lines[row - 1 : last_row - 1], lines[last_row - 1][:end]])
                yield "STRING", (row, column), text[column:]
        elif not starts:
            yield kind, token.start, token.string
