# Runs urldb and makes its exit code an output: later steps push the ledger, whatever the result.
set -euo pipefail

args=()
while IFS= read -r line; do
  line=${line%$'\r'}
  [ -z "$line" ] || args+=("$line")
done <<<"$ARGS"

cd -- "$WORKING_DIRECTORY"
code=0
# This form of the expansion works with an empty list in bash 3.2, the version of macOS.
"$RUNNER_TEMP/urldb/bin/urldb" run --github ${args[@]+"${args[@]}"} || code=$?
echo "exit-code=$code" >>"$GITHUB_OUTPUT"
