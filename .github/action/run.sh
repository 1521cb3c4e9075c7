# Runs urldb and passes its exit code on as an output: the ledger must be pushed whatever it found.
set -euo pipefail

args=()
while IFS= read -r line; do
  line=${line%$'\r'}
  [ -z "$line" ] || args+=("$line")
done <<<"$ARGS"

cd -- "$WORKING_DIRECTORY"
code=0
# The expansion is spelled so that bash 3.2, which macOS has, takes an empty list.
"$RUNNER_TEMP/urldb/bin/urldb" run --github ${args[@]+"${args[@]}"} || code=$?
echo "exit-code=$code" >>"$GITHUB_OUTPUT"
