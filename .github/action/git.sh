# What the two steps that talk to the state branch share; sourced, not run.
set -euo pipefail

# The checkout need not leave its token behind for everything that runs later: git is given it here,
# through the environment, for this server only. The empty value first drops any header that
# the checkout did leave.
if [ -n "${TOKEN:-}" ]; then
  header="http.${GITHUB_SERVER_URL:-https://github.com}/.extraheader"
  basic=$(printf 'x-access-token:%s' "$TOKEN" | base64 | tr -d '\r\n')
  export GIT_CONFIG_COUNT=2
  export GIT_CONFIG_KEY_0=$header GIT_CONFIG_VALUE_0=
  export GIT_CONFIG_KEY_1=$header GIT_CONFIG_VALUE_1="AUTHORIZATION: basic $basic"
fi
export GIT_TERMINAL_PROMPT=0
export GIT_AUTHOR_NAME='github-actions[bot]'
export GIT_AUTHOR_EMAIL='41898282+github-actions[bot]@users.noreply.github.com'
export GIT_COMMITTER_NAME=$GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL

fail() {
  echo "::error::$1"
  exit 1
}
