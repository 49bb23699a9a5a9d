"""GCC's sanitizers on C++ operators: planted mistakes are found and named, honest uses of OpenMP are not reported."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from deep500.custom.cpp import CppOp, compile_custom_cppop
from deep500.custom.sanitizing import Finding, sanitized
from deep500.custom.sanitizing.reports import ProgramMemory, TensorMemory, findings
from deep500.errors import Deep500Error, Unsupported

SECONDS = 60
CODE = """
#include <thread>
static float total;
struct op : deep500::CustomOperator {{
    int64_t n;
    const float *last_input = nullptr;
    float scratch[100];
    op(int64_t length) : n(length) {{}}
    void forward(const float *x, float *y) {{
        for (int64_t i = 0; i < n; ++i) y[i] = x[i];
        {code}
    }}
    void backward(const float *dy, const float *x, const float *y, float *dx) {{
        for (int64_t i = 0; i < n; ++i) dx[i] = last_input ? last_input[i] : dy[i] * x[i] * y[i];
    }}
}};
"""

# Which one is chosen by the first element: one program is built for all.
MEMORY = {
    "one past the end": (
        "for (int64_t i = 0; i <= n; ++i) y[i] = 2;",
        "heap-buffer-overflow: op.cpp:{line} writes y[24], and y has 24 elements",
    ),
    "one before the start": (
        "y[0] = x[-1];",
        "heap-buffer-overflow: op.cpp:{line} reads x[-1], and x has 24 elements: ",
    ),
    "a row too far": (
        "y[n + 40] = 1;",
        "heap-buffer-overflow: op.cpp:{line} writes y[64], and y has 24 elements",
    ),
    "a local array": (
        "float part[4]; for (int64_t i = 0; i < n; ++i) part[i] = x[i]; y[0] = part[3];",
        "stack-buffer-overflow: op.cpp:{line} writes outside of the variable part",
    ),
    "after its scope": (
        "const float *p; { float gone[4] = {x[0], x[1]}; p = gone; } y[0] = p[1];",
        "stack-use-after-scope: op.cpp:{line} reads the variable gone",
    ),
    "a vector's spare room": (
        "std::vector<float> v(3); v.reserve(50); v.data()[7] = x[0]; y[0] = v[0];",
        "container-overflow: op.cpp:{line} writes 28 bytes into a block of 200 bytes",
    ),
    "after it was freed": (
        "float *p = new float[9]; delete[] p; p[2] = x[0]; y[0] = p[2];",
        "heap-use-after-free: op.cpp:{line} writes 8 bytes into a block of 36 bytes",
    ),
    "freed twice": (
        "float *p = new float[n]; p[0] = x[0]; y[0] = p[0]; delete[] p; delete[] p;",
        "double-free: op.cpp:{line}: ",
    ),
    "an input of a call that has ended": (
        "last_input = x;",
        " reads x[0] of a call that has ended: for (int64_t i = 0; i < n; ++i) dx[i] = last_input",
    ),
    "a wild pointer": (
        "float *p = (float *) 64; y[0] = *p;",
        "segmentation fault: op.cpp:{line} reads the address 0x40",
    ),
    "abort": ("abort();", "abort: op.cpp:{line}: "),
}
QUICK = ["one past the end", "after its scope"]
SLOW = [name for name in MEMORY if name not in QUICK]
GOES_ON = {
    "signed overflow": (
        "int k = 2147483647; k += int(x[0] >= 0); y[0] = k;",
        "undefined behaviour: op.cpp:{line} signed integer overflow: ",
    ),
    "a shift too far": (
        "y[0] = 1 << (40 + int(x[1]));",
        "undefined behaviour: op.cpp:{line} shift exponent 41 is too large for 32-bit type 'int'",
    ),
    "a leak": (
        "float *p = new float[n]; p[0] = x[0]; y[0] = p[0];",
        "memory leak: op.cpp:{line} takes 288 bytes that are never freed",
    ),
}
LOOP = "for (int64_t i = 0; i < n; ++i) {{ {} }}"
RACES = {
    "an output": (
        "#pragma omp parallel for",
        LOOP.format("y[0] += x[i];"),
        "data race: op.cpp:{line} reads y[0] while another thread writes it at op.cpp:{line}: ",
    ),
    "a dynamic schedule": (
        "#pragma omp parallel for schedule(dynamic)",
        LOOP.format("y[5] += x[i];"),
        "data race: op.cpp:{line} reads y[5] while another thread writes it at op.cpp:{line}: ",
    ),
    "a global variable": (
        "#pragma omp parallel",
        "total += x[omp_get_thread_num()];",
        "data race: op.cpp:{line} reads total while another thread writes it at op.cpp:{line}: ",
    ),
    "a local variable": (
        "float sum = 0; int64_t i; \n #pragma omp parallel for shared(sum)",
        "for (i = 0; i < n; ++i) sum += x[i]; y[0] = sum;",
        "while another thread writes it at op.cpp:{line}: for (i",
    ),
    "no barrier": (
        "#pragma omp parallel\n { int me = omp_get_thread_num(); y[me] = x[me];",
        "if (me) dummy(y[me - 1]); }",
        "data race: op.cpp:",
    ),
    "a critical section on one side only": (
        "#pragma omp parallel\n { if (omp_get_thread_num()) {\n #pragma omp critical\n y[0] += 1;\n }",
        "else y[0] += 2; }",
        "data race: op.cpp:",
    ),
    "two critical sections": (
        "#pragma omp parallel\n { if (omp_get_thread_num() % 2) {\n #pragma omp critical (a)\n y[0] += 1;\n } else {",
        "#pragma omp critical (b)\n y[0] += 2;\n }}",
        "data race: op.cpp:",
    ),
    "tasks": (
        "#pragma omp parallel\n #pragma omp single\n for (int64_t i = 0; i < n; ++i) {\n #pragma omp task",
        "{ y[0] += x[i]; std::this_thread::yield(); } }",
        "data race: op.cpp:",
    ),
    "sections": (
        "#pragma omp parallel sections\n {\n #pragma omp section\n y[1] = 1;\n #pragma omp section",
        "y[1] = 2;\n }",
        "data race: op.cpp:",
    ),
    "threads of its own": (
        "std::thread other([&] { y[2] = 3; });",
        "y[2] = 4; other.join();",
        "data race: op.cpp:",
    ),
    "calls at once": (
        "",
        LOOP.format("scratch[i] = x[i];"),
        "data race between calls: op.cpp:{line} writes a variable that both use while another call of",
    ),
}
HONEST = """
    float shared = 0, sum = 0, largest = -1, by_hand = 0;
    long inside = 0, ordered = -1, wrong = 0;
    double pair[2] = {0, 0};
    #pragma omp parallel for
    for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i];
    #pragma omp parallel for schedule(static, 2) reduction(+: sum) reduction(max: largest)
    for (int64_t i = 0; i < n; ++i) { sum += x[i]; largest = std::max(largest, x[i]); }
    #pragma omp parallel for schedule(dynamic) reduction(+: pair)
    for (int i = 0; i < n; ++i) pair[i % 2] += x[i];
    #pragma omp parallel for schedule(guided, 3)
    for (int64_t i = n - 1; i >= 0; --i) y[i] += 1;
    #pragma omp parallel for schedule(runtime)
    for (uint64_t i = 0; i < uint64_t(n); i += 3) y[i] -= 1;
    #pragma omp parallel for collapse(2) schedule(dynamic, 5)
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < n / 4; ++j) y[i * (n / 4) + j] += 1;
    #pragma omp parallel
    {
        int me = omp_get_thread_num();
        #pragma omp critical
        by_hand += 1;
        #pragma omp critical (other)
        inside += 1;
        #pragma omp atomic
        pair[0] += 1;
        #pragma omp barrier
        #pragma omp single
        inside += 100;
        #pragma omp master
        shared = 5;
        #pragma omp barrier
        if (shared != 5) {
            #pragma omp atomic
            wrong += 1;
        }
        #pragma omp for schedule(dynamic) nowait
        for (int64_t i = 0; i < n; ++i) y[i] += 1;
        #pragma omp for schedule(static, 1)
        for (uint64_t i = n; i > 0; --i) if (me < 0) wrong += 1;
        #pragma omp for ordered schedule(dynamic, 2)
        for (long i = 0; i < n; ++i) {
            #pragma omp ordered
            { if (ordered != i - 1) wrong += 1; ordered = i; }
        }
        #pragma omp for ordered
        for (long i = 0; i < n; ++i) {
            #pragma omp ordered
            ordered -= 1;
        }
        float mine;
        #pragma omp single copyprivate(mine)
        mine = 7;
        if (mine != 7) {
            #pragma omp atomic
            wrong += 1;
        }
        #pragma omp sections
        {
            #pragma omp section
            y[0] += 1;
            #pragma omp section
            y[1] += 1;
            #pragma omp section
            y[2] += 1;
        }
        #pragma omp single
        for (int64_t i = 0; i < n; ++i) {
            #pragma omp task
            y[i] += 1;
        }
        #pragma omp single
        {
            int64_t half = n / 2;
            #pragma omp task shared(half)
            for (int64_t i = 0; i < half; ++i) y[i] += 1;
            #pragma omp task shared(half)
            for (int64_t i = half; i < n; ++i) y[i] += 1;
            #pragma omp taskwait
            for (int64_t i = 0; i < n; ++i) y[i] -= 1;
            #pragma omp taskgroup
            {
                #pragma omp task
                y[0] += 1;
            }
            y[0] -= 1;
            #pragma omp task depend(out: y[0])
            y[0] += 1;
            #pragma omp task depend(in: y[0])
            y[0] -= 1;
            #pragma omp taskloop grainsize(5)
            for (int64_t i = 0; i < n; ++i) y[i] -= 1;
        }
    }
    omp_lock_t lock;
    omp_nest_lock_t nest;
    omp_init_lock(&lock), omp_init_nest_lock(&nest);
    long locked = 0, nested = 0;
    #pragma omp parallel num_threads(3)
    {
        omp_set_lock(&lock);
        locked += 1;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nest), omp_set_nest_lock(&nest);
        nested += 1;
        omp_unset_nest_lock(&nest), omp_unset_nest_lock(&nest);
        #pragma omp parallel for
        for (int64_t i = 0; i < n; ++i) if (omp_get_num_threads() != 1) abort();
    }
    long dummies = 0, last = 0;
    #pragma omp parallel for lastprivate(last) if (n > 1000)
    for (int64_t i = 0; i < n; ++i) last = i;
    std::atomic<int> counter{0};
    std::thread one([&] { ++counter; }), two([&] { ++counter; });
    one.join(), two.join();
    float expected = std::accumulate(x, x + n, 0.0f);
    int all = omp_get_max_threads();
    if (by_hand != all || inside != 100 + all || ordered != -1 || locked != 3 || nested != 3) abort();
    if (sum != expected || float(pair[0] + pair[1]) != expected + all || wrong || last != n - 1) abort();
    for (int64_t i = 0; i < n; ++i)
        if (y[i] != 2 * x[i] + 3 - (i % 3 == 0) + (i < 3)) abort();
    y[0] += largest + counter + dummies;
"""


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEEP500_CACHE", str(folder := tmp_path_factory.mktemp("cache")))
        yield folder


def compiled(folder: Path, code: str, name: str = "op.cpp") -> CppOp:
    (folder / name).write_text(code)
    return compile_custom_cppop("op", folder / name)


def cases(mistakes: dict) -> str:
    """All mistakes in one source; the first element of the input chooses."""
    lines = ["switch (int(x[0])) {"]
    for number, (*code, _) in enumerate(mistakes.values(), 1):
        body = "\n".join(code)
        lines.append(f"case {number}: {{\n {body}\n break; }}")
    dummy = 'static void dummy(float x) { asm volatile("" :: "x"(x)); }'
    return dummy + CODE.format(code="\n".join([*lines, "}"]))


def tried(op: CppOp, chosen: int = 0) -> list[Finding]:
    x = np.ones((4, 6), "float32")
    x[0, 0] = chosen
    return sanitized(op, [x], [x], SECONDS)


def expected(op: CppOp, mistake: tuple[str, ...]) -> str:
    """The text, with the line of the mistake's last piece of code."""
    *_, code, text = mistake
    before = op.source.read_text().partition(code)[0]
    return text.replace("{line}", str(before.count("\n") + 1))


@pytest.fixture(scope="module")
def memory_mistakes(tmp_path_factory: pytest.TempPathFactory) -> CppOp:
    return compiled(tmp_path_factory.mktemp("memory"), cases(MEMORY))


@pytest.fixture(scope="module")
def going_on(tmp_path_factory: pytest.TempPathFactory) -> CppOp:
    return compiled(tmp_path_factory.mktemp("undefined"), cases(GOES_ON))


@pytest.fixture(scope="module")
def races(tmp_path_factory: pytest.TempPathFactory) -> CppOp:
    return compiled(tmp_path_factory.mktemp("races"), cases(RACES))


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]
)
def test_wrong_accesses_are_found(memory_mistakes: CppOp, name: str) -> None:
    number = [*MEMORY].index(name) + 1
    # undefined behaviour may be told before
    *_, finding = tried(memory_mistakes, number)
    assert expected(memory_mistakes, MEMORY[name]) in finding.text
    assert "\n" not in finding.text and 1 < len(finding.report) <= 20


@pytest.mark.slow
@pytest.mark.parametrize("name", GOES_ON)
def test_undefined_behaviour_and_leaks_are_found(going_on: CppOp, name: str) -> None:
    number = [*GOES_ON].index(name) + 1
    (finding,) = tried(going_on, number)
    assert finding.text.startswith(expected(going_on, GOES_ON[name]))


@pytest.mark.slow
@pytest.mark.parametrize("name", RACES)
def test_races_are_found(races: CppOp, name: str) -> None:
    number = [*RACES].index(name) + 1
    found = tried(races, number)
    assert expected(races, RACES[name]) in found[0].text
    assert {finding.kind for finding in found} <= {
        "data race",
        "data race between calls",
    }


@pytest.mark.slow
def test_the_same_operators_without_their_mistakes(
    memory_mistakes: CppOp, going_on: CppOp, races: CppOp
) -> None:
    for op in (memory_mistakes, going_on, races):
        assert tried(op) == []


@pytest.mark.slow
def test_honest_openmp_is_not_reported(tmp_path: Path) -> None:
    op = compiled(tmp_path, CODE.format(code=HONEST))
    for _ in range(5):
        assert [finding.text for finding in tried(op, 3)] == []


def test_a_race_whose_other_stack_is_lost(tmp_path: Path) -> None:
    """ThreadSanitizer forgets old stacks; and its warning may come among what the operator prints."""
    (tmp_path / "op.cpp").write_text("first\n  y[1] += x[i];\n")
    report = """
now at #0 of 7
WARNING: ThreadSanitizer: data race (pid=7)
  Write of size 8 at 0x7b0000000108 by thread T2:
    #0 op::forward(double const*, double*) [clone ._omp_fn.0] /user/op.cpp:2 (exe+0xc545)
    #1 operator() openmp.cpp:242 (exe+0x7e2e)

  Previous atomic read of size 8 at 0x7b0000000108 by main thread:
    [failed to restore the stack]
"""
    memory = ProgramMemory(
        tmp_path / "op.cpp", (TensorMemory("y", 0x7B0000000100, 80, 10),)
    )
    (finding,) = findings(report, memory)
    assert finding.where == "op.cpp:2"
    said = "op.cpp:2 writes y[1] while another thread reads it: y[1] += x[i];"
    assert finding.text == f"data race: {said}"


@pytest.mark.slow
def test_two_inputs_in_another_dtype(tmp_path: Path) -> None:
    """In a file with a space and a header, where the mistake is, and with gradients by name."""
    (tmp_path / "own.h").write_text(
        "template<typename T> T third(T *p) { \n return p[3]; }"
    )
    op = compiled(
        tmp_path,
        """#include "own.h"
        struct op : deep500::CustomOperator {
            int64_t n;
            op(int64_t length) : n(length) {}
            void forward(const DTYPE *a, const DTYPE *b, DTYPE *y) {
                for (int64_t i = 0; i < n; ++i) y[i] = a[i] * b[i];
            }
            void backward(const DTYPE *dy, const DTYPE *a, const DTYPE *b, const DTYPE *y, DTYPE *da, DTYPE *db) {
                for (int64_t i = 0; i < n; ++i) { da[i] = third(b); db[i] = 1; }
            }
        };""",
        "my op.cpp",
    )
    one, four, none = np.ones(()), np.ones(4), np.ones((2, 0))
    assert sanitized(op, [four, four], [four], SECONDS) == []
    assert sanitized(op, [none, none], [none], SECONDS) == []
    (finding,) = sanitized(op, [one, one], [one], SECONDS)
    assert finding.text == (
        "heap-buffer-overflow: own.h:2 reads b[3], and b has 1 elements: return p[3]; }"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ('throw std::runtime_error("no luck");', "^op: no luck$"),
        (
            "exit(0);",
            "op, built with a sanitizer, ended with exit code 0, before its last call",
        ),
    ],
)
def test_an_operator_that_fails_is_an_error(
    tmp_path: Path, code: str, said: str
) -> None:
    with pytest.raises(Deep500Error, match=said):
        tried(compiled(tmp_path, CODE.format(code=code)))


@pytest.mark.slow
def test_an_endless_one_is_stopped(tmp_path: Path) -> None:
    marker = f"SLEEPS={os.getpid()}"
    code = CODE.format(code='system("sleep 100");').replace(
        "#include <thread>", f"// {marker}"
    )
    op = compiled(tmp_path, code)
    x = np.ones((4, 6), "float32")
    before = _sleeping()
    with pytest.raises(
        Deep500Error, match="op, built with a sanitizer, was still running after 1 s"
    ):
        sanitized(op, [x], None, 1)
    assert _sleeping() - before == set()


def _sleeping() -> set[str]:
    listed = subprocess.run(
        ["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True
    )
    return {line for line in listed.stdout.splitlines() if line.endswith("sleep 100")}


@pytest.mark.slow
def test_what_cannot_be_built_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    doacross = """
    #pragma omp parallel for ordered(1)
    for (int64_t i = 0; i < n; ++i) {
        #pragma omp ordered depend(sink: i - 1)
        y[i] += x[i];
        #pragma omp ordered depend(source)
    }"""
    op = compiled(tmp_path, CODE.format(code=doacross))
    with pytest.raises(
        Unsupported,
        match=r"part of OpenMP that sanitized programs lack \(GOMP_loop_doacr",
    ):
        tried(op)
    # A compiler whose library is missing: the linker's own words.
    wrapper = tmp_path / "g++"
    wrapper.write_text('#!/bin/sh\nexec /usr/bin/env -S g++ "$@" -l:libasan.so.none\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("CXX", str(wrapper))
    with pytest.raises(
        Unsupported, match="install libasan and libubsan of the same version as g"
    ) as caught:
        tried(op)
    assert "\n" not in str(caught.value)
