# SPDX-License-Identifier: BSD-3-Clause
"""The checks find what they are there for: each case plants one defect in a small tree."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent
LICENCE = "// SPDX-License-Identifier: BSD-3-Clause\n"


class Tree(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        self.write("tools/layers.toml", (TOOLS / "layers.toml").read_text())
        self.write("src/base/bytes.hpp", LICENCE)
        self.write("src/plan/plan.hpp", LICENCE + '#include "base/bytes.hpp"\n')

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run_check(self, name, *arguments):
        run = subprocess.run([sys.executable, TOOLS / name, *arguments, "--root", self.root],
                             capture_output=True, text=True, check=False)
        return run.returncode, run.stdout + run.stderr


class Includes(Tree):
    def test_an_arrow_that_points_down_is_fine(self):
        self.assertEqual(self.run_check("check_layers", "includes")[0], 0)

    def test_an_arrow_that_points_up_is_named_with_its_line(self):
        self.write("src/base/bytes.hpp", LICENCE + '#include "plan/plan.hpp"\n')
        code, text = self.run_check("check_layers", "includes")
        self.assertEqual(code, 1)
        self.assertIn("src/base/bytes.hpp:2: src/base may not include src/plan", text)

    def test_mpi_below_the_session_is_found(self):
        self.write("src/plan/plan.hpp", LICENCE + "#include <mpi.h>\n")
        code, text = self.run_check("check_layers", "includes")
        self.assertEqual(code, 1)
        self.assertIn("src/plan includes mpi.h", text)

    def test_a_folder_that_the_table_does_not_have_is_found(self):
        self.write("src/knots/knot.hpp", LICENCE)
        self.assertIn("its folder is not in layers.toml", self.run_check("check_layers", "includes")[1])

    def test_a_cycle_in_the_table_is_found(self):
        table = (TOOLS / "layers.toml").read_text().replace('"src/base"          = []', '"src/base" = ["src/plan"]')
        self.write("tools/layers.toml", table)
        code, text = self.run_check("check_layers", "includes")
        self.assertEqual(code, 1)
        self.assertIn("a cycle among", text)


class Links(Tree):
    def archive(self, folder, code):
        source = self.root / f"{folder}.c"
        source.write_text(code)
        subprocess.run(["cc", "-c", source, "-o", source.with_suffix(".o")], check=True)
        subprocess.run(["ar", "crs", self.root / f"{folder}.a", source.with_suffix(".o")], check=True)
        return f"{folder} {self.root}/{folder}.a\n"

    def links(self, graph, archives):
        self.write("build/layers/graph.txt", graph)
        self.write("build/layers/archives.txt", archives)
        return self.run_check("check_layers", "links", "--build", self.root / "build")

    def test_a_declared_edge_outside_the_table_is_found(self):
        archive = self.archive("base", "int base_call(void) { return 1; }")
        code, text = self.links("base: plan\n", archive)
        self.assertEqual(code, 1)
        self.assertIn("src/base declares a dependency on src/plan", text)

    def test_a_symbol_from_above_is_found(self):
        base = self.archive("base", "int plan_call(void); int base_call(void) { return plan_call(); }")
        plan = self.archive("plan", "int plan_call(void) { return 1; }")
        code, text = self.links("base: \nplan: base\n", base + plan)
        self.assertEqual(code, 1)
        self.assertIn("needs plan_call of src/plan", text)

    def test_a_call_of_mpi_below_the_session_is_found(self):
        plan = self.archive("plan", "int MPI_Init(void*, void*); int f(void) { return MPI_Init(0, 0); }")
        code, text = self.links("plan: base\n", plan)
        self.assertEqual(code, 1)
        self.assertIn("needs MPI_Init", text)

    def test_a_symbol_from_below_is_fine(self):
        base = self.archive("base", "int base_call(void) { return 1; }")
        plan = self.archive("plan", "int base_call(void); int f(void) { return base_call(); }")
        self.assertEqual(self.links("base: \nplan: base\n", base + plan)[0], 0)


class Files(Tree):
    def test_a_file_without_the_licence_line_is_found(self):
        self.write("src/base/clock.hpp", "#pragma once\n")
        code, text = self.run_check("check_files")
        self.assertEqual(code, 1)
        self.assertIn("src/base/clock.hpp:1: the first line", text)

    def test_a_file_of_451_lines_is_found_and_one_of_450_is_not(self):
        self.write("src/base/long.cpp", LICENCE + "\n" * 450)
        self.write("src/base/fits.cpp", LICENCE + "\n" * 449)
        text = self.run_check("check_files")[1]
        self.assertIn("src/base/long.cpp: 451 lines", text)
        self.assertNotIn("fits.cpp", text)

    def test_a_name_that_says_nothing_is_found(self):
        self.write("src/base/utils.hpp", LICENCE)
        self.assertIn("src/base/utils.hpp: a name that says nothing", self.run_check("check_files")[1])

    def test_a_script_has_its_licence_below_the_first_line(self):
        self.write("tools/run", "#!/bin/sh\n# SPDX-License-Identifier: BSD-3-Clause\n")
        self.assertEqual(self.run_check("check_files")[0], 0)


if __name__ == "__main__":
    unittest.main()
