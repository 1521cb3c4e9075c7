# Writes $summary as one comment on the pull request: a later push changes the same comment. The token of a
# pull request from a fork may not write, so its summary stays in the job.
set -euo pipefail
export -n TOKEN

[ "$HEAD_REPOSITORY" = "$GITHUB_REPOSITORY" ] ||
  { echo '::notice::a pull request from a fork gets no comment: the changes are in the job summary'; exit 0; }
[[ $PULL_REQUEST =~ ^[0-9]+$ ]] || { echo 'The event names no pull request.'; exit 1; }
marker='<!-- urldb:diff -->'
source "$GITHUB_ACTION_PATH/.github/action/api.sh"

comment=
for page in 1 2 3 4 5 6 7 8 9 10; do
  listed=$(request GET "issues/$PULL_REQUEST/comments?per_page=100&page=$page")
  # Only a comment of this workflow's own user can be changed; a person may quote the marker.
  comment=$(jq --raw-output --arg marker "$marker" \
    '[.[] | select(.user.type == "Bot" and (.body | startswith($marker))) | .id][0] // empty' <<<"$listed")
  [ -z "$comment" ] && [ "$(jq length <<<"$listed")" -eq 100 ] || break
done
# Nothing to say about a pull request without changes, unless an earlier push had some.
case ${summary%%$'\n'*} in
  *': no record differs') [ -n "$comment" ] || exit 0 ;;
esac
body=$(mktemp)
trap 'rm -f "$body"' EXIT
jq --null-input --arg marker "$marker" \
  '{body: ($marker + "\n" + env.summary + "\n\nThis comment is updated after each push.")}' >"$body"
if [ -n "$comment" ]; then
  request PATCH "issues/comments/$comment" "$body" >/dev/null
else
  request POST "issues/$PULL_REQUEST/comments" "$body" >/dev/null
fi
