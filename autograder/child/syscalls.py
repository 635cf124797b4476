"""seccomp: the system calls that are left to a child. See seccomp(2) and libseccomp's seccomp_rule_add(3).

An allow-list of names: what it does not have fails as if the kernel did not know it (ENOSYS), which
libraries are ready for; what is known and denied fails as forbidden (EPERM), which people understand. A
child runs code in its own process and threads: it starts no other, opens no socket but a pair of its own,
and names no other process.
"""

import ctypes
import errno
import os
import signal
import sys

ALLOWED = """
    read readv pread64 preadv preadv2 write writev pwrite64 pwritev pwritev2 open openat creat close
    close_range
    stat stat64 fstat fstat64 lstat lstat64 newfstatat fstatat64 statx statfs statfs64 fstatfs fstatfs64
    access faccessat faccessat2 readlink readlinkat getcwd chdir fchdir getdents getdents64 lseek _llseek
    truncate truncate64 ftruncate ftruncate64 fallocate fadvise64 fsync fdatasync sync_file_range
    mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 link linkat symlink symlinkat umask flock
    dup dup2 dup3 pipe pipe2 sendfile sendfile64 copy_file_range
    poll ppoll ppoll_time64 select _newselect pselect6 pselect6_time64 epoll_create epoll_create1 epoll_ctl
    epoll_wait epoll_pwait epoll_pwait2 eventfd eventfd2 timerfd_create timerfd_settime timerfd_gettime
    shutdown sendto recvfrom sendmsg recvmsg getsockopt setsockopt getsockname getpeername send recv
    brk mmap mmap2 munmap mprotect mremap madvise msync mincore membarrier
    futex futex_time64 futex_waitv set_robust_list get_robust_list set_tid_address set_thread_area
    arch_prctl rseq
    rt_sigaction rt_sigprocmask rt_sigreturn sigreturn rt_sigtimedwait rt_sigpending rt_sigsuspend
    sigaltstack
    pause alarm getitimer setitimer restart_syscall
    nanosleep clock_nanosleep clock_nanosleep_time64 clock_gettime clock_gettime64 clock_getres
    clock_getres_time64 gettimeofday time times
    getpid gettid getppid getpgrp getpgid getsid getuid geteuid getgid getegid getresuid getresgid getgroups
    getuid32 geteuid32 getgid32 getegid32 getgroups32 getrusage getrlimit ugetrlimit
    waitid wait4 getpriority sched_yield sched_getaffinity sched_getparam sched_getscheduler getcpu
    uname sysinfo getrandom exit exit_group
"""

DENIED = """
    fork vfork execve execveat socket connect bind listen accept accept4
    chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat chown32 fchown32 lchown32
    utime utimes utimensat utimensat_time64 futimesat mknod mknodat
    mount umount umount2 pivot_root chroot open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr
    swapon swapoff quotactl acct sync syncfs unshare setns
    ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp pidfd_open pidfd_getfd
    pidfd_send_signal tkill rt_sigqueueinfo rt_tgsigqueueinfo
    setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups setsid setpgid
    capset personality setrlimit
    init_module finit_module delete_module kexec_load kexec_file_load reboot bpf perf_event_open
    io_uring_setup io_uring_enter io_uring_register io_setup io_submit userfaultfd memfd_create memfd_secret
    keyctl add_key request_key
    shmget shmat shmctl semget semop semctl msgget msgsnd msgrcv msgctl mq_open mq_unlink
    mlock mlock2 mlockall mbind set_mempolicy migrate_pages move_pages
    sched_setaffinity sched_setscheduler sched_setparam sched_setattr setpriority ioprio_set
    inotify_init inotify_init1 inotify_add_watch fanotify_init fanotify_mark name_to_handle_at
    open_by_handle_at
    settimeofday clock_settime adjtimex clock_adjtime sethostname setdomainname syslog
    setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr splice tee vmsplice
    landlock_create_ruleset landlock_add_rule landlock_restrict_self seccomp
"""

# As on many file systems.
UNSUPPORTED = "getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr"

# Of fcntl: no F_SETOWN, F_SETSIG, F_NOTIFY, F_SETLEASE, which send signals, nor F_SETPIPE_SZ.
FCNTL = (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1032, 1034)
# TCGETS TIOCGWINSZ FIONREAD FIONBIO FIONCLEX FIOCLEX
IOCTL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
PRCTL = (15, 16, 0x53564D41)  # PR_SET_NAME, PR_GET_NAME, PR_SET_VMA: names for threads and memory
SIGNALS = 65  # 0 asks whether a process is there
CLONE_THREAD = 0x10000
CLONE_NEW = 0x7E020080  # every namespace
AF_UNIX, SOCK_STREAM, SOCK_KINDS = 1, 1, 0xF

ALLOW, KILL_PROCESS, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
NOT_EQUAL, EQUAL, MASKED = 1, 4, 7  # of scmp_compare
BAD_ARCH = 2  # of scmp_filter_attr: what another architecture's calls do
SET_NO_NEW_PRIVS, SET_SECCOMP, FILTER_MODE = 38, 22, 2
SELF = 0x7A5C3E19  # stands in the filter for the child's own id, which no child can have: it is too large


class _Compare(ctypes.Structure):
    _fields_ = (
        ("arg", ctypes.c_uint),
        ("op", ctypes.c_int),
        ("datum_a", ctypes.c_uint64),
        ("datum_b", ctypes.c_uint64),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


class _Filter:
    """A filter in the making."""

    def __init__(self, lib: ctypes.CDLL, default: int) -> None:
        self._lib = lib
        lib.seccomp_init.restype = ctypes.c_void_p
        self._context = ctypes.c_void_p(lib.seccomp_init(ctypes.c_uint32(default)))
        lib.seccomp_attr_set(self._context, BAD_ARCH, ctypes.c_uint32(KILL_PROCESS))

    def rule(self, action: int, name: str, *comparisons: tuple[int, int, int, int]) -> None:
        """One rule; `name` may be unknown to this architecture, which then needs no rule.

        Raises OSError where libseccomp does not take a rule for a call that it knows.
        """
        number = self._lib.seccomp_syscall_resolve_name(name.encode())
        if number < 0:
            return
        array = (_Compare * len(comparisons))(*(_Compare(*one) for one in comparisons))
        code = self._lib.seccomp_rule_add_array(
            self._context, ctypes.c_uint32(action), number, ctypes.c_uint(len(comparisons)), array
        )
        if code != 0:
            raise OSError(-code, f"seccomp_rule_add({name}): {os.strerror(-code)}")

    def program(self) -> bytes:
        """The filter as the kernel takes it."""
        with os.fdopen(os.memfd_create("filter"), "rb") as file:
            code = self._lib.seccomp_export_bpf(self._context, file.fileno())
            self._lib.seccomp_release(self._context)
            if code != 0:
                raise OSError(-code, f"seccomp_export_bpf: {os.strerror(-code)}")
            file.seek(0)
            return file.read()


def program() -> bytes | None:
    """The filter that every child puts up, made once; None where there is no libseccomp.

    A child signals itself, and no other. Nor does it kill itself, so that a child that was killed is known
    to have been killed by others.
    """
    lib = _library()
    if lib is None:
        return None
    made = _Filter(lib, _denied(errno.ENOSYS))
    for name in ALLOWED.split():
        made.rule(ALLOW, name)
    for name in DENIED.split():
        made.rule(_denied(errno.EPERM), name)
    for name in UNSUPPORTED.split():
        made.rule(_denied(errno.ENOTSUP), name)
    for names, argument, values in (("fcntl fcntl64", 1, FCNTL), ("ioctl", 1, IOCTL), ("prctl", 0, PRCTL)):
        for name in names.split():
            for value in values:
                made.rule(ALLOW, name, (argument, EQUAL, value, 0))
    made.rule(ALLOW, "clone", (0, MASKED, CLONE_THREAD | CLONE_NEW, CLONE_THREAD))
    made.rule(_denied(errno.EPERM), "clone", (0, MASKED, CLONE_THREAD, 0))  # clone3, unknown, leads here
    stream = (1, MASKED, SOCK_KINDS, SOCK_STREAM)
    made.rule(ALLOW, "socketpair", (0, EQUAL, AF_UNIX, 0), stream)
    made.rule(ALLOW, "prlimit64", (0, EQUAL, 0, 0), (2, EQUAL, 0, 0))  # asks for its own limits, sets none
    made.rule(_denied(errno.EPERM), "prlimit64", (2, NOT_EQUAL, 0, 0))
    for name, which in (("kill", 1), ("tgkill", 2)):
        for number in {*range(SIGNALS)} - {signal.SIGKILL}:  # the kernel looks at the lower half of a number
            made.rule(ALLOW, name, (0, EQUAL, SELF, 0), (which, EQUAL, number, 0))
        made.rule(_denied(errno.EPERM), name, (0, NOT_EQUAL, SELF, 0))
        made.rule(_denied(errno.EPERM), name, (which, EQUAL, signal.SIGKILL, 0))
    return made.program()


def put_up(filter_: bytes | None) -> bool:
    """Puts the filter on this process, for good; returns whether it holds."""
    if not sys.platform.startswith("linux") or filter_ is None:
        return False
    own = filter_.replace(_operand(SELF), _operand(os.getpid()))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    compiled = _Program(len(own) // 8, own)
    return int(libc.prctl(SET_SECCOMP, FILTER_MODE, ctypes.byref(compiled), 0, 0)) == 0


def _operand(number: int) -> bytes:
    """A number as the kernel's instructions have it."""
    return number.to_bytes(4, sys.byteorder)


def _denied(number: int) -> int:
    return ERRNO | number


def _library() -> ctypes.CDLL | None:
    if not sys.platform.startswith("linux"):
        return None
    try:
        return ctypes.CDLL("libseccomp.so.2")
    except OSError:
        return None
