"""A place where a program of which little is known can do no harm: namespaces of its own, and a private root, in which
nothing is left of root's rights."""

import ctypes
import os
import resource
import shutil
import signal
import sys

NOBODY = 65534
LIBC = ctypes.CDLL(None, use_errno=True)
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38


def enter_namespaces():
    """Starts the script again, as process 1 of new namespaces."""
    if os.environ.get("IN_ORACLE") == "1":
        assert os.getpid() == 1, "must be process 1 of its own namespace: it ends every other process in it"
        return
    os.environ["IN_ORACLE"] = "1"
    spaces = ["--kill-child", "-m", "-p", "-n", "-u", "-i", "-f", "--mount-proc"]
    os.execvp("unshare", ["unshare", *spaces, sys.executable, os.path.abspath(sys.argv[0]), *sys.argv[1:]])


def give_up_everything(root, processes, seconds):
    """A private root, and then every capability is dropped for good: namespaces cover neither the clock (`date -s`) nor
    a reboot, modules or other processes' memory."""
    os.setsid()
    os.chroot(root)
    os.chdir("/project")
    for capability in range(41):
        LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    limits = ((resource.RLIMIT_NPROC, processes), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_FSIZE, 16 << 20))
    for what, limit in limits:
        resource.setrlimit(what, (limit, limit))
    LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def end_all(program):
    """Ends a program and all processes it left in this namespace, of which we are process 1, and no others."""
    try:
        os.kill(-1, signal.SIGKILL)
    except OSError:
        pass
    program.wait()
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def empty(folder, but=()):
    """Removes what is in a folder, but not these paths."""
    for entry in os.scandir(folder):
        if entry.path in but:
            continue
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)


def entries(root, folders):
    """What lies below these folders of the root: each path as programs in it see it, its state, and whether it is listed as a
    folder, which links to folders are as well."""
    for folder in folders:
        for base, inner, files in os.walk(f"{root}/{folder}"):
            for entry in files + inner:
                path = os.path.join(base, entry)
                yield path[len(root):], os.lstat(path), entry not in files
