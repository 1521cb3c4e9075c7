# Installs urldb for the later steps: the binary at BINARY, or a build of this action's source.
set -euo pipefail

if [ -n "$BINARY" ]; then
  mkdir -p "$RUNNER_TEMP/urldb/bin"
  cp -- "$BINARY" "$RUNNER_TEMP/urldb/bin/urldb"
else
  cargo install --quiet --locked --path "$GITHUB_ACTION_PATH" --root "$RUNNER_TEMP/urldb"
fi
"$RUNNER_TEMP/urldb/bin/urldb" --version
