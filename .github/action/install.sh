# Puts urldb where the later steps expect it: the one given as BINARY, or one built from this action's source.
set -euo pipefail

if [ -n "$BINARY" ]; then
  mkdir -p "$RUNNER_TEMP/urldb/bin"
  cp -- "$BINARY" "$RUNNER_TEMP/urldb/bin/urldb"
else
  cargo install --quiet --locked --path "$GITHUB_ACTION_PATH" --root "$RUNNER_TEMP/urldb"
fi
"$RUNNER_TEMP/urldb/bin/urldb" --version
