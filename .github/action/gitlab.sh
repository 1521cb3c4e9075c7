# The steps of the action on GitLab: `gitlab.sh run` in a schedule, `gitlab.sh check` in a merge request.
# `urldb init --gitlab` writes a pipeline that calls this script.
set -euo pipefail

here=$(cd -- "$(dirname "${BASH_SOURCE[0]}")" && pwd)
RUNNER_TEMP=$(mktemp -d)
export RUNNER_TEMP GITHUB_ACTION_PATH=${here%/.github/action}
mkdir -p "$RUNNER_TEMP/urldb/bin"
urldb=$RUNNER_TEMP/urldb/bin/urldb
ln -s "$(command -v urldb)" "$urldb"
token=${URLDB_TOKEN:-}
unset URLDB_TOKEN

if [ "$1" = check ]; then
  base=$CI_MERGE_REQUEST_DIFF_BASE_SHA
  git rev-parse --quiet --verify "$base^{commit}" >/dev/null || git fetch --quiet --no-tags --depth=1 origin "$base"
  cd -- "$WORKING_DIRECTORY"
  options=(--changed-since "$base")
  [ "$CI_MERGE_REQUEST_SOURCE_PROJECT_PATH" = "$CI_MERGE_REQUEST_PROJECT_PATH" ] || options+=(--untrusted)
  code=0
  "$urldb" lint "${options[@]}" || code=$?
  checked=0
  "$urldb" check "${options[@]}" || checked=$?
  # An error (2) is worse than findings (1), and doubts (3) are no reason to fail.
  case $code$checked in *2*) exit 2 ;; *1*) exit 1 ;; *) exit 0 ;; esac
fi

export GITHUB_OUTPUT=$RUNNER_TEMP/output GITHUB_STEP_SUMMARY=/dev/null
export GITHUB_SERVER_URL=$CI_SERVER_URL GITHUB_REF_NAME=$CI_COMMIT_REF_NAME
export LEDGER_AUTHOR='urldb' LEDGER_EMAIL="urldb@noreply.$CI_SERVER_HOST"
export STATE_BRANCH=${STATE_BRANCH-urldb-status} COMMIT_LEDGER=true
# The address in the checkout has the token of the job, which may only read.
git remote set-url origin "$CI_PROJECT_URL.git"

TOKEN=$token bash "$here/fetch-ledger.sh"
TOKEN=$token bash "$here/sync.sh" | sed 's/^::[a-z]*:://'
code=0
# Lines for the runner of GitHub mean nothing here.
(
  source "$here/author.sh"
  cd -- "$WORKING_DIRECTORY" && "$urldb" run --github --commit
) | sed '/^::/d' || code=${PIPESTATUS[0]}
TOKEN=$token bash "$here/push-ledger.sh"
news=$(sed -n 's/^news=//p' "$GITHUB_OUTPUT")
EXIT_CODE=$code NEWS=$news FAIL=${FAIL:-news} bash "$here/judge.sh" | sed 's/^::[a-z]*:://; s/: see the job summary$//'
