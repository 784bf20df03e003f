# SPDX-License-Identifier: BSD-3-Clause
"""Which calls of docs/api.md occur in a test of their language: what tools/check_api asks.

A test is what is in tests/, and the programs of examples/, which tests run. A name that only one class has is looked for behind any
variable; one that several have (`close`) behind a variable of the class.
"""
import ast
import collections
import re

FOLDERS = ("tests", "examples", "src")
# How a variable of each class comes to be, besides by its type: the member that returns one.
MAKERS = {"Output": "open", "Input": "open_input", "Step": "step", "Variable": "variable", "TaskFile": "create_container",
          "ContainerInput": "open_container", "TaskInput": "open"}
PYTHON_MEMBERS_BY_INDEX = {"Variable": ast.Store, "Input": ast.Load, "InputVariable": ast.Load}


def sources(root, *suffixes):
    """The tests of one language: those in src/ are named …_test."""
    for folder in FOLDERS:
        for suffix in suffixes:
            for path in sorted((root / folder).rglob(f"*{'_test' if folder == 'src' else ''}{suffix}")):
                yield path


def shared(calls):
    """Names of members that several classes have."""
    classes = collections.defaultdict(set)
    for call in calls:
        if re.search(r"\w(::|\.)\w", call):
            class_name, member = re.split(r"::|\.", call)
            classes[member].add(class_name)
    return {member for member, owners in classes.items() if len(owners) > 1}


def found_in_c(root, calls):
    text = "\n".join(re.sub(r"/\*.*?\*/|//[^\n]*", " ", path.read_text(), flags=re.S) for path in sources(root, ".c"))
    return {call for call in calls if re.search(rf"\b{call}\s*\(", text)}


def found_in_fortran(root, calls):
    paths = [*sources(root, ".F90", ".f90", ".inc")]
    text = "\n".join(re.sub(r"!.*", "", path.read_text()) for path in paths if path.suffix != ".inc" or "fortran" in path.parent.name)
    return {call for call in calls if re.search(rf"\b{call}\s*\(", text, flags=re.I)}


def found_in_cpp(root, calls):
    several, found = shared(calls), set()
    for path in sources(root, ".cpp", ".hpp"):
        text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", path.read_text(), flags=re.S)
        for call in calls - found:
            class_name, _, member = call.rpartition("::")
            if not class_name:
                is_there = re.search(rf"\bglean::{member}\(", text)
            elif member.strip("~") == class_name:   # made, and given back where it goes out of scope
                maker = f"|\\.{MAKERS[class_name]}\\(" if class_name in MAKERS else ""
                is_there = re.search(rf"\bglean::{class_name} \w+[({{]|\bglean::{class_name}\({maker}", text)
            elif member not in several:
                is_there = re.search(rf"(\.|->){member}\(", text)
            else:
                names = set(re.findall(rf"\b{class_name}>?\s*&?\s*(\w+)\b", text))
                if class_name in MAKERS:
                    names |= set(re.findall(rf"\b(\w+)\s*=\s*[^;=]*\.{MAKERS[class_name]}\(", text))
                names |= {f"{maker}\\([^;]*\\)" for maker in [MAKERS.get(class_name)] if maker}
                is_there = names and re.search(rf"\b(?:{'|'.join(sorted(names))})(\.|->){member}(<\w+>)?\(", text)
            if is_there:
                found.add(call)
    return found


class PythonUse(ast.NodeVisitor):
    """What one file uses: names, members with the class of their object where it can be seen, and classes that are indexed."""

    def __init__(self):
        self.kinds, self.names, self.members, self.indexed = {}, set(), set(), set()

    def kind(self, node):
        """The class of what an expression is, or None."""
        if isinstance(node, ast.Name):
            called_so = node.id.title().replace("_", "")
            classes = ("Session", "Output", "Input", "Step", "TaskFile", "TaskInput", "ContainerInput")
            return self.kinds.get(node.id, called_so if called_so in classes else None)
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name == "open" and isinstance(called, ast.Attribute) and self.kind(called.value) == "ContainerInput":
                return "TaskInput"
            return next((one for one, maker in MAKERS.items() if maker == name), name.title() if name.title() == "Session" else None)
        if isinstance(node, ast.Subscript) and self.kind(node.value) == "Input":
            return "InputVariable"
        return None

    def bind(self, target, value):
        kind = self.kind(value)
        if isinstance(target, ast.Name) and kind:
            self.kinds[target.id] = kind
        self.names.add(kind)

    def visit_Assign(self, node):
        for target in node.targets:
            self.bind(target, node.value)
        self.generic_visit(node)

    def visit_withitem(self, node):
        if node.optional_vars:
            self.bind(node.optional_vars, node.context_expr)
        self.generic_visit(node)

    def visit_Attribute(self, node):
        self.members |= {(self.kind(node.value), node.attr), (None, node.attr)}
        self.names.add(node.attr)
        self.generic_visit(node)

    def visit_Name(self, node):
        self.names.add(node.id)

    def visit_Subscript(self, node):
        self.names.add(self.kind(node))
        self.indexed.add((self.kind(node.value), type(node.ctx)))
        self.generic_visit(node)


def found_in_python(root, calls):
    several, found = shared(calls), set()
    for path in sources(root, ".py"):
        text = path.read_text()
        if "import glean" not in text and "from glean" not in text and "from ranks import" not in text:
            continue
        use = PythonUse()
        use.visit(ast.parse(text))
        for call in calls - found:
            class_name, _, member = call.rpartition(".")
            if call.endswith("[...]"):
                class_name = call[:-len("[...]")]
                is_there = (class_name, PYTHON_MEMBERS_BY_INDEX[class_name]) in use.indexed
            elif not class_name:
                is_there = member in use.names
            else:
                is_there = ((class_name if member in several else None), member) in use.members
            if is_there:
                found.add(call)
    return found


def missing(root, columns):
    """Calls that no test makes, as "language call"; `columns` has the names of each column of the table."""
    search = {"C++": found_in_cpp, "C": found_in_c, "Fortran": found_in_fortran, "Python": found_in_python}
    return [f"{language} call {call}" for language, find in search.items()
            for call in sorted(columns[language] - find(root, columns[language]))]
