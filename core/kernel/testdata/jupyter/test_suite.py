"""Jupyter's own suite for kernels, on the kernel of lab."""

import unittest

import jupyter_kernel_test

del jupyter_kernel_test.IopubWelcomeTests  # a message that kernels may leave out


class LabTests(jupyter_kernel_test.KernelTests):
    kernel_name = "lab"
    language_name = "tengo"
    file_extension = ".tengo"

    code_hello_world = 'print("hello, world")'
    code_stderr = "7/2"  # warns of the division
    code_generate_error = "undefined + 1"
    code_inspect_sample = "print"
    code_execute_result = [
        {"code": "1 + 2", "result": "3"},
        {"code": '"a" + 1', "result": '"a1"'},
        {"code": "x := [1, 2.5]\nx", "result": "[1, 2.5]"},
    ]
    code_display_data = [
        {"code": "show(1)", "mime": "text/plain"},
        {
            "code": 'import("plot").reshape([import("lab").model().next("The").apply("top_p:0.9")]).title\n'
            'show(import("plot").reshape([import("lab").model().next("The").apply("top_p:0.9")]))',
            "mime": "image/png",
        },
        {"code": 'show(import("table").of({x: [1]}))', "mime": "text/html"},
    ]
    completion_samples = [
        {"text": "unde", "matches": {"undefined"}},
        {"text": 'import("lab").mod', "matches": {"model"}},
        {"text": 'import("lab").model().next("é").entropy', "matches": {"entropy_bits"}},
    ]
    complete_code_samples = ["", "1", "x := 1", "f := func() {\n\treturn 1\n}"]
    incomplete_code_samples = ["if x {", "f(", "x := `a", "/* a", "1 +"]
    invalid_code_samples = ["1 2", "f(1))", 'x := "a']
    supported_history_operations = ("tail", "range", "search")
    code_history_pattern = "1 +*"

    # What the kernel does not offer is not tested; anything else must not skip.
    def test_pager(self):
        pass

    def test_clear_output(self):
        pass


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    assert not result.skipped, result.skipped
    raise SystemExit(not result.wasSuccessful())
