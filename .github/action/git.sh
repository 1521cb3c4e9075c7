# Shared by the steps that talk to the remote repository. Other scripts source this file.
set -euo pipefail
source "$GITHUB_ACTION_PATH/.github/action/author.sh"

# The token stays in this shell: no program inherits it.
export -n TOKEN

# Runs a command with the token for git, through the environment and for this server only. So the checkout need not store
# the token for all later steps. The empty value first removes a header that the checkout stored nevertheless.
with_token() { # COMMAND...
  [ -n "${TOKEN:-}" ] || { "$@"; return; }
  local header basic
  header="http.${GITHUB_SERVER_URL:-https://github.com}/.extraheader"
  basic=$(printf 'x-access-token:%s' "$TOKEN" | base64 | tr -d '\r\n')
  GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=$header GIT_CONFIG_VALUE_0='' \
    GIT_CONFIG_KEY_1=$header GIT_CONFIG_VALUE_1="AUTHORIZATION: basic $basic" "$@"
}

fail() {
  echo "::error::$1"
  exit 1
}
