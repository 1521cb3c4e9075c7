# Makes the ledger folder a worktree of the state branch, in which `urldb run` commits, and which `urldb push` pushes.
source "$GITHUB_ACTION_PATH/.github/action/git.sh"
[ "${GITHUB_EVENT_NAME:-}" != pull_request ] || { echo 'A pull request needs no ledger.'; exit 0; }
[ -n "$STATE_BRANCH" ] || { echo 'The ledger is part of the checkout.'; exit 0; }

# Rejects everything that is not a branch name. The message does not repeat the text.
{ git check-ref-format --branch "$STATE_BRANCH" && git check-ref-format "refs/heads/$STATE_BRANCH"; } >/dev/null 2>&1 ||
  fail 'state-branch is not a valid branch name'
[ "$STATE_BRANCH" != "${GITHUB_REF_NAME:-}" ] ||
  fail 'state-branch is the branch that is checked: give the ledger a branch of its own'

cd -- "$WORKING_DIRECTORY"
[ -z "$(git ls-files -- "$LEDGER")" ] ||
  fail 'the ledger folder is in the checkout already: remove it there, or set state-branch to an empty text'

ref=refs/heads/$STATE_BRANCH
if git ls-remote --exit-code origin "$ref" >/dev/null; then
  git fetch --quiet --no-tags --depth=1 origin "$ref"
  start=$(git rev-parse FETCH_HEAD)
elif [ $? -eq 2 ]; then
  echo 'There is no state branch yet: beginning one.'
  start=$(git commit-tree "$(git mktree </dev/null)" -m 'Begin the ledger')
else
  fail 'the state branch could not be asked for'
fi
git worktree prune # a cleaned workspace may still list the worktree of an earlier run
git worktree add --quiet -B "$STATE_BRANCH" -- "$LEDGER" "$start"
git config "branch.$STATE_BRANCH.remote" origin
git config "branch.$STATE_BRANCH.merge" "$ref"
