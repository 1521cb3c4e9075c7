# Writes the records that a pull request changes into the job summary, and into one comment. A failure is
# only a warning.
source "$GITHUB_ACTION_PATH/.github/action/git.sh"
[ "${GITHUB_EVENT_NAME:-}" = pull_request ] || { echo 'This is no pull request.'; exit 0; }

cd -- "$WORKING_DIRECTORY"

# The commit of the event merges the pull request into its base, the first parent.
base=$GITHUB_SHA^1
fetch() {
  local depth=()
  [ "$(git rev-parse --is-shallow-repository)" = false ] || depth=(--depth=2)
  with_token git fetch --quiet --no-tags ${depth[@]+"${depth[@]}"} origin "$GITHUB_SHA"
}

if { git rev-parse --quiet --verify "$base^{commit}" >/dev/null || fetch; } &&
  summary=$("$RUNNER_TEMP/urldb/bin/urldb" diff --format markdown "$base..$GITHUB_SHA"); then
  # The check of the changes needs the base too, but no summary.
  [ "$DIFF" != none ] || exit 0
  printf '%s\n' "$summary" >>"$GITHUB_STEP_SUMMARY"
  [ "$DIFF" != comment ] || TOKEN=${TOKEN:-} summary=$summary bash "$GITHUB_ACTION_PATH/.github/action/comment.sh" ||
    echo '::warning::the changes of the pull request could not be written as a comment'
else
  echo '::warning::the changes of the pull request could not be summarized'
fi
