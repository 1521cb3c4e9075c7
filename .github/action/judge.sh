# Fails the job on broken URLs as FAIL says, and always if urldb could not do its work.
set -euo pipefail

case $EXIT_CODE in
  0) ;;
  1)
    if [ "$FAIL" = broken ] || { [ "$FAIL" = news ] && [ "$NEWS" != false ]; }; then
      echo '::error::urldb found broken URLs: see the job summary'
      exit 1
    fi
    echo '::warning::some URLs are broken: see the job summary'
    ;;
  3) echo '::warning::some URLs are blocked or inconclusive: see the job summary' ;;
  *) echo '::error::urldb could not do its work: see the log of the step before'; exit 1 ;;
esac
