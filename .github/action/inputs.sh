# Refuses unknown values of inputs before anything is done. The message does not repeat the text.
set -euo pipefail

refuse() {
  echo "::error::the input $1"
  exit 1
}

case $FAIL in news | broken | never) ;; *) refuse 'fail should be news, broken or never' ;; esac
case $SITE in pages | artifact | none) ;; *) refuse 'site should be pages, artifact or none' ;; esac
case $DIFF in summary | comment | none) ;; *) refuse 'diff should be summary, comment or none' ;; esac
case $ACCEPT in pull-request | none) ;; *) refuse 'accept should be pull-request or none' ;; esac
case $ARCHIVE in
  artifact | none) ;;
  store)
    # A pull request archives nothing, and has no secrets.
    [ "${GITHUB_EVENT_NAME:-}" = pull_request ] || [ -n "${AWS_ACCESS_KEY_ID:-}" ] ||
      refuse 'archive is store: the step needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in its env'
    ;;
  *) refuse 'archive should be artifact, store or none' ;;
esac
