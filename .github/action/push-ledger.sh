# Pushes the commits of the ledger: to the state branch, or to the branch that was checked out. Another run may push at the
# same time: urldb merges both.
source "$GITHUB_ACTION_PATH/.github/action/git.sh"
[ "${GITHUB_EVENT_NAME:-}" != pull_request ] || { echo 'A pull request needs no ledger.'; exit 0; }
[ "$COMMIT_LEDGER" = true ] || { echo 'The ledger is not pushed.'; exit 0; }

cd -- "$WORKING_DIRECTORY"
with_token "$RUNNER_TEMP/urldb/bin/urldb" push || fail 'the ledger could not be pushed, so the next run knows nothing of this one'
