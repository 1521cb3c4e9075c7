"""A root folder like that of a small Linux machine: the C library, a shell, git, curl with its certificate authorities,
and no compiler."""

import os
import re
import shutil
import stat
import subprocess
import sysconfig
from pathlib import Path

from support import check, git, sh

PROGRAMS = """
    awk base64 basename bash cat chmod cp curl cut date dirname env find git grep gzip head id install ln ls mkdir
    mktemp mv printf rm sed sh sha256sum sleep sort tail tar touch tr true uname wc xargs
""".split()
COMPILERS = ["cc", "gcc", "clang", "ld", "rustc", "cargo", "make"]
# Libraries that each system with glibc has: they belong to it, or its package depends on theirs.
LIBRARIES = ["libc.so.6", "libgcc_s.so.1", "libm.so.6"]
# Names under which git starts itself.
GIT = ["git-receive-pack", "git-upload-pack"]


class Root:
    """Programs of this machine with the libraries that they load, copied into an empty folder."""

    def __init__(self, path, *more):
        self.path = path
        for folder in ("bin", "dev", "etc", "home/user", "proc", "tmp"):
            (path / folder).mkdir(parents=True)
        (path / "tmp").chmod(0o1777)
        for device, minor in (("null", 3), ("urandom", 9)):
            os.mknod(path / "dev" / device, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
        # What `curl https://…` needs, too.
        self.copy(Path("/etc/ssl/certs/ca-certificates.crt"))
        (path / "etc/passwd").write_text("user:x:0:0::/home/user:/bin/sh\n")
        for program in [*PROGRAMS, *more]:
            found = shutil.which(program)
            check(found, f"{program} is not on this machine")
            self.add(Path(found).resolve(), Path("bin") / Path(program).name)
        known = re.findall(r"^\s(\S+) .* => (/\S+)$", sh("ldconfig", "-p").stdout, re.MULTILINE)
        by_name = dict(reversed(known))  # the first one of a name is the one that programs get
        self.add_libraries([by_name[name] for name in LIBRARIES])
        core = path / git("--exec-path").lstrip("/")
        core.mkdir(parents=True)
        for name in GIT:
            (core / name).symlink_to("/bin/git")
        for compiler in COMPILERS:
            check(not list(path.rglob(compiler)), f"{compiler} is in the root")

    def add(self, program, place):
        """Copies a program, and the libraries that it loads."""
        target = self.path / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(program, target)
        self.add_libraries(re.findall(r"(/\S+) \(0x", sh("ldd", program, expect=None).stdout))

    def add_libraries(self, libraries):
        """Copies libraries to where they are on this machine."""
        for library in libraries:
            self.copy(Path(library))

    def copy(self, file):
        """Copies a file to where it is on this machine."""
        copy = self.path / file.relative_to("/")
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file.resolve(), copy)

    def add_python(self):
        """Copies the interpreter of this script and its standard library; the path of the interpreter."""
        standard = Path(sysconfig.get_path("stdlib"))
        executable = Path(os.path.realpath(shutil.which("python3")))
        self.add(executable, Path(*executable.parts[1:]))
        left_out = shutil.ignore_patterns("site-packages", "dist-packages", "test", "tests", "__pycache__", "config-*", "idlelib", "*.a")
        shutil.copytree(standard, self.path / standard.relative_to("/"), ignore=left_out, symlinks=True)
        for module in (standard / "lib-dynload").glob("*.so"):
            self.add_libraries(re.findall(r"(/\S+) \(0x", sh("ldd", module, expect=None).stdout))
        return executable

    def run(self, script, cwd="/home/user", expect=0, **variables):
        """Runs a shell script in the root as its only user; everything that it printed."""
        environment = {"HOME": "/home/user", "PATH": "/home/user/.local/bin:/bin", "LANG": "C.UTF-8"} | variables
        words = ["env", "--ignore-environment", *(f"{key}={value}" for key, value in environment.items())]
        inside = 'mount -t proc proc "$1/proc" && cd "$1" && shift && exec chroot . "$@"'
        done = subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", inside, "sh", str(self.path), *words,
             "sh", "-euc", f"cd {cwd}\n{script}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        check(expect is None or done.returncode == expect, f"exit code {done.returncode} of\n{script}\n{done.stdout[-4000:]}")
        return done.stdout
