#!/usr/bin/env python3
"""Writes the C doors, their version scripts and the internal twins out of the public headers.

The public headers are the only list of functions. For each function a door holds a one-line forward
to the function of the same name in hccl::api (declared in src/api/api.h) or hccl::acl
(src/runtime/acl_api.h). All outputs are checked in; --check tells whether they are up to date.
"""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLLECTIVES = ["hccl/hccl.h"]
MANAGEMENT = ["hccl/hccl_comm.h", "hccl/hcom.h", "hccl/hccl_rank_graph.h",
              "hccl/hccl_sym_win.h", "hccl/hccl_res.h"]
RUNTIME = ["acl/acl_base.h", "acl/acl.h", "acl/acl_rt.h", "acl/acl_prof.h"]
NOTICE = "// Made by src/doors/generate.py out of the public headers: do not edit.\n"


class Function:
    def __init__(self, result, name, parameters):
        self.result = result
        self.name = name
        self.parameters = [] if parameters == "void" else parameters.split(", ")

    def arguments(self):
        return ", ".join(re.search(r"(\w+)$", p).group(1) for p in self.parameters)

    def prototype(self):
        return f"{self.result} {self.name}({', '.join(self.parameters)})"


def parse(header):
    """The functions that a header declares, in order; inline ones are not declarations."""
    text = (ROOT / "include" / header).read_text()
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"^\s*#.*?(?<!\\)$", "", text, flags=re.M)
    text = re.sub(r"\b(ACL_FUNC_VISIBILITY|HCOMM_WEAK_SYMBOL)\b", " ", text)
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r" \*", "* ", text).replace("*  ", "* ").replace("* *", "**")
    pattern = r"(?:^|[;}{]) ?((?:const )?\w+\*? )((?:Hccl|Hcom|acl)\w+)\(([^()]*)\) ?(?=;)"
    return [Function(m.group(1).strip(), m.group(2), m.group(3).strip())
            for m in re.finditer(pattern, text)]


def wrap(line, indent):
    """Breaks a line of C at commas so that no line is longer than 100 columns."""
    lines, current = [], line
    while len(current) > 100:
        cut = current.rfind(", ", 0, 100)
        lines.append(current[:cut + 1])
        current = " " * indent + current[cut + 2:]
    return "\n".join(lines + [current])


def declarations(headers, namespace, guard_text):
    out = [NOTICE, guard_text, "#pragma once\n\n"]
    out += [f'#include "{h}"\n' for h in headers]
    out.append(f"\nnamespace {namespace} {{\n")
    for header in headers:
        functions = parse(header)
        if functions:
            out.append(f"\n// {header}\n")
        out += [wrap(f.prototype() + ";", 4) + "\n" for f in functions]
    out.append(f"\n}}  // namespace {namespace}\n")
    return "".join(out)


def door(headers, namespace, include, text):
    out = [NOTICE, text, '#include "src/doors/door.h"\n', f'#include "{include}"\n',
           "\nextern \"C\" {\n"]
    for header in headers:
        for f in parse(header):
            kind = {"HcclResult": "HCCL_DOOR", "aclError": "ACL_DOOR"}.get(f.result)
            call = f"{namespace}::{f.name}({f.arguments()})"
            body = f"{kind}({call})" if kind else f"return {call};"
            out.append("\n" + wrap(f.prototype() + " {", 4) + "\n")
            out.append(wrap(f"  {body}", 6) + "\n}\n")
    out.append("\n}  // extern \"C\"\n")
    return "".join(out)


def version_script(headers):
    names = sorted(f.name for h in headers for f in parse(h))
    lines = "".join(f"    {n};\n" for n in names)
    return "{\n  global:\n" + lines + "  local:\n    *;\n};\n"


def outputs():
    all_hccl = COLLECTIVES + MANAGEMENT
    return {
        "src/api/api.h": declarations(
            all_hccl, "hccl::api",
            "// What src/api implements: the public HCCL functions, behind the doors. Contracts stand in the\n"
            "// public headers. Only src/api and src/doors include this file. Call these functions qualified\n"
            "// (hccl::api::X), for argument-dependent look-up also finds the public ones.\n"),
        "src/runtime/acl_api.h": declarations(
            RUNTIME, "hccl::acl",
            "// What src/runtime implements: the public acl functions, behind the door. Contracts stand in the\n"
            "// public headers. Call these functions qualified (hccl::acl::X).\n"),
        "src/doors/hccl.cc": door(all_hccl, "hccl::api", "src/api/api.h",
                                  "// libhccl: every Hccl and Hcom function.\n"),
        "src/doors/hcomm.cc": door(MANAGEMENT, "hccl::api", "src/api/api.h",
                                   "// libhcomm: communicator management.\n"),
        "src/doors/ascendcl.cc": door(RUNTIME, "hccl::acl", "src/runtime/acl_api.h",
                                      "// libascendcl: the acl functions.\n"),
        "src/doors/hccl.map": version_script(all_hccl),
        "src/doors/hcomm.map": version_script(MANAGEMENT),
        "src/doors/ascendcl.map": version_script(RUNTIME),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail when outdated")
    parser.add_argument("--list", choices=["hccl", "hcomm", "ascendcl"],
                        help="print the functions of one door")
    options = parser.parse_args()
    if options.list:
        lists = {"hccl": COLLECTIVES + MANAGEMENT, "hcomm": MANAGEMENT, "ascendcl": RUNTIME}
        print("\n".join(sorted(f.name for h in lists[options.list] for f in parse(h))))
        return 0
    outdated = []
    for path, text in outputs().items():
        file = ROOT / path
        if file.exists() and file.read_text() == text:
            continue
        outdated.append(path)
        if not options.check:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    if options.check and outdated:
        print("outdated, run src/doors/generate.py:", *outdated, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
