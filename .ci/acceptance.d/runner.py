"""A runner of GitHub, as far as action.yml needs one: its variables and files, its expressions, its cache."""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import yaml
from support import SOURCE, check, git, sh, urldb

HERE = Path.cwd()
ACTION = yaml.safe_load((SOURCE / "action.yml").read_text())
# Instead of the gh of this machine, which would ask the network: one that knows no attestations.
GH = HERE / "tools" / "gh"
GH.parent.mkdir()
GH.write_text("#!/bin/sh\nexit 1\n")
GH.chmod(0o755)
ARCHITECTURES = {"x86_64": "X64", "aarch64": "ARM64"}


def lookup(name, inputs, outputs, event):
    """The value of a name in an expression; any other than those of action.yml is an error of this script."""
    kind, key = name.rsplit(".", 1)
    if kind == "inputs":
        return inputs[key]
    if name == "github.token":
        return "not-a-token"
    if name == "runner.temp":
        return inputs[name]
    if kind.startswith("github.event."):
        return event.get(name.removeprefix("github.event."), "")
    step = re.fullmatch(r"steps\.([\w-]+)\.outputs", kind)
    return outputs.get(step[1], {}).get(key, "")


def evaluate(text, inputs, outputs, event):
    """Replaces the expressions of a text."""
    return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda match: lookup(match[1], inputs, outputs, event), text)


def applies(condition, failed, inputs, outputs, event):
    """Whether a step with this condition is run."""
    terms = condition.removeprefix("${{ ").removesuffix(" }}").split(" && ") if condition else []
    if failed and "always()" not in terms:
        return False
    for term in terms:
        if term == "always()":
            continue
        name, operator, value = re.fullmatch(r"([\w.-]+) (==|!=) '([\w-]*)'", term).groups()
        if (lookup(name, inputs, outputs, event) == value) != (operator == "=="):
            return False
    return True


def tagged_action(archives):
    """The action at the tag of a release with these archives, made by the script of the release workflow."""
    action = HERE / "action"
    action.mkdir()
    shutil.copy(SOURCE / "Cargo.toml", action)
    shutil.copytree(SOURCE / ".github/action", action / ".github/action")
    git("init", "--quiet", cwd=action)
    git("add", "--all", cwd=action)
    git("commit", "--quiet", "--message", "Built from this", cwd=action)
    built = git("rev-parse", "HEAD", cwd=action)
    version = urldb("--version").stdout.split()[1]
    sh(SOURCE / ".ci/release-tag", "9.9.9", archives, cwd=action, expect=1)
    # The same files make the same commit, so that a job may run again.
    sh(SOURCE / ".ci/release-tag", version, archives, cwd=action)
    tag = git("rev-parse", f"v{version}", cwd=action)
    git("tag", "--delete", f"v{version}", cwd=action)
    sh(SOURCE / ".ci/release-tag", version, archives, cwd=action)
    check(git("rev-parse", f"v{version}", cwd=action) == tag, "two commits of one release")
    changed = git("diff", "--name-status", built, tag, cwd=action)
    check(changed == "A\t.github/action/SHA256SUMS" and git("rev-parse", f"{tag}~", cwd=action) == built, changed)
    check(not git("status", "--porcelain", cwd=action), "making the tag changed the checkout")
    git("checkout", "--quiet", "--detach", tag, cwd=action)
    sh(SOURCE / ".ci/release-tag", version, archives, cwd=action, expect=1)
    return action


class Runner:
    """One execution of the action in a fresh checkout of the remote."""

    def __init__(self, name, remote, source=SOURCE, **inputs):
        self.source = source
        self.temp = HERE / name
        self.workspace = self.temp / "workspace"
        self.temp.mkdir()
        git("clone", "--quiet", remote, self.workspace)
        defaults = {key: value.get("default", "") for key, value in ACTION["inputs"].items()}
        defaults = {key: evaluate(value, {}, {}, {}) for key, value in defaults.items()}
        self.inputs = defaults | {"binary": shutil.which("urldb"), "runner.temp": str(self.temp)} | inputs
        self.summary = self.temp / "summary.md"
        self.log = ""
        self.event = {"GITHUB_EVENT_NAME": "push", "GITHUB_REPOSITORY": "ada/urls"}
        self.payload = {}
        self.uploads = {}
        self.seconds = {}

    def checkout(self, commit):
        """What actions/checkout leaves: one commit, and nothing of its history."""
        shutil.rmtree(self.workspace)
        git("init", "--quiet", self.workspace)
        git("remote", "add", "origin", f"file://{HERE / 'remote.git'}", cwd=self.workspace)
        git("fetch", "--quiet", "--no-tags", "--depth=1", "origin", commit, cwd=self.workspace)
        git("checkout", "--quiet", "--detach", commit, cwd=self.workspace)

    def use(self, action, options):
        """What another action does: restores a folder, and returns how to store it; or notes what is uploaded."""
        if action == "actions/cache":
            check(re.fullmatch(r"[\w.-]{1,512}", options["key"]), f"the key of the cache is {options['key']!r}")
            stored = HERE / "cache" / options["key"]
            if not stored.exists():
                return lambda: shutil.copytree(options["path"], stored)
            shutil.copytree(stored, options["path"], dirs_exist_ok=True)
        else:
            folder = self.workspace / options["path"]
            self.uploads[action, options.get("name")] = sorted(path.name for path in folder.iterdir())
        return lambda: None

    def run(self, before_push=lambda: None):
        """Whether the action succeeds. After a step that fails, only those with `always()` are run."""
        outputs, failed, afterwards = {}, False, []
        for number, step in enumerate(ACTION["runs"]["steps"]):
            if not applies(step.get("if"), failed, self.inputs, outputs, self.payload):
                continue
            if "uses" in step:
                name, _ = step["uses"].split("@")
                options = {key: evaluate(value, self.inputs, outputs, self.payload) for key, value in step["with"].items()}
                afterwards.append(self.use(name, options))
                continue
            if step["name"] == "Push the ledger":
                before_push()
            output = self.temp / f"output-{number}"
            output.touch()
            environment = os.environ | {
                "GITHUB_ACTION_PATH": str(self.source),
                "PATH": f"{GH.parent}:{os.environ['PATH']}",
                "GITHUB_WORKSPACE": str(self.workspace),
                "GITHUB_REF_NAME": "main",
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(self.summary),
                "RUNNER_TEMP": str(self.temp),
                "RUNNER_OS": "Linux",
                "RUNNER_ARCH": ARCHITECTURES[os.uname().machine],
                "GITHUB_ACTIONS": "true",
            }
            environment |= self.event
            environment |= {key: evaluate(value, self.inputs, outputs, self.payload) for key, value in step.get("env", {}).items()}
            check(step["shell"] == "bash" and "${{" not in step["run"], f"step {step['name']}")
            script = self.temp / f"step-{number}.sh"
            script.write_text(step["run"])
            shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", script]
            began = time.monotonic()
            done = subprocess.run(
                shell, cwd=self.workspace, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            self.seconds[step["name"]] = time.monotonic() - began
            self.log += f"--- {step['name']}\n{done.stdout}"
            outputs[step.get("id", number)] = dict(line.split("=", 1) for line in output.read_text().splitlines())
            failed = failed or done.returncode != 0
        # The cache stores nothing of a job that failed.
        for store in [] if failed else afterwards:
            store()
        return not failed

    def expect(self, success):
        check(self.run() == success, f"the action did not {'pass' if success else 'fail'}:\n{self.log}")
        return self
