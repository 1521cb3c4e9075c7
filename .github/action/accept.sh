# Keeps a pull request open for each incident of changed content: it makes what is served now the promise. A pull
# request whose incident has ended is closed.
source "$GITHUB_ACTION_PATH/.github/action/git.sh"
source "$GITHUB_ACTION_PATH/.github/action/api.sh"
[ "${GITHUB_EVENT_NAME:-}" != pull_request ] || { echo 'A pull request accepts nothing.'; exit 0; }

# Most incidents for which a run makes a commit: each commit fetches the URLs again.
most=20
# Most bytes of a description: GitHub takes 65,536 characters.
longest=60000

cd -- "$WORKING_DIRECTORY"
urldb=$RUNNER_TEMP/urldb/bin/urldb
owner=${GITHUB_REPOSITORY%%/*}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"; git worktree prune' EXIT
status=$scratch/status.json body=$scratch/body.json description=$scratch/description.md tree=$scratch/tree

# git has the token; urldb and its plugins need none.
run() {
  env -u TOKEN -u GIT_CONFIG_COUNT -u GIT_CONFIG_KEY_0 -u GIT_CONFIG_VALUE_0 -u GIT_CONFIG_KEY_1 -u GIT_CONFIG_VALUE_1 \
    bash -c 'source "$GITHUB_ACTION_PATH/.github/action/environment.sh"; exec "$@"' run "$@"
}

# The exit code 1 says that URLs are broken.
run "$urldb" status --state changed --format json >"$status" || [ $? -eq 1 ]
incidents=$(jq --raw-output '[.urls[]?.incident // empty] | unique | .[] | select(test("^[0-9a-f]{8}$"))' "$status")

# The open pull requests of earlier runs: INCIDENT NUMBER.
open=
for page in 1 2 3 4 5 6 7 8 9 10; do
  listed=$(request GET "pulls?state=open&per_page=100&page=$page")
  open+=$(jq --raw-output --arg repository "$GITHUB_REPOSITORY" \
    '.[] | select(.head.repo.full_name == $repository) | .number as $number | .head.ref
      | capture("^urldb/accept-(?<id>[0-9a-f]{8})$") | "\(.id) \($number)"' <<<"$listed")$'\n'
  [ "$(jq length <<<"$listed")" -eq 100 ] || break
done

number_of() { # INCIDENT
  sed -n "s/^$1 \([0-9]*\)\$/\1/p" <<<"$open" | head -n 1
}

# Whether somebody has closed the pull request of this commit. A run that ended before it made one leaves a branch too.
was_declined() { # INCIDENT COMMIT
  local closed
  closed=$(request GET "pulls?state=closed&per_page=1&head=$owner:urldb/accept-$1") || exit 1
  jq --exit-status --arg commit "$2" 'any(.[]; .head.sha == $commit)' <<<"$closed" >/dev/null
}

# The description: the changed promises, and the difference of the first file as far as the archive has it.
describe() { # INCIDENT URL
  local fence
  printf 'The content of these URLs has changed. Merging makes what is served now the promise; the next run then closes the incident `%s`. If the change is a mistake, leave this open: it is closed when the promised content is back.\n\n' "$1"
  run "$urldb" diff --format markdown "$base..$(git -C "$tree" rev-parse HEAD)"
  if run "$urldb" archive diff -- "$2" >"$scratch/diff" 2>/dev/null || [ $? -eq 1 ]; then
    # A fence that is longer than any in the text.
    fence=$(printf '%*s' "$(($(grep -o '``*' "$scratch/diff" | awk '{ if (length > most) most = length } END { print most + 3 }')))" '' | tr ' ' '`')
    printf '\n%s\n' "$fence"
    head -n 60 "$scratch/diff" | cut -c 1-300
    printf '%s\n' "$fence"
  fi
}

# Commits the new promises of an incident on the commit that is checked out, and pushes its branch if it says
# something else than before.
accept() { # INCIDENT
  local urls=() branch=refs/heads/urldb/accept-$1 number title
  while IFS= read -r -d '' url; do urls+=("$url"); done < <(jq --raw-output --arg id "$1" \
    '.urls[] | select(.incident == $id) | .url + "\u0000"' "$status" | tr -d '\n')
  git -C "$tree" reset --quiet --hard "$base"
  printf '%s\0' "${urls[@]}" | (cd -- "$tree/$prefix" && run xargs -0 "$urldb" accept --yes --quiet --) ||
    echo "::notice::not everything of the incident $1 can be accepted"
  git -C "$tree" diff --quiet && return
  title="Accept the new content of ${#urls[@]} URLs"
  [ "${#urls[@]}" -ne 1 ] || title="Accept the new content of ${urls[0]:0:100}"
  git -C "$tree" commit --quiet --all --message "$title"
  number=$(number_of "$1")
  if ! git fetch --quiet --no-tags origin "$branch" 2>/dev/null; then
    git -C "$tree" push --quiet origin "HEAD:$branch"
  elif [ "$(git log -1 --format=%an FETCH_HEAD)" != "$GIT_AUTHOR_NAME" ]; then
    echo "::notice::somebody has worked on urldb/accept-$1, so it stays as it is"
    return 0
  elif [ "$(git rev-parse 'FETCH_HEAD^{tree}')" != "$(git -C "$tree" rev-parse 'HEAD^{tree}')" ]; then
    git -C "$tree" push --quiet --force origin "HEAD:$branch"
  elif [ -n "$number" ] || was_declined "$1" "$(git rev-parse FETCH_HEAD)"; then
    return 0
  fi
  describe "$1" "${urls[0]}" >"$description"
  head -c "$longest" "$description" | jq --raw-input --slurp --arg title "$title" \
    --arg head "$owner:${branch#refs/heads/}" --arg base "$GITHUB_REF_NAME" \
    '{title: $title, body: ., head: $head, base: $base}' >"$body"
  if [ -n "$number" ]; then
    request PATCH "pulls/$number" "$body" >/dev/null
  else
    request POST pulls "$body" >/dev/null
  fi
}

base=$(git rev-parse HEAD)
prefix=$(git rev-parse --show-prefix)
git worktree add --quiet --detach "$tree" "$base"
count=0
for incident in $incidents; do
  count=$((count + 1))
  [ "$count" -le "$most" ] || { echo "::notice::pull requests are made for $most incidents only"; break; }
  accept "$incident"
done

while read -r incident number; do
  [ -n "$number" ] && ! grep -qx "$incident" <<<"$incidents" || continue
  echo '{"state":"closed"}' >"$body"
  request PATCH "pulls/$number" "$body" >/dev/null
  git push --quiet origin --delete "refs/heads/urldb/accept-$incident" || true
done <<<"$open"
