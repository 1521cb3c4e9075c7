# Makes the ledger folder a worktree of the state branch, in which `urldb run` commits, and which `urldb push` pushes. A
# ledger that is part of the checkout gets its commits on the branch that is checked out.
source "$GITHUB_ACTION_PATH/.github/action/git.sh"
[ "${GITHUB_EVENT_NAME:-}" != pull_request ] || { echo 'A pull request needs no ledger.'; exit 0; }

# `urldb push` pushes a branch to the branch that it follows.
follow() { # BRANCH
  git config "branch.$1.remote" origin
  git config "branch.$1.merge" "refs/heads/$1"
}

if [ -z "$STATE_BRANCH" ]; then
  [ "$COMMIT_LEDGER" = true ] || { echo 'The ledger is part of the checkout, and is not pushed.'; exit 0; }
  cd -- "$WORKING_DIRECTORY"
  # GitLab checks out a commit, and GitHub a tag or a branch.
  branch=$(git symbolic-ref --quiet --short HEAD) || branch=${GITHUB_REF_NAME:-}
  with_token git ls-remote --exit-code origin "refs/heads/$branch" >/dev/null ||
    fail 'the ledger is part of the checkout, and only a branch can get its commits: run on a branch, or set state-branch'
  git checkout --quiet -B "$branch"
  follow "$branch"
  # A run that waited for another has the commit of the time when it was asked for, and so a ledger without the other's news.
  with_token git fetch --quiet --no-tags origin "refs/heads/$branch"
  git merge --quiet --ff-only FETCH_HEAD || echo '::notice::the checkout has commits of its own, so the latest ledger is merged after the run'
  exit 0
fi

# Rejects everything that is not a branch name. The message does not repeat the text.
{ git check-ref-format --branch "$STATE_BRANCH" && git check-ref-format "refs/heads/$STATE_BRANCH"; } >/dev/null 2>&1 ||
  fail 'state-branch is not a valid branch name'
[ "$STATE_BRANCH" != "${GITHUB_REF_NAME:-}" ] ||
  fail 'state-branch is the branch that is checked: give the ledger a branch of its own'

cd -- "$WORKING_DIRECTORY"
[ -z "$(git ls-files -- "$LEDGER")" ] ||
  fail 'the ledger folder is in the checkout already: remove it there, or set state-branch to an empty text, so that the action pushes the ledger to the branch of the checkout'

ref=refs/heads/$STATE_BRANCH
if with_token git ls-remote --exit-code origin "$ref" >/dev/null; then
  with_token git fetch --quiet --no-tags --depth=1 origin "$ref"
  start=$(git rev-parse FETCH_HEAD)
elif [ $? -eq 2 ]; then
  echo 'There is no state branch yet: beginning one.'
  start=$(git commit-tree "$(git mktree </dev/null)" -m 'Begin the ledger')
else
  fail 'the state branch could not be asked for'
fi
git worktree prune # a cleaned workspace may still list the worktree of an earlier run
git worktree add --quiet -B "$STATE_BRANCH" -- "$LEDGER" "$start"
follow "$STATE_BRANCH"
