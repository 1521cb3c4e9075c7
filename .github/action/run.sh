# Runs urldb and makes its exit code an output: later steps push the ledger, whatever the result. On a pull
# request, urldb lints and checks the changed records instead, and of a fork without trust in urldb.toml.
set -euo pipefail

args=()
while IFS= read -r line; do
  line=${line%$'\r'}
  [ -z "$line" ] || args+=("$line")
done <<<"$ARGS"

source "$GITHUB_ACTION_PATH/.github/action/environment.sh"

# The commit tells what happened; a later step pushes it. A shard has no ledger to commit.
commit=()
if [ "$COMMIT_LEDGER" = true ]; then
  case ${ARGS:-} in
    *--shard* | *--commit*) ;;
    *) commit=(--commit) ;;
  esac
fi

cd -- "$WORKING_DIRECTORY"
urldb=$RUNNER_TEMP/urldb/bin/urldb
code=0
# This form of the expansion works with an empty list in bash 3.2, the version of macOS.
if [ "${GITHUB_EVENT_NAME:-}" = pull_request ]; then
  options=(--changed-since "$GITHUB_SHA^1")
  [ "$HEAD_REPOSITORY" = "${GITHUB_REPOSITORY:-}" ] || options+=(--untrusted)
  # The runner takes no line of a stranger's file for a command.
  token=urldb-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  echo "::stop-commands::$token"
  "$urldb" lint "${options[@]}" || code=$?
  echo "::$token::"
  checked=0
  "$urldb" check --github "${options[@]}" ${args[@]+"${args[@]}"} || checked=$?
  # An error (2) is worse than findings (1), and doubts (3) are least.
  case $code$checked in
    *2*) code=2 ;;
    *1*) code=1 ;;
    *) code=$checked ;;
  esac
  echo kind=check >>"$GITHUB_OUTPUT"
  echo news=true >>"$GITHUB_OUTPUT"
else
  source "$GITHUB_ACTION_PATH/.github/action/author.sh"
  "$urldb" run --github ${commit[@]+"${commit[@]}"} ${args[@]+"${args[@]}"} || code=$?
  echo kind=run >>"$GITHUB_OUTPUT"
  if [ "$SITE" != none ]; then
    if [ -f "$SITE_FOLDER/index.html" ]; then
      echo "site=$SITE" >>"$GITHUB_OUTPUT"
    else
      echo '::warning::there is no site to upload: urldb.toml needs a notifier of the type html'
    fi
  fi
fi
echo "exit-code=$code" >>"$GITHUB_OUTPUT"
