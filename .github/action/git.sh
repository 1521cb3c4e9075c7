# Shared by the two steps that use the state branch. Other scripts source this file.
set -euo pipefail

# git gets the token here, through the environment, for this server only. So the checkout need not
# store the token for all later steps. The empty value first removes a header that the checkout
# stored nevertheless.
if [ -n "${TOKEN:-}" ]; then
  header="http.${GITHUB_SERVER_URL:-https://github.com}/.extraheader"
  basic=$(printf 'x-access-token:%s' "$TOKEN" | base64 | tr -d '\r\n')
  export GIT_CONFIG_COUNT=2
  export GIT_CONFIG_KEY_0=$header GIT_CONFIG_VALUE_0=
  export GIT_CONFIG_KEY_1=$header GIT_CONFIG_VALUE_1="AUTHORIZATION: basic $basic"
fi
export GIT_TERMINAL_PROMPT=0
export GIT_AUTHOR_NAME=${LEDGER_AUTHOR:-'github-actions[bot]'}
export GIT_AUTHOR_EMAIL=${LEDGER_EMAIL:-'41898282+github-actions[bot]@users.noreply.github.com'}
export GIT_COMMITTER_NAME=$GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL

fail() {
  echo "::error::$1"
  exit 1
}
