# Pushes the commits of the ledger to the state branch. Another run may push at the same time.
source "$GITHUB_ACTION_PATH/.github/action/git.sh"
[ "${GITHUB_EVENT_NAME:-}" != pull_request ] || { echo 'A pull request needs no ledger.'; exit 0; }
[ -n "$STATE_BRANCH" ] && [ "$COMMIT_LEDGER" = true ] || { echo 'The ledger is not pushed.'; exit 0; }

cd -- "$WORKING_DIRECTORY"
project=$PWD
cd -- "$LEDGER"
# Runs only append lines to the history, so a merge keeps the lines of both sides.
line='history/*.jsonl merge=union'
grep -qsxF "$line" .gitattributes || echo "$line" >>.gitattributes
git add --all
# The run has committed the rest, with a message that tells what happened.
git diff --cached --quiet || git commit --quiet -m 'Store further files of the ledger'

# Finishes a rebase at which git stopped: two runs saw the same news, and urldb merges their entries.
resolve() {
  (cd -- "$project" && "$RUNNER_TEMP/urldb/bin/urldb" resolve) && GIT_EDITOR=true git rebase --continue
}

ref=refs/heads/$STATE_BRANCH
for attempt in 1 2 3 4 5; do
  git push --quiet origin "HEAD:$ref" && exit 0
  echo "Attempt $attempt to push the ledger failed; rebasing on what is there now."
  sleep "$attempt"
  git fetch --quiet --no-tags origin "$ref" || continue
  git rebase --quiet FETCH_HEAD || resolve ||
    { git rebase --abort; fail 'another run changed the ledger in the same places'; }
done
fail 'the ledger could not be pushed to the state branch'
