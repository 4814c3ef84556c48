"""A short hash of the code behind an experiment's numbers, by which results of an earlier version are told apart."""

import ast
import hashlib
import importlib
import importlib.util
from pathlib import Path

_Wanted = tuple[str, str]  # a module's name, and a name in it


def run_fingerprint(module: str, library: str | None = None) -> str:
    """The hash of everything that ``run`` of a module reaches in its package, and of the library's version.

    That is ``run`` itself and the functions, classes and constants that it uses, in its own file and in the files beside it (the protocol of
    a paper, the rivals): not what judges, draws or describes finished results, nor the lists of cases, which a line of results
    holds itself.  Comments, documentation, annotations and layout do not count.
    """
    package = module.rpartition(".")[0]
    files: dict[str, _Source] = {}
    reached: dict[_Wanted, str] = {}
    waiting: list[_Wanted] = [(module, "run")]
    while waiting:
        wanted = waiting.pop()
        if wanted in reached:
            continue
        name, part = wanted
        if name not in files:
            files[name] = _Source(name, package)
        reached[wanted], further = files[name].part(part)
        waiting += further
    text = "\n".join(f"{key}\n{reached[key]}" for key in sorted(reached))
    return hashlib.sha256(f"{_version() if library is None else library}\n{text}".encode()).hexdigest()[:12]


def _version() -> str:
    """Of the library that runs, which need not be the one that is installed."""
    return importlib.import_module(__name__.partition(".")[0]).__version__


class _Source:
    """What a file of the package defines, statement by statement."""

    def __init__(self, module: str, package: str):
        spec = importlib.util.find_spec(module)
        if spec is None or spec.origin is None:
            raise OSError(f"{module} has no source file.")
        self.module = module
        self.statements: dict[str, list[ast.stmt]] = {}
        self.siblings: dict[str, _Wanted] = {}  # names that come from other files of the package
        for statement in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
            if isinstance(statement, ast.ImportFrom) and statement.level == 1:
                for alias in statement.names:
                    source = f"{package}.{statement.module}" if statement.module else package
                    name = alias.asname or alias.name
                    self.siblings[name] = (source, alias.name) if statement.module else (f"{source}.{alias.name}", "")
            else:
                for defined in _defined(statement):
                    self.statements.setdefault(defined, []).append(statement)

    def part(self, name: str) -> tuple[str, list[_Wanted]]:
        """The text of what defines a name, and what it uses in turn; of the empty name, the whole file."""
        if name in self.siblings:  # handed on from another file
            return "", [self.siblings[name]]
        found = self.statements.get(name, []) if name else [s for many in self.statements.values() for s in many]
        found = [_bare(statement) for statement in found]
        further: list[_Wanted] = []
        for node in (node for statement in found for node in ast.walk(statement)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                sibling, entry = self.siblings.get(node.value.id, ("", "-"))
                if entry == "":  # protocol.split: that part of the other file, not all of it
                    further.append((sibling, node.attr))
            elif isinstance(node, ast.Name):
                sibling, entry = self.siblings.get(node.id, ("", ""))
                if entry:
                    further.append((sibling, entry))
                elif node.id in self.statements:
                    further.append((self.module, node.id))
        return "\n".join(map(ast.unparse, found)), further


def _defined(statement: ast.stmt) -> set[str]:
    """The names that a statement of a module defines or, by filling an entry, changes."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    targets: list[ast.expr] = []
    for node in ast.walk(statement):
        if isinstance(node, ast.Assign):
            targets += node.targets
        elif isinstance(node, ast.AnnAssign | ast.AugAssign):
            targets.append(node.target)
    names = (node for target in targets for node in ast.walk(target))
    return {node.id for node in names if isinstance(node, ast.Name)}


def _bare(statement: ast.stmt) -> ast.stmt:
    """A copy without documentation and annotations."""
    copied = _Unannotated().visit(ast.parse(ast.unparse(statement)).body[0])
    for node in ast.walk(copied):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
    return ast.fix_missing_locations(copied)


class _Unannotated(ast.NodeTransformer):
    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if node.value is not None:
            return ast.Assign([node.target], node.value)
        node.annotation = ast.Constant(None)
        return node
