# Builds urldb from the source of this action, unless the cache had the build.
set -euo pipefail

binary=$RUNNER_TEMP/urldb/bin/urldb
[ -x "$binary" ] || cargo install --quiet --locked --path "$GITHUB_ACTION_PATH" --root "$RUNNER_TEMP/urldb"
"$binary" --version
