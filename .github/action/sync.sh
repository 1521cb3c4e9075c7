# Follows the lists of urldb.toml before a run, and pushes the records to the branch that was checked out. A refused
# push is undone: the run then compares the lists with the records, and says that they differ. Nothing stops the run.
source "$GITHUB_ACTION_PATH/.github/action/git.sh"
source "$GITHUB_ACTION_PATH/.github/action/environment.sh"
[ "${GITHUB_EVENT_NAME:-}" != pull_request ] || { echo 'A pull request is checked as it is.'; exit 0; }

case ${ARGS:-} in
  *--shard* | *--from*) echo 'All shards need the same commit, so none of them follows the lists.'; exit 0 ;;
esac

cd -- "$WORKING_DIRECTORY"
urldb=$RUNNER_TEMP/urldb/bin/urldb
before=$(git rev-parse --quiet --verify HEAD) || { echo 'There is no commit to build on.'; exit 0; }
"$urldb" sync --commit || echo '::warning::not all records follow their lists'
[ "$(git rev-parse HEAD)" != "$before" ] || exit 0

with_token git push --quiet origin "HEAD:refs/heads/$GITHUB_REF_NAME" || {
  echo "::warning::the records that follow the lists could not be pushed to $GITHUB_REF_NAME"
  git reset --quiet --hard "$before"
}
