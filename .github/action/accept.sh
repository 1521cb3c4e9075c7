# Keeps a pull request open for each incident of changed content: it makes what is served now the promise. A pull
# request whose incident has ended is closed.
#
# Anybody can copy the name or the message of a commit, so neither says whose commit it is. The text of the pull request
# begins with the commit of the last push, and a push names it as what it replaces: `--force-with-lease`. A commit that
# somebody else pushed is in no text, and stays. A push is announced in the text first, beside the former commit, so a run
# that is killed around it leaves a head that the text names.
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

run() {
  bash -c 'source "$GITHUB_ACTION_PATH/.github/action/environment.sh"; exec "$@"' run "$@"
}

# The exit code 1 says that URLs are broken.
run "$urldb" status --state changed --format json >"$status" || [ $? -eq 1 ]
incidents=$(jq --raw-output '[.urls[]?.incident // empty] | unique | .[] | select(test("^[0-9a-f]{8}$"))' "$status")

# Of pull requests, those of earlier runs, one a line. `commits` are those that the beginning of the text names: the rest
# of it has text of servers.
own() {
  jq --compact-output --arg repository "$GITHUB_REPOSITORY" '.[] | select(.head.repo.full_name == $repository)
    | (.head.ref | capture("^urldb/accept-(?<id>[0-9a-f]{8})$")) + {number, state, head: .head.sha, body: (.body // "")}
    | . + {commits: [(.body | capture("\\A(?<marks>(<!-- urldb: commit=[0-9a-f]+ -->\r?\n)*)").marks | scan("[0-9a-f]{40,}"))]}'
}

# The open pull requests of earlier runs.
open=
for page in 1 2 3 4 5 6 7 8 9 10; do
  listed=$(request GET "pulls?state=open&per_page=100&page=$page")
  open+=$(own <<<"$listed")$'\n'
  [ "$(jq length <<<"$listed")" -eq 100 ] || break
done

# The open pull request of an incident, or else the last closed one; nothing if there was none.
pull_of() { # INCIDENT
  local found
  found=$(jq --compact-output --arg id "$1" 'select(.id == $id)' <<<"$open" | head -n 1)
  if [ -z "$found" ]; then
    found=$(request GET "pulls?state=closed&per_page=1&head=$owner:urldb/accept-$1") || exit 1
    found=$(own <<<"$found")
  fi
  printf '%s' "$found"
}

# Whether the text of a pull request names a commit.
names() { # PULL COMMIT
  [ -n "$1" ] && jq --exit-status --arg commit "$2" 'any(.commits[]; . == $commit)' <<<"$1" >/dev/null
}

# The changes of a commit. Its tree may also have the ledger, which each run changes.
promises() { # COMMIT
  git diff-tree -r --no-commit-id "$1"
}

mark() { # COMMIT
  printf '<!-- urldb: commit=%s -->\n' "$1"
}

# The head of a branch, which is fetched; nothing if there is no branch.
head_of() { # BRANCH
  local listed
  listed=$(with_token git ls-remote origin "$1") || exit 1
  [ -z "$listed" ] || { with_token git fetch --quiet --no-tags origin "$1" && git rev-parse FETCH_HEAD; }
}

# Pushes to a branch whose head is COMMIT, or that is not there if COMMIT is empty. Fails if somebody else was faster.
push() { # BRANCH COMMIT SOURCE
  with_token git -C "$tree" push --quiet --force-with-lease="$1:$2" origin "$3:$1" && return
  [ "$(head_of "$1")" != "$2" ] || fail "$1 cannot be pushed"
  return 1
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
  local urls=() branch=refs/heads/urldb/accept-$1 title pull number head new
  while IFS= read -r -d '' url; do urls+=("$url"); done < <(jq --raw-output --arg id "$1" \
    '.urls[] | select(.incident == $id) | .url + "\u0000"' "$status" | tr -d '\n')
  git -C "$tree" reset --quiet --hard "$base"
  printf '%s\0' "${urls[@]}" | (cd -- "$tree/$prefix" && run xargs -0 "$urldb" accept --yes --quiet --) ||
    echo "::notice::not everything of the incident $1 can be accepted"
  git -C "$tree" diff --quiet && return
  title="Accept the new content of ${#urls[@]} URLs"
  [ "${#urls[@]}" -ne 1 ] || title="Accept the new content of ${urls[0]:0:100}"
  git -C "$tree" commit --quiet --all --message "$title"
  new=$(git -C "$tree" rev-parse HEAD)
  pull=$(pull_of "$1")
  number=$(jq 'select(.state == "open") | .number' <<<"$pull")
  head=$(head_of "$branch")
  if [ -n "$head" ] && [ "$(promises "$head")" = "$(promises "$new")" ]; then
    new=$head
    if [ -n "$number" ]; then
      # More than one commit: an earlier run was killed before it could write the new text.
      names "$pull" "$head" && [ "$(jq '.commits | length' <<<"$pull")" -gt 1 ] || return 0
    elif [ -n "$pull" ] && [ "$(jq --raw-output .head <<<"$pull")" = "$head" ]; then
      return 0 # somebody has declined this
    fi
  elif [ -n "$head" ] && ! names "$pull" "$head"; then
    if [ -n "$number" ]; then
      echo "::notice::somebody has worked on urldb/accept-$1, so it stays as it is"
    else
      echo "::notice::urldb/accept-$1 has no pull request, so it stays as it is: delete it, and the next run makes both anew"
    fi
    return 0
  else
    if [ -n "$head" ]; then
      { mark "$head"; mark "$new"; jq --raw-output '.body | sub("\\A(<!-- urldb: commit=[0-9a-f]+ -->\r?\n)*"; "")' <<<"$pull"; } |
        head -c "$longest" | jq --raw-input --slurp '{body: .}' >"$body"
      request PATCH "pulls/$(jq .number <<<"$pull")" "$body" >/dev/null
    fi
    push "$branch" "$head" "$new" ||
      { echo "::notice::somebody has pushed to urldb/accept-$1 meanwhile, so it stays as it is"; return 0; }
  fi
  { mark "$new"; describe "$1" "${urls[0]}"; } >"$description"
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

while IFS= read -r pull; do
  incident=$(jq --raw-output .id <<<"$pull")
  [ -n "$incident" ] && ! grep -qx "$incident" <<<"$incidents" || continue
  echo '{"state":"closed"}' >"$body"
  request PATCH "pulls/$(jq .number <<<"$pull")" "$body" >/dev/null
  branch=refs/heads/urldb/accept-$incident
  head=$(head_of "$branch")
  [ -n "$head" ] || continue
  { names "$pull" "$head" && push "$branch" "$head" ''; } ||
    echo "::notice::somebody has worked on urldb/accept-$incident, so the branch stays"
done <<<"$open"
