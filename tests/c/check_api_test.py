# SPDX-License-Identifier: BSD-3-Clause
"""check_api finds what it is there for: each case changes one line of the headers or of the table."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
FILES = ("include/glean/glean.hpp", "include/glean/glean.h", "docs/api.md", "include/glean/mesh.hpp", "include/glean/mesh.h",
         "include/glean/input.h", "include/glean/input.hpp", "include/glean/container.hpp", "include/glean/container.h")
FORTRAN = "frontends/fortran"
PYTHON = "frontends/python/glean"


class CheckApi(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        for name in FILES:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / name, self.root / name)
        shutil.copytree(SOURCE / FORTRAN, self.root / FORTRAN)
        shutil.copytree(SOURCE / PYTHON, self.root / PYTHON)

    def change_test(self, folder, old, new):
        """Changes the text wherever it stands in the tests of one language; there are no others, and none at all in the other cases."""
        shutil.copytree(SOURCE / "tests" / folder, self.root / "tests" / folder)
        texts = [(path, path.read_text()) for path in (self.root / "tests").rglob("*.*")]
        self.assertTrue(any(old in text for _, text in texts), old)
        for path, text in texts:
            path.write_text(text.replace(old, new))

    def change(self, name, old, new):
        text = (self.root / name).read_text()
        self.assertIn(old, text)
        (self.root / name).write_text(text.replace(old, new, 1))

    def problems(self):
        run = subprocess.run([sys.executable, "-B", SOURCE / "tools" / "check_api", self.root],
                             capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        return run.stdout

    def test_a_call_that_only_cpp_has(self):
        self.change(FILES[0], "  void end_step();", "  void end_step();\n  void skip_step();")
        self.assertIn("C++ call Output::skip_step is not in docs/api.md", self.problems())

    def test_a_call_that_cpp_lost(self):
        self.change(FILES[0], "  void end_step();", "")
        self.assertIn("C++ call Output::end_step is not in glean.hpp", self.problems())

    def test_a_call_that_only_c_has(self):
        self.change(FILES[1], "/* --- session ---", "/* Local. */\nGLEAN_API int glean_more(void);\n\n/* --- session ---")
        self.assertIn("C call glean_more is not in docs/api.md", self.problems())

    def test_a_row_that_is_gone(self):
        self.change(FILES[2], "| end a step |", "| --- |")
        self.change(FILES[2], "`glean_output_end_step`", "")
        self.assertIn("C call glean_output_end_step is not in docs/api.md", self.problems())

    def test_a_type_that_only_cpp_has(self):
        self.change(FILES[0], "struct OutputOptions {", "struct StepOptions {\n};\n\nstruct OutputOptions {")
        self.assertIn("C++ type StepOptions is not in docs/api.md", self.problems())

    def test_a_call_that_fortran_lost(self):
        self.change(f"{FORTRAN}/outputs.F90", "glean_output_reached, glean_output_close, ", "glean_output_close, ")
        self.assertIn("Fortran call glean_output_reached is not in the Fortran module", self.problems())

    def test_a_call_that_only_fortran_has(self):
        self.change(f"{FORTRAN}/inputs.F90", "public :: glean_input_open,", "public :: glean_input_peek, glean_input_open,")
        self.assertIn("Fortran call glean_input_peek is not in docs/api.md", self.problems())

    def test_a_row_in_which_c_and_fortran_differ(self):
        self.change(FILES[2], "| `glean_output_end_step` | `glean_output_end_step` |", "| `glean_output_end_step` | |")
        self.assertIn("the row 'end a step' has `glean_output_end_step` in C and  in Fortran", self.problems())

    def test_a_number_that_fortran_has_otherwise(self):
        self.change(f"{FORTRAN}/values.F90", "GLEAN_INT8 = 0", "GLEAN_INT8 = 1")
        self.assertIn("GLEAN_INT8 is 0 in C and 1 in Fortran", self.problems())

    def test_a_type_that_fortran_lost(self):
        self.change(f"{FORTRAN}/values.F90", "  type :: glean_statistics", "  type :: statistics")
        self.assertIn("Fortran type glean_statistics is not in the Fortran module", self.problems())

    def test_a_call_that_python_lost(self):
        self.change(f"{PYTHON}/_output.py", "    def reached(self", "    def _reached(self")
        self.assertIn("Python call Output.reached is not in the Python package", self.problems())

    def test_a_call_that_only_python_has(self):
        self.change(f"{PYTHON}/_session.py", "    def close(self)", "    def pause(self): ...\n\n    def close(self)")
        self.assertIn("Python call Session.pause is not in docs/api.md", self.problems())

    def test_a_hole_in_the_column_of_python(self):
        self.change(FILES[2], "| `Step.end` |", "| |")
        self.assertIn("the row 'end a step' has nothing in Python", self.problems())

    def test_an_enumerator_that_python_does_not_have(self):
        self.change(FILES[0], "  vtk,  ", "  vtk, zarr,  ")
        self.assertIn("Format has cdf1, cdf2, cdf5, npy, hdf5, vtkhdf, vtk in Python "
                      "and cdf1, cdf2, cdf5, npy, hdf5, vtkhdf, vtk, zarr in C++", self.problems())

    def test_a_cell_type_that_python_has_otherwise(self):
        self.change(f"{PYTHON}/_grids.py", "    WEDGE = 13", "    WEDGE = 31")
        self.assertIn("CellType wedge is 13 in C++ and 31 in Python", self.problems())

    def test_a_type_that_python_does_not_have(self):
        self.change(FILES[2], "| `CurvilinearGrid` |\n", "| none |\n")
        self.assertIn("the type `CurvilinearGrid` has nothing in Python", self.problems())

    def test_errors_in_another_order(self):
        self.change(f"{PYTHON}/_errors.py", "Overlap, OutOfRange", "OutOfRange, Overlap")
        self.assertIn("Errc has invalid_argument, invalid_state, invalid_config, out_of_range, overlap", self.problems())

    def test_a_member_that_python_does_not_have(self):
        self.change(FILES[0], "  std::uint64_t puts = 0;", "  std::uint64_t puts = 0;\n  std::uint64_t waits = 0;")
        self.assertIn("Statistics has other members in Python: waits", self.problems())

    def test_a_call_that_no_test_makes(self):
        for folder, language, old, new, call in (
                ("c", "C", "glean_output_reached(", "glean_output_done(", "glean_output_reached"),
                ("fortran_api", "Fortran", "glean_output_reached(", "glean_output_done(", "glean_output_reached"),
                ("python", "Python", ".abandon(", ".leave(", "Session.abandon"),
                ("python", "Python", "output.reached(", "file.is_at(", "Output.reached"),
                ("session", "C++", ".reached(", ".is_at(", "Output::reached"),
                ("session", "C++", ".attributes(", ".all(", "Input::attributes")):
            with self.subTest(language=language, call=call):
                self.doCleanups()
                self.setUp()
                self.change_test(folder, old, new)
                self.assertIn(f"no test makes the {language} call {call}\n", self.problems())

    def test_a_call_in_a_comment_is_none(self):
        self.change_test("c", "glean_output_reached(", "other(); // glean_output_reached(")
        self.assertIn("no test makes the C call glean_output_reached\n", self.problems())

    def test_a_hole_without_a_reason(self):
        self.change(FILES[2], "| `Output::fail` | `glean_output_fail` | `glean_output_fail` |",
                    "| `Output::fail` | `glean_output_fail` | none |")
        self.assertIn("the page does not say why Fortran has nothing for `Output::fail`", self.problems())

    def test_a_hole_in_the_column_of_c(self):
        self.change(FILES[2], "| `Output::fail` | `glean_output_fail` |", "| `Output::fail` | |")
        self.assertIn("has nothing in C\n", self.problems())

    def test_a_comment_that_does_not_say_who_calls(self):
        self.change(FILES[1], "the drain starts on it when all ranks have. Local. */", "it starts. */")
        self.assertIn("the comment of glean_output_end_step does not say Local", self.problems())


if __name__ == "__main__":
    unittest.main()
