"""Hostile answers: each gets the points it deserves, costs nothing else, and leaves nothing behind.

Each attack is graded by a grader of its own process, as root and as an ordinary user, and watched from
outside. An attack that gets what it wants raises BREACH (TOOLS spell it in two), which its exercise's message shows.
"""

import ctypes
import os
import platform
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from grader_process import ORDINARY, Grader, descendants

from autograder.child import start
from autograder.child.confine import LAYERS
from autograder.child.near import Child, Killed, Lost
from autograder.course import assignment
from autograder.exercises import declared

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="there is no confinement on this system"
)

FULL = {one.id: float(one.points) for one in declared(assignment("01-derivatives")).exercises}
PATIENCE = 60.0  # seconds for what takes a moment on an idle machine

# What every attack has at hand.
TOOLS = '''
import builtins, ctypes, errno, os, signal, socket, subprocess, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
def breach(what):
    raise RuntimeError(f"{'BRE'}{'ACH'}: {what}")
def fails(call, *arguments, **more):
    """Breaks in if a call does what it is asked for."""
    try:
        result = call(*arguments, **more)
    except Exception:
        return
    if not (type(result) is int and result == -1):
        breach(f"{getattr(call, '__name__', call)}{arguments} gave {result!r}")
def syscall(number, *arguments):
    """A system call by its number, past Python; what it is denied with is in its errno."""
    ctypes.set_errno(0)
    return libc.syscall(*map(ctypes.c_long, (number, *arguments)))
'''


def nr(name: str) -> int:
    """A system call's number on this machine."""
    try:
        number: int = ctypes.CDLL("libseccomp.so.2").seccomp_syscall_resolve_name(name.encode())
    except OSError:  # then the layer is missing, and these tests are skipped
        return -1
    return number


def body(*lines: str) -> str:
    """An answer that does this when it is called, and then gives a wrong number."""
    indented = "\n".join(f"    {line}" for text in lines for line in text.splitlines())
    return f"{TOOLS}\ndef d_square(x):\n{indented}\n    return 1\n"


def cell(code: str) -> str:
    """An answer that does this when its cell is run, and whose function is wrong."""
    return f"{TOOLS}\n{code}\ndef d_square(x):\n    return 1\n"


def calls(*names_and_arguments: str) -> str:
    """System calls that have to fail, `name argument ...` each."""
    return "\n".join(
        f"fails(syscall, {nr(name)}{''.join(', ' + one for one in arguments)})"
        for name, *arguments in map(str.split, names_and_arguments)
    )


# Attacks by name. OUTSIDE is a folder with a gradebook, another student's work and a script; GRADER the
# grader's process, as it is known outside; MARKER a text that shows in a process's arguments.
STARTS = {
    "fork": "fails(os.fork)",
    "a fork bomb": "while True:\n    if os.fork() == 0: continue",
    "a fork bomb past Python": "for _ in range(1000): fails(libc.fork)",
    "vfork and clone": calls("vfork", "clone 17 0 0 0 0", "clone 0x4111 0 0 0 0", "clone3 0 0"),
    "clones that leave namespaces": calls("clone 0x10010000 0 0 0 0", "clone 0x10000011 0 0 0 0"),
    "subprocess": "fails(subprocess.run, ['/bin/true'])\nfails(subprocess.check_output, 'echo MARKER', shell=True)",
    "os.system": "fails(lambda: os.system('touch OUTSIDE/new') or 1)",
    "posix_spawn": "fails(os.posix_spawn, sys.executable, [sys.executable, '-c', '1'], {})",
    "exec": "fails(os.execv, sys.executable, [sys.executable, '-c', 'while True: pass', 'MARKER'])",
    "exec past Python": "fails(libc.execv, sys.executable.encode(), None)\n"
    + calls("execve 0 0 0", "execveat 0 0 0 0 0"),
    "popen of the C library": "libc.popen.restype = ctypes.c_void_p\nfails(lambda: libc.popen(b'/bin/true', b'r') or -1)\nfails(lambda: -1 if libc.system(b'/bin/true') else 0)",
    "a pty": "import pty\nfails(pty.fork)\nfails(pty.spawn, '/bin/sh')",
    "multiprocessing": "import multiprocessing\np = multiprocessing.get_context('fork').Process(target=print)\nfails(p.start)",
    "a pool of processes": "from concurrent.futures import ProcessPoolExecutor\nfails(lambda: ProcessPoolExecutor(2).submit(int, 1).result())",
    "a shell line": "fails(get_ipython().getoutput, 'echo MARKER')\nfails(get_ipython().run_line_magic, 'sx', 'echo MARKER')",
    "a daemon": "try:\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0: os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(999)', 'MARKER'])\n        os._exit(0)\nexcept OSError: pass",
    "its parent's death ignored": calls("prctl 1 0 0 0 0", "prctl 4 1 0 0 0", "setsid")
    + "\nfails(os.setsid)\nfails(os.setpgid, 0, 0)",
    "a program in memory": f"fails(os.memfd_create, 'x')\n{calls('memfd_create 0 0')}",
    "a program in its folder": "open('x', 'w').write('#!/bin/sh')\nfails(os.chmod, 'x', 0o755)\nfails(os.execv, 'x', ['x'])",
    "a library in its folder": "import _ctypes, shutil\nshutil.copyfile(_ctypes.__file__, 'x.so')\nfails(ctypes.CDLL, './x.so')",
}

BOUNDS = {
    "threads without bound": "count = 0\ntry:\n    while True: threading.Thread(target=threading.Event().wait, daemon=True).start(); count += 1\nexcept RuntimeError: pass\nif count > 200: breach(count)",
    "small threads without bound": "threading.stack_size(32768)\ncount = 0\ntry:\n    while True: threading.Thread(target=threading.Event().wait, daemon=True).start(); count += 1\nexcept RuntimeError: pass\nif count > 200: breach(count)",
    "memory": "fails(bytearray, 3 << 30)",
    "shared memory": "import mmap\na = []\ntry:\n    while True: a.append(mmap.mmap(-1, 1 << 26))\nexcept OSError: pass\nif len(a) > 40: breach(len(a))",
    "its folder filled": "size = 0\ntry:\n    for n in range(10 ** 6):\n        with open(f'{n}', 'wb') as f: size += f.write(bytes(1 << 20))\nexcept OSError: pass\nif size > 100 << 20: breach(size)",
    "its folder filled with small files": "n = 0\ntry:\n    while True: open(f'{n}', 'w').close(); n += 1\nexcept OSError: pass\nif n > 5000: breach(n)",
    "a file with a hole": "fails(os.truncate, open('x', 'w').name, 1 << 40)\nfails(os.posix_fallocate, os.open('x', os.O_RDWR), 0, 1 << 30)",
    "descriptors without bound": "a = []\ntry:\n    while True: a += os.pipe()\nexcept OSError: pass\nif len(a) > 300: breach(len(a))\nfor one in a: os.close(one)",
    "limits lowered": "import resource\nfails(resource.setrlimit, resource.RLIMIT_CPU, (1, 1))\nfails(resource.prlimit, 0, resource.RLIMIT_CPU, (1, 1))",
    "limits raised": "import resource\nfor kind in range(16):\n    if resource.getrlimit(kind)[1] != -1: fails(resource.setrlimit, kind, (-1, -1))\nfails(resource.prlimit, os.getppid(), resource.RLIMIT_CPU)\nfails(os.nice, -5)",
    "locked memory": calls("mlockall 3", "mlock 4096 4096"),
    "a stack that overflows in C": "t = []\nfor _ in range(10 ** 5): t = [t]\nimport pickle\npickle.dumps(t)",
    "an integer without end": "return 10 ** (10 ** 6)",
    "an answer nested without end": "a = 1\nfor _ in range(10 ** 5): a = {'a': a}\nreturn a",
    "output without bound": "for _ in range(10 ** 5): print('x' * 1000)",
    "output in bytes": "for n in range(3):\n    try: os.write(n, b'x' * 10 ** 7)\n    except OSError: pass",
}

ENDLESS = {
    "every signal ignored": "for n in range(1, 65):\n    try: signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nwhile True: pass",
    "signals blocked": "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True: pass",
    "stopped": "os.kill(os.getpid(), signal.SIGSTOP)",
    "the machinery's lock held": "while True:\n    with threading.Lock(): signal.pause()",
    "threads that go on": "def spin():\n    while True: pass\nfor _ in range(20): threading.Thread(target=spin, daemon=True).start()\nspin()",
    "an end that does not end": "import atexit\natexit.register(lambda: threading.Event().wait())\nsys.exit(threading.Event().wait())",
}

FILES = {
    "the gradebook": "fails(open, 'OUTSIDE/gradebook.db', 'rb')\nfails(open, 'OUTSIDE/gradebook.db', 'r+b')\nfails(os.stat, 'OUTSIDE/gradebook.db')",
    "another's submission": "fails(os.listdir, 'OUTSIDE/submitted')\nfails(open, 'OUTSIDE/submitted/other.ipynb')",
    "the course": "fails(open, 'COURSE/autograder/exercises/derivatives.py')\nfails(os.listdir, 'COURSE')\nfails(os.listdir, 'COURSE/source')",
    "the answers imported": "fails(__import__, 'autograder.exercises.derivatives')\nfails(__import__, 'autograder.grade')\nfails(__import__, 'nbgrader.api')",
    "the course on the path": "sys.path.insert(0, 'COURSE')\nfor name in [n for n in sys.modules if n.startswith('autograder')]: del sys.modules[name]\nfails(__import__, 'autograder.exercises.derivatives')",
    "mode and owner of files outside": "for path in ('OUTSIDE', 'OUTSIDE/gradebook.db', os.__file__):\n    fails(os.chmod, path, 0o777)\n    fails(os.chown, path, 1, 1)\n    fails(os.utime, path)\n    fails(os.setxattr, path, 'user.x', b'x')",
    "mode and owner past Python": "path = os.__file__.encode()\nfails(libc.chmod, path, 0o777)\nfails(libc.chown, path, 0, 0)\nfails(libc.utimes, path, None)\nfails(libc.lchown, path, 0, 0)",
    "files outside moved, linked, removed": "for call in (os.rename, os.replace, os.link):\n    fails(call, 'OUTSIDE/gradebook.db', 'mine')\n    fails(call, os.__file__, 'mine')\nfails(os.remove, 'OUTSIDE/gradebook.db')\nfails(os.remove, os.__file__)\nfails(os.rmdir, 'OUTSIDE/submitted')",
    "files made outside": "for folder in ('OUTSIDE', '/', '/tmp', '/home', '/var/tmp', '/dev', '/dev/shm', '/usr', os.path.dirname(os.__file__)):\n    fails(open, folder + '/new', 'w')\n    fails(os.mkdir, folder + '/new.d')\n    fails(os.symlink, 'x', folder + '/new.l')",
    "the installation changed": "import numpy\nfor path in (os.__file__, numpy.__file__, sys.executable):\n    fails(open, path, 'ab')\n    fails(os.truncate, path, 0)",
    "a link to the gradebook": "os.symlink('OUTSIDE/gradebook.db', 'link')\nfails(open, 'link')\nfails(open, 'link', 'w')",
    "its folder is a link": "os.symlink('OUTSIDE', 'sub')\nos.chdir('/')\nfails(os.rename, '/home/student', '/home/other')\nfails(os.rmdir, '/home/student')",
    "links for the cleaning up": "for n in range(50): os.symlink('OUTSIDE', f'l{n}')\nos.makedirs('a/b')\nos.symlink('OUTSIDE', 'a/b/c')",
    "out by dot dots": "fails(open, '../' * 20 + 'OUTSIDE/gradebook.db')\nfails(os.listdir, '..' + '/..' * 20 + '/proc')",
    "a new root": f"fails(os.chroot, '.')\n{calls('pivot_root 0 0', 'chroot 0', 'mount 0 0 0 4096 0', 'umount2 0 0', 'open_tree 0 0 0', 'move_mount 0 0 0 0 0', 'fsopen 0 0', 'mount_setattr 0 0 0 0 0')}",
    "device files": "fails(os.mknod, 'x', 0o20600, os.makedev(1, 1))\nfails(os.mkfifo, 'fifo')\nfor one in ('/dev/mem', '/dev/kmsg', '/dev/vda', '/dev/tty', '/dev/shm'): fails(open, one, 'rb')",
    "by handles": calls("open_by_handle_at 0 0 0", "name_to_handle_at 0 0 0 0 0"),
    "passwords": "for one in ('/etc/shadow', '/etc/passwd', '/etc/ssh', '/root', '/home/..', '/var/lib', '/run', '/sys', '/proc/mounts'): fails(open, one)",
}

PROCESSES = {
    "what is in /proc": "for one in ('self', '1', 'GRADER', str(os.getppid())):\n    for name in ('mem', 'environ', 'maps', 'cmdline', 'root/etc/passwd', 'fd/1'): fails(open, f'/proc/{one}/{name}', 'rb')\nfails(os.listdir, '/proc')",
    "signals": "for pid in (os.getppid(), 1, GRADER, -1, 0, -os.getpgrp(), 2, 3):\n    if pid != os.getpid():\n        for number in (0, signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP): fails(os.kill, pid, number)",
    "signals past Python": "for pid in (os.getppid(), 1, GRADER):\n"
    + "\n".join(
        f"    fails(syscall, {nr(name)}, {arguments})"
        for name, arguments in {
            "kill": "pid, 9",
            "tkill": "pid, 9",
            "tgkill": "pid, pid, 9",
            "rt_sigqueueinfo": "pid, 9, 0",
            "pidfd_open": "pid, 0",
            "pidfd_send_signal": "0, 9, 0, 0",
        }.items()
    ),
    "signals by descriptors": "import fcntl\nr, w = os.pipe()\nfails(fcntl.fcntl, r, 8, os.getppid())\nfails(fcntl.fcntl, r, 10, 9)\nfails(fcntl.fcntl, r, 1026, 1)",
    "ptrace": "for pid in (os.getppid(), 1, GRADER):\n"
    + "\n".join(f"    fails(syscall, {nr('ptrace')}, {request}, pid, 0, 0)" for request in (16, 0x4206))
    + "\n"
    + calls("ptrace 0 0 0 0"),
    "another's memory": "for pid in (os.getppid(), 1, GRADER):\n"
    + "\n".join(
        f"    fails(syscall, {nr(name)}, pid, 0, 0, 0, 0, 0)"
        for name in ("process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "process_madvise")
    ),
    "priorities": "fails(os.setpriority, os.PRIO_PROCESS, os.getppid(), 19)\nfails(os.sched_setaffinity, os.getppid(), {0})\nfails(os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1))",
    "namespaces": calls(
        "unshare 0x10000000", "unshare 0x20000", "unshare 0x40000000", "setns 3 0", "setns 4 0"
    ),
    "another user": "for call in (os.setuid, os.seteuid, os.setgid): fails(call, 0)\nfails(os.setresuid, 0, 0, 0)\nfails(os.setgroups, [0])\nif os.getuid() == 0: breach('root')",
    "capabilities": calls("capset 0 0", "prctl 8 1 0 0 0", "prctl 28 0 0 0 0", "prctl 47 2 0 0 0")
    + "\nfails(os.nice, -1)",
    "filters and rules of its own": calls(
        "seccomp 1 0 0", "prctl 22 2 0 0 0", "landlock_create_ruleset 0 0 1", "landlock_restrict_self 0 0"
    ),
    "descriptors of others": "import stat\nkinds = []\nfor n in range(256):\n    try: mode = os.fstat(n).st_mode\n    except OSError: continue\n    if stat.S_ISSOCK(mode) or stat.S_ISDIR(mode) or stat.S_ISREG(mode): kinds.append(n)\nif kinds: breach(kinds)",
    "its environment": "for name, value in os.environ.items():\n    if 'sesame' in value or 'OUTSIDE' in value: breach(name)",
    "the machine": calls(
        "reboot 0 0 0 0",
        "sethostname 0 0",
        "settimeofday 0 0",
        "clock_settime 0 0",
        "swapon 0 0",
        "syslog 3 0 0",
        "acct 0",
        "quotactl 0 0 0 0",
        "kexec_load 0 0 0 0",
        "init_module 0 0 0",
        "finit_module 0 0 0",
        "delete_module 0 0",
    ),
}

KERNEL = {
    "io_uring": calls(
        "io_uring_setup 8 0", "io_uring_enter 0 0 0 0 0 0", "io_uring_register 0 0 0 0", "io_setup 1 0"
    ),
    "userfaultfd, bpf, perf": calls(
        "userfaultfd 0", "bpf 0 0 0", "perf_event_open 0 0 0 0 0", "fanotify_init 0 0", "inotify_init"
    ),
    "keys": calls("keyctl 0 0 0 0 0", "add_key 0 0 0 0 0", "request_key 0 0 0 0"),
    "old IPC": calls("shmget 0 4096 0x3ff", "msgget 0 0x3ff", "semget 0 1 0x3ff", "mq_open 0 0 0 0"),
    "personality": calls("personality 0x0040000", "personality 8"),
    "calls of no kernel yet": "for number in range(470, 600): fails(syscall, number, 0, 0, 0)",
    "typing into a terminal": "import fcntl, termios\nfor n in range(8): fails(fcntl.ioctl, n, termios.TIOCSTI, b'x')\nfails(fcntl.ioctl, 0, 0x541c, b'x')",
}

NETWORK = {
    "TCP": "fails(socket.create_connection, ('127.0.0.1', PORT), 2)\nfails(socket.socket)\nfails(socket.create_server, ('', 0))",
    "TCP 6, UDP, raw, packets, netlink": "for family, kind in ((10, 1), (2, 2), (10, 2), (2, 3), (17, 3), (16, 3), (38, 5), (40, 1)): fails(socket.socket, family, kind)",
    "Unix sockets": "fails(socket.socket, socket.AF_UNIX)\nfails(socket.socket, socket.AF_UNIX, socket.SOCK_DGRAM)",
    "a pair that sends anywhere": "fails(socket.socketpair, socket.AF_UNIX, socket.SOCK_DGRAM)\nfails(socket.socketpair, socket.AF_INET)\na, b = socket.socketpair()\nfails(a.connect, '\\0x')\nfails(a.bind, '\\0x')\nfails(a.listen)",
    "sockets past Python": "\n".join(
        f"fails(syscall, {nr('socket')}, {family}, {kind}, 0)"
        for family in (1, 2, 10, 16, 17)
        for kind in (1, 2, 3, 5)
    )
    + "\n"
    + calls(
        "socketpair 1 2 0 0", "connect 0 0 0", "bind 0 0 0", "listen 0 1", "accept 0 0 0", "sendmmsg 0 0 0 0"
    ),
    "names looked up": "fails(socket.getaddrinfo, 'localhost', 80)\nfails(socket.gethostbyname, 'localhost')",
    "a page fetched": "import urllib.request\nfails(urllib.request.urlopen, 'http://127.0.0.1:PORT/', timeout=2)",
    "a server": "import http.server\nfails(http.server.HTTPServer, ('127.0.0.1', 0), None)",
}

# Machine code that calls the kernel by itself: a process is started, or, by the rules of another architecture,
# the process asked for its id. The answer comes back where the call is let through.
CODE = """
import mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex('b8' '{number}' '{call}' 'c3'))
entry = ctypes.addressof(ctypes.c_char.from_buffer(page))
done = ctypes.CFUNCTYPE(ctypes.c_int)(entry)()
if done == 0: os._exit(0)
if done > 0: breach(done)
"""
MACHINE = {
    "its own machine code": CODE.format(number="39000000", call="0f05"),  # fork
    "calls of 32 bits": CODE.format(number="14000000", call="cd80"),  # getpid by int 0x80
    "calls of x32": CODE.format(number="27000040", call="0f05"),
}

ON_THIS_MACHINE = MACHINE if platform.machine() == "x86_64" else {}

# These go for the points themselves. `return 1` is wrong: the slope of x squared is not 1 everywhere.
POINTS = {
    "text that looks like a score": "print('1.0\\n2\\n')\nfrom IPython.display import display\ndisplay(2)\nsys.displayhook(2)",
    "json replaced": "import json\njson.dumps = lambda *a, **k: '{}'\njson.loads = lambda *a, **k: {}",
    "the encoder replaced": "import json.encoder\njson.encoder.JSONEncoder.iterencode = json.encoder.JSONEncoder.encode = lambda self, o, **k: '{\"observations\": []}'",
    "builtins replaced": "for name in ('isinstance', 'issubclass', 'type', 'float', 'abs', 'repr', 'getattr'): setattr(builtins, name, lambda *a: True)",
    "every frame's names": "f = sys._getframe()\nwhile f:\n    for name in list(f.f_locals):\n        if 'expect' in name or 'reference' in name: breach(name)\n    f = f.f_back",
    "a reference in memory": "import gc\nfor one in gc.get_objects():\n    if type(one).__name__ in ('Exercise', 'Notebook', 'Mistake', 'Verdict', 'Tolerance'): breach(one)",
    "modules of the grader": "for name in sys.modules:\n    if name.startswith(('autograder.exercise', 'autograder.grade', 'autograder.course', 'nbgrader', 'sqlalchemy')): breach(name)",
    "a tracer": "sys.settrace(lambda *a: None)\nsys.setprofile(lambda *a: None)\nsys.setswitchinterval(100)",
    "forged replies": 'import json\nfor n in range(3, 30):\n    try: os.write(n, b\'{"observations": [], "id": "0"}\\n\' * 50)\n    except OSError: pass',
    "forged replies with the right name": "import json\nf = sys._getframe()\nwhile f and 'request' not in f.f_locals: f = f.f_back\nreply = {'id': f.f_locals['request']['id'], 'score': 2, 'observations': [{'parts': {'the slope': True}, 'error': None}] * len(f.f_locals['request']['cases'])}\nfor n in range(3, 30):\n    try: os.write(n, json.dumps(reply).encode() + b'\\n')\n    except OSError: pass",
    "NaN in a reply": "f = sys._getframe()\nwhile f and 'request' not in f.f_locals: f = f.f_back\nfor n in range(3, 30):\n    try: os.write(n, b'{\"id\": \"%s\", \"observations\": [NaN, Infinity]}\\n' % f.f_locals['request']['id'].encode())\n    except OSError: pass",
    "a reply of many levels": "for n in range(3, 30):\n    try: os.write(n, b'[' * 10 ** 5 + b'\\n')\n    except OSError: pass",
    "pipes closed": "os.closerange(0, 256)",
    "pipes swapped": "a, b = os.pipe()\nfor n in range(3, 10):\n    try: os.dup2(b, n)\n    except OSError: pass",
    "an object that is what you want": "class Yes:\n    __class__ = float\n    __float__ = lambda self: 6.0\n    __eq__ = lambda self, other: True\n    __hash__ = None\nreturn Yes()",
    "a complex number": "return complex(2 * x, 1e-300)",
    "a masked array": "import numpy as np\nreturn np.ma.masked_array([1.0], mask=[True])",
    "an array that converts itself": "import numpy as np\nclass Yes:\n    def __array__(self, *a, **k): return np.array(6.0)\nreturn Yes()",
    "a finaliser": "class Late:\n    def __del__(self): os._exit(0)\nglobals()['late'] = Late()",
    "exceptions that lie": "class Bad(Exception):\n    def __str__(self): return 'x' * 10 ** 7\n    __class__ = SystemExit\nraise Bad()",
    "an exception's text that looks like a verdict": "raise AssertionError('All points: 2 of 2')",
    "a lesson's case known by heart": "return {3: 6, 3.0: 6.0}.get(x, 1)",
}

IN_THE_CELL = {
    "displays without bound": "def go():\n    from IPython.display import display\n    for _ in range(3000): display('x' * 1000)\ngo()",
    "memory in pieces": "def go():\n    a = []\n    try:\n        while True: a.append(bytearray(1 << 26))\n    except MemoryError: pass\n    if len(a) > 40: breach(len(a))\ngo()",
    "asserts turned off": "import ast\nclass Drop(ast.NodeTransformer):\n    def visit_Assert(self, node): return ast.Pass()\nget_ipython().ast_transformers.append(Drop())",
    "events of every cell": "def late(*a):\n    global d_square\n    d_square = lambda x: 1\nget_ipython().events.register('post_run_cell', late)",
    "imports answered by itself": "import importlib.abc\nclass Finder(importlib.abc.MetaPathFinder):\n    def find_spec(self, *a): raise SystemExit\nsys.meta_path.insert(0, Finder())",
    "a file in the place of a module": "open('json.py', 'w').write('dumps = loads = None')\nopen('numpy.py', 'w').write('1/0')\nopen('sitecustomize.py', 'w').write('1/0')",
    "the rest of the notebook": "for name in ('In', 'Out', '_ih'):\n    if 'che' + 'ck(' in str(globals().get(name)): breach(name)",
    "the audit hook removed": "import gc\nsys.addaudithook(lambda *a: None)\nfor one in gc.get_objects():\n    if type(one).__name__ == 'function' and one.__name__ == 'hook': one.__code__ = (lambda event, arguments: None).__code__\nfails(os.fork)\nfails(socket.socket)",
    "the shell's line": "try: get_ipython().system('touch OUTSIDE/new; sleep 999 MARKER &')\nexcept OSError: pass",
    "dunder main": "import __main__\n__main__.__dict__.clear()",
}

# These break what observes in their own process, which may cost their author more than the one answer.
SABOTAGE = {
    "the observations' form": "import autograder.observe.run as r\nr._observe = lambda *a: {'parts': {'the slope': None}, 'error': None, 'score': 2}",
    "plain data that lies": "import autograder.observe.plain as p, autograder.observe.run as r\np.plain = r.plain = lambda value: True",
    "the namespace's class": "import autograder.observe.run as r\nr.Names.__getitem__ = lambda self, name: (lambda *a: 6.0)",
    "NumPy replaced": "import numpy as np\nnp.generic.item = None if False else 0\n",
}

SABOTAGE_IN_THE_CELL = {
    "every cell rewritten": "get_ipython().input_transformers_cleanup.append(lambda lines: [])",
    "the shell's own functions": "shell = get_ipython()\nshell.run_cell = shell.run = lambda *a, **k: {'outputs': [], 'error': None}",
    "the far end replaced": "import autograder.child.far as f\nf._Far.observe = lambda self, request: {'observations': [{'parts': {}, 'error': None} for _ in request['cases']]}",
}

ATTACKS: dict[str, str] = {
    **{
        name: body(code)
        for group in (STARTS, BOUNDS, FILES, PROCESSES, KERNEL, NETWORK, POINTS, ON_THIS_MACHINE)
        for name, code in group.items()
    },
    **{name: body(code) for name, code in ENDLESS.items()},
    **{name: cell(code) for name, code in IN_THE_CELL.items()},
}

HARM = {
    **{name: body(code) for name, code in SABOTAGE.items()},
    **{name: cell(code) for name, code in SABOTAGE_IN_THE_CELL.items()},
}


class Scene:
    """A grader at work, and what lies around it."""

    def __init__(self, ordinary: bool, folder: Path) -> None:
        self._ordinary, self._folder = ordinary, folder
        self.outside, self._temporary = folder / "outside", folder / "tmp"
        self.marker = f"marker-{os.getpid()}-{ordinary}"
        (self.outside / "submitted").mkdir(parents=True)
        self._temporary.mkdir()
        (self.outside / "gradebook.db").write_bytes(b"scores")
        (self.outside / "submitted" / "other.ipynb").write_text("{}")
        if ordinary:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, ORDINARY, ORDINARY)
        self.server = socket.create_server(("127.0.0.1", 0))
        self.server.setblocking(False)
        self.grader = self.start()
        self.layers = self.grade("def d_square(x):\n    return 2 * x\n")["layers"]

    def start(self) -> Grader:
        """A grader here."""
        return Grader(self._ordinary, self._folder)

    def grade(self, answer: str, seconds: float = 10.0) -> dict:
        """What comes of an answer, which knows what lies around it, once its child is gone."""
        words = {
            "OUTSIDE": str(self.outside),
            "COURSE": str(Path(__file__).parents[1]),
            "GRADER": str(self.grader.pid),
            "MARKER": self.marker,
            "PORT": str(self.server.getsockname()[1]),
        }
        for word, value in words.items():
            answer = answer.replace(word, value)
        result = self.grader.ask(answer=answer, seconds=seconds)
        standing = 2 if "namespaces" in result["layers"] else 1  # the warm process, and the one around it
        until(lambda: len(descendants(self.grader.pid)) <= standing)
        return result

    def around(self) -> dict:
        """All that an attack could change: files with their contents and attributes, and the processes."""
        files = {}
        for path in sorted(self._folder.rglob("*")):
            status = path.lstat()
            text = path.read_bytes() if path.is_file() else b""
            files[str(path)] = (status.st_mode, status.st_uid, status.st_nlink, status.st_mtime_ns, text)
        return {"files": files, "processes": descendants(self.grader.pid), "marked": self._marked()}

    def _marked(self) -> list[Path]:
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                found += [path] if self.marker.encode() in path.read_bytes() else []
            except OSError:
                continue  # it has just ended
        return found

    def close(self) -> None:
        self.server.close()
        self.grader.close()


def scene_for(user: str, folder: Path) -> Scene:
    if user == "root" and os.geteuid() != 0:
        pytest.skip("these tests do not run as root")
    return Scene(user == "ordinary" and os.geteuid() == 0, folder)


@pytest.fixture(scope="module", params=["root", "ordinary"])
def scene(request, tmp_path_factory):
    made = scene_for(request.param, tmp_path_factory.mktemp(request.param))
    yield made
    made.close()


def attack(scene: Scene, answer: str, seconds: float = 10.0) -> dict:
    """Grades an attack, and checks all that has to hold for every one of them."""
    if absent := set(LAYERS) - set(scene.layers):
        pytest.skip(f"layers are missing here: {', '.join(sorted(absent))}")
    before = scene.around()
    result = scene.grade(answer, seconds)
    assert "BREACH" not in str(result)
    assert scene.around() == before
    with pytest.raises(BlockingIOError):
        scene.server.accept()
    return result


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_gets_what_its_answer_deserves(scene, name):
    result = attack(scene, ATTACKS[name], 2.0 if name in ENDLESS else 10.0)
    assert result["scores"] == {**FULL, "derivative-square": 0.0}, result["message"]


@pytest.mark.parametrize("name", HARM)
def test_whoever_breaks_what_observes_him_gains_nothing(scene, name):
    scores = attack(scene, HARM[name])["scores"]
    assert scores["derivative-square"] == 0.0
    assert all(score <= FULL[exercise] for exercise, score in scores.items())


def test_a_breach_would_show(scene):
    """What is allowed is no breach, and a breach is told: the tools of the attacks work."""
    for code in ("fails(os.getpid)", "fails(open, 'mine', 'w')", f"fails(syscall, {nr('getpid')})"):
        assert "BREACH" in scene.grade(body(code))["message"]
    files = scene.around()["files"]
    (scene.outside / "new").touch()
    assert scene.around()["files"] != files
    (scene.outside / "new").unlink()


# What becomes of the processes themselves, whoever is killed.


def until(true: Callable[[], bool]) -> None:
    """Waits for what has to come true."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    """Whether a process is there, and more than an entry for its parent to read."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture(params=["root", "ordinary"])
def fresh(request, tmp_path):
    """A scene of its own, whose grader may be killed."""
    made = scene_for(request.param, tmp_path)
    yield made
    made.server.close()
    made.grader.kill()


def running(scene: Scene, answer: str) -> list[int]:
    """The grader's processes while an answer runs that does not end."""
    idle = len(descendants(scene.grader.pid))
    scene.grader.send(answer=answer, seconds=PATIENCE)
    until(lambda: len(descendants(scene.grader.pid)) > idle)
    return descendants(scene.grader.pid)


IGNORES_ALL = cell(ENDLESS["every signal ignored"])


def test_nothing_outlives_a_killed_grader(fresh):
    processes = running(fresh, IGNORES_ALL)
    assert len(processes) == 3, "an outer one, the warm one and the child"
    fresh.grader.kill()
    until(lambda: not any(map(alive, processes)))
    assert list(fresh._temporary.iterdir()) == []


@pytest.fixture
def warm(monkeypatch):
    """A warm process that no other test uses."""
    made = start._Warm()
    monkeypatch.setattr(
        start, "_warm", cache(lambda owner, first=[made]: first.pop() if first else start._Warm())
    )
    return made._process.pid


def ask_and(child: Child, act: Callable[[], None], code: str = "while True: pass") -> None:
    """Does something to a child that works at an endless request, and has the request's end raised."""
    thread = threading.Timer(0.2, act)
    thread.start()
    try:
        child.ask(PATIENCE, do="run", source=code)
    finally:
        thread.join()


@pytest.mark.parametrize("which", [0, 1, 2], ids=["outer", "warm", "child"])
def test_a_child_that_others_kill_is_known_and_replaced(warm, which):
    with Child({}) as child:
        processes = [warm, *descendants(warm)]
        with pytest.raises(Killed):
            ask_and(child, lambda: os.kill(processes[which], signal.SIGKILL))
    with Child({}) as child:
        assert child.ask(PATIENCE, do="run", source="1")["error"] is None
    until(lambda: not any(alive(pid) for pid in processes[which:]))


@pytest.mark.parametrize(
    "code",
    [
        "import os; os._exit(0)",
        "import os; os._exit(137)",
        "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
        "import os; os.abort()",
        "import ctypes, os; ctypes.CDLL(None).syscall(62, ctypes.c_long(os.getpid()), ctypes.c_long(9 + (1 << 32))); os._exit(0)",
        "import ctypes; ctypes.string_at(0)",
    ],
)
def test_a_child_that_ends_by_itself_was_not_killed(code):
    with Child({}) as child, pytest.raises(Lost) as lost:
        child.ask(PATIENCE, do="run", source=code)
    assert not isinstance(lost.value, Killed)


def test_a_child_has_no_rights_that_the_kernel_could_give(warm):
    with Child({}) as child:
        if set(child.layers) != set(LAYERS):
            pytest.skip("layers are missing here")
        lines = Path(f"/proc/{descendants(warm)[-1]}/status").read_text().splitlines()
    status = dict(line.split(":", 1) for line in lines)
    assert {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
    assert (int(status["NoNewPrivs"]), int(status["Seccomp"])) == (1, 2)
    assert "0" not in status["Uid"].split() + status["Gid"].split() + status["Groups"].split()


def resident(pid: int) -> int:
    """Kilobytes of memory that are a process's own."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


def test_the_warm_process_does_not_grow(warm):
    def use(times: int) -> tuple[int, int]:
        for _ in range(times):
            Child({}).close()
        (pid,) = descendants(warm)
        return pid, len(list(Path(f"/proc/{pid}/fd").iterdir()))

    pid, descriptors = use(50)
    before = resident(pid)
    assert use(200) == (pid, descriptors)
    assert resident(pid) - before < 1000


def test_a_child_that_nobody_waits_for_is_gone_before_the_next_one_starts(warm):
    def alive_now() -> set[int]:
        return set(descendants(warm)[1:])

    for _ in range(20):
        with Child({}) as child:
            mine = alive_now()
            child.close(wait=False)
        with Child({}) as child:
            assert len(mine) == len(alive_now()) == 1
            assert not mine & alive_now()
            with pytest.raises(
                Killed
            ):  # and what is asked next is told of its own child, not of the last one
                ask_and(child, lambda: os.kill(*alive_now(), signal.SIGKILL))
    assert alive_now() == set()


def test_two_children_draw_other_random_numbers():
    code = "import random, numpy\nx = [random.random(), numpy.random.random(), numpy.random.default_rng().random()]\nx"
    seen = []
    for _ in range(2):
        with Child({}) as child:
            (output,) = child.ask(PATIENCE, do="run", source=code)["outputs"]
            seen += output["data"]["text/plain"].strip("[]").split(", ")
    assert len(set(seen)) == 6


def test_the_files_beside_the_notebook_are_the_child_s_own():
    code = "import os\nassert sorted(os.listdir()) == ['a.py', 'b.bin']\nopen('a.py', 'a').write('x = 2')\nimport a\na.x"
    for _ in range(2):
        with Child({"a.py": b"x = 1\n", "b.bin": bytes(range(256))}) as child:
            reply = child.ask(PATIENCE, do="run", source=code)
            assert reply["error"] is None
            assert reply["outputs"][-1]["data"]["text/plain"] == "2"


def test_what_a_notebook_may_do_it_can_do():
    """Threads, asyncio, files, plots and processes' own signals work behind all the walls."""
    code = """
import asyncio, concurrent.futures, os, pathlib, shutil, signal, tempfile, threading
import numpy as np, matplotlib.pyplot as plt
with concurrent.futures.ThreadPoolExecutor(8) as pool: assert sum(pool.map(abs, range(-9, 0))) == 45
await asyncio.gather(*(asyncio.sleep(0.001) for _ in range(5)))
assert await asyncio.to_thread(abs, -1) == 1
np.save('x.npy', np.eye(3)); assert np.load('x.npy').trace() == 3
with tempfile.TemporaryDirectory() as folder: pathlib.Path(folder, 'x').write_text('x')
shutil.copyfile('x.npy', 'y.npy'); os.rename('y.npy', 'z.npy'); os.remove('z.npy')
hits = []
signal.signal(signal.SIGUSR1, lambda *a: hits.append(1)); os.kill(os.getpid(), signal.SIGUSR1); assert hits
np.linalg.svd(np.random.rand(200, 200))
figure, axes = plt.subplots(); axes.plot([1, 2]); figure.savefig('x.svg'); plt.close(figure)
"""
    with Child({}) as child:
        reply = child.ask(PATIENCE, do="run", source=code)
    assert reply["error"] is None


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import subprocess; subprocess.run(['ls'])", "may not start other programs"),
        ("import os; os.system('ls')", "may not start other programs"),
        ("!ls", "may not start other programs"),
        ("import os; os.fork()", "may not start other programs"),
        ("import multiprocessing as m; m.Process(target=print).start()", "may not start other programs"),
        ("import urllib.request as r; r.urlopen('http://localhost')", "has no network"),
        ("import socket; socket.socket()", "has no network"),
    ],
)
def test_what_is_denied_is_said_in_words(code, words):
    with Child({}) as child:
        if "seccomp" not in child.layers:
            pytest.skip("seccomp is missing here")
        error = child.ask(PATIENCE, do="run", source=code)["error"]
    assert words in error["text"]
