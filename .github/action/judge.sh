# Fails the job on broken URLs if FAIL is true, and always if urldb could not do its work.
set -euo pipefail

case $EXIT_CODE in
  0) ;;
  1) [ "$FAIL" != true ] || { echo '::error::urldb found broken URLs: see the job summary'; exit 1; } ;;
  3) echo '::warning::some URLs are blocked or inconclusive: see the job summary' ;;
  *) echo '::error::urldb could not do its work: see the log of the step before'; exit 1 ;;
esac
