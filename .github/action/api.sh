# Shared by the scripts that use GitHub's interface. Other scripts source this file.

# curl reads the token from its standard input, so that no list of processes shows the token.
request() { # METHOD PATH [FILE]
  printf 'header = "Authorization: Bearer %s"\n' "$TOKEN" |
    curl --config - --silent --show-error --fail --max-time 30 --request "$1" \
      --header 'Accept: application/vnd.github+json' --header 'X-GitHub-Api-Version: 2022-11-28' \
      ${3+--header 'Content-Type: application/json' --data-binary "@$3"} \
      "${GITHUB_API_URL:-https://api.github.com}/repos/$GITHUB_REPOSITORY/$2"
}
