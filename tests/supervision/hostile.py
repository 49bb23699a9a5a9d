"""Statements and commands that do their worst, by what they do; each runs in an empty folder called `folder`.

SLEEP becomes a time that nothing else sleeps for.
"""

_WRITE = """
import os
for descriptor in range(3, 30):
    try: os.write(descriptor, {line})
    except OSError: pass
"""

_DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: time.sleep(SLEEP)
    os._exit(0)
os.wait()
"""

GARBAGE = {
    "an empty result": b'{"result": []}\n',
    "an empty list": b"[]\n",
    "null": b"null\n",
    "NaN": b'{"block": {"ns": [[NaN]], "spent_ns": NaN}}\n',
    "a number of calls": b'{"calls": [1]}\n',
    "a negative time": b'{"block": {"ns": [[-5]], "spent_ns": 1}}\n',
    "a text for a time": b'{"block": {"ns": [["5"]], "spent_ns": "1"}}\n',
    "an error that is no text": b'{"error": 3}\n{"progress": []}\n{"died": {}}\n',
    "a forged token": b'{"token": "0", "calls": [1]}\n',
    "no UTF-8": b"\xff\xfe\x00\n",
    "escapes": b"\x1b[2J\x1b]0;title\x07\n",
}

STATEMENTS = {
    f"writes {name} into every descriptor": _WRITE.replace("{line}", repr(line))
    for name, line in GARBAGE.items()
} | {
    "writes a long number": _WRITE.replace("{line}", "b'1' * 50_000 + b'\\n'"),
    "writes deep nesting": _WRITE.replace("{line}", "b'[' * 50_000 + b'\\n'"),
    "writes without end": "while True:\n" + _WRITE.replace("\n", "\n    ").replace("{line}", "b'x' * 60_000"),
    "exits": "import os; os._exit(0)",
    "exits with a code": "import os; os._exit(3)",
    "asks to exit": "import sys; sys.exit()",
    "asks to exit with lines": "import sys; sys.exit('one\\ntwo')",
    "kills itself": "import os; os.kill(os.getpid(), 9)",
    "stops itself": "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
    "terminates itself": "import os; os.kill(os.getpid(), 15)",
    "aborts": "import os; os.abort()",
    "crashes": "import ctypes; ctypes.string_at(0)",
    "kills its keeper": "import os, time; os.kill(os.getppid(), 9); time.sleep(SLEEP)",
    "stops its keeper": "import os, signal, time; os.kill(os.getppid(), signal.SIGSTOP); time.sleep(SLEEP)",
    "terminates its keeper": "import os, time; os.kill(os.getppid(), 15); time.sleep(SLEEP)",
    "kills its keeper behind a daemon": _DAEMON + "os.kill(os.getppid(), 9); time.sleep(SLEEP)",
    "kills its group": "import os; os.killpg(0, 9)",
    "closes its pipes": "import os; os.closerange(3, 256)",
    "closes its pipes and loops": "import os; os.closerange(3, 256)\nwhile True: pass",
    "closes everything and sleeps": "import os, time; os.closerange(0, 256); time.sleep(SLEEP)",
    "reads nothing into its pipes": "import os\nfor i in range(20): os.dup2(os.open('/dev/null', 2), i)",
    "reads zeros from its pipes": "import os\nfor i in range(20): os.dup2(os.open('/dev/zero', 2), i)",
    "loops": "while True: pass",
    "sleeps": "import time; time.sleep(SLEEP)",
    "never ends a thread": "import threading, time; threading.Thread(target=time.sleep, args=(SLEEP,)).start()",
    "never ends at exit": "import atexit, time; atexit.register(time.sleep, SLEEP)",
    "interrupts": "raise KeyboardInterrupt",
    "raises what is no Exception": "class Odd(BaseException): pass\nraise Odd('odd')",
    "raises what cannot be shown": "class Odd(Exception):\n    def __str__(self): raise ValueError\nraise Odd",
    "raises what never is shown": "class Odd(Exception):\n    def __str__(self):\n        while True: pass\nraise Odd",
    "raises escapes": "raise ValueError('\\x1b[2J\\n\\x1b]0;x\\x07')",
    "recurses": "def f(): f()\nf()",
    "recurses deeper": "import sys; sys.setrecursionlimit(10**9)\ndef f(): f()\nf()",
    "prints much": "print('x' * 100_000_000)",
    "complains much": "import os\nfor _ in range(100): os.write(2, b'x' * 1_000_000)",
    "complains without end": "import os\nwhile True: os.write(2, b'x' * 10_000)",
    "replaces json": "import json; json.dumps = lambda *a, **k: 'garbage'",
    "replaces the streams": "import sys; sys.stdout = sys.stderr = sys.stdin = None",
    "clears the builtins": "import builtins; vars(builtins).clear()",
    "clears the modules": "import sys; sys.modules.clear()",
    "ignores signals and loops": "import signal; signal.signal(15, signal.SIG_IGN)\nwhile True: pass",
    "has an alarm": "import signal; signal.alarm(1)\nwhile True: pass",
    "is interrupted all the time": (
        "import signal\ndef f(*_): raise OSError\n"
        "signal.signal(14, f); signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)\nwhile True: pass"
    ),
    "forks": "import os\nfor _ in range(5): os.fork()",
    "forks and leaves": "import os, time\nif os.fork(): os._exit(0)\ntime.sleep(SLEEP)",
    "becomes a daemon": _DAEMON,
    "starts a session": "import subprocess; subprocess.Popen(['sleep', 'SLEEP'], start_new_session=True)",
    "starts a process without its environment": (
        "import subprocess; subprocess.Popen(['sleep', 'SLEEP'], start_new_session=True, env={})"
    ),
    "starts a process of multiprocessing": (
        "import multiprocessing, time\n"
        "multiprocessing.get_context('fork').Process(target=time.sleep, args=(SLEEP,)).start()"
    ),
    "becomes another program": "import os; os.execvp('sleep', ['sleep', 'SLEEP'])",
    "becomes a program that ends": "import os; os.execvp('true', ['true'])",
    "reads its input": "import sys; sys.stdin.read(); input()",
    "removes the folder": "import shutil; shutil.rmtree('../folder', ignore_errors=True)",
    "changes the folder": "import os; os.chdir('/')",
    "limits its time": "import resource; resource.setrlimit(resource.RLIMIT_CPU, (1, 1))\nwhile True: pass",
    "limits its files": "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))",
    "limits its writing": "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))",
    "wants all memory": "bytearray(1 << 60)",
    "turns the clock back": "_d5_start = 0",
    "stops the clock": "_d5_now = lambda: 0",
    "replaces the clock": "import time; time.perf_counter_ns = time.monotonic = lambda: 0",
    "survives its keeper": (
        "import ctypes, os, time; ctypes.CDLL(None).prctl(1, 0); os.kill(os.getppid(), 9); time.sleep(SLEEP)"
    ),
}  # fmt: skip

COMMANDS = {
    "leaves a process": "sleep SLEEP &",
    "leaves a session": "setsid sleep SLEEP &",
    "leaves a process that ignores hang-ups": "nohup sleep SLEEP >/dev/null 2>&1 &",
    "leaves an orphan": "(sleep SLEEP &) &",
    "leaves sessions in sessions": "setsid sh -c 'setsid sleep SLEEP & sleep SLEEP &'",
    "leaves a process without its environment": "env -i setsid sleep SLEEP &",
    "leaves a process that ignores signals": "(trap '' TERM HUP INT; sleep SLEEP) &",
    "leaves many": "for i in 1 2 3 4 5 6 7 8; do setsid sleep SLEEP & done",
    "leaves a tree": "f() { [ $1 -gt 0 ] && { f $(($1 - 1)) & f $(($1 - 1)) & }; sleep SLEEP; }; f 3 &",
    "ignores signals": "trap '' TERM HUP INT; sleep SLEEP",
    "waits for its children": "setsid sleep SLEEP & sleep SLEEP",
    "starts sessions without end": "while :; do setsid sleep SLEEP & sleep 0.05; done",
    "reads its input": "cat; read x; true",
    "prints without end": "yes",
    "complains without end": "yes >&2",
    "kills its parent": "kill -9 $PPID; sleep SLEEP",
    "stops its parent": "kill -STOP $PPID; sleep SLEEP",
    "kills its keeper": "setsid sleep SLEEP & kill -9 $(cut -d' ' -f4 /proc/$PPID/stat); sleep SLEEP",
    "stops its keeper": "setsid sleep SLEEP & kill -STOP $(cut -d' ' -f4 /proc/$PPID/stat); sleep SLEEP",
    "stops itself": "kill -STOP $$",
    "kills itself": "kill -9 $$",
    "fails": "exit 77",
    "fails with escapes": "printf '\\033[2J\\n\\033]0;x\\007\\n' >&2; exit 1",
    "limits its time": "ulimit -t 1; while :; do :; done",
    "removes the folder": "rm -rf ../folder",
    "closes its streams": "exec 0<&- 1>&- 2>&-; sleep SLEEP",
    "is not there": "no_such_command_of_a_test",
    "is a folder": "/",
}  # fmt: skip
