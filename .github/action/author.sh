# Other scripts source this file: it sets the author of commits, and git asks no question.
export GIT_TERMINAL_PROMPT=0
export GIT_AUTHOR_NAME=${LEDGER_AUTHOR:-'github-actions[bot]'}
export GIT_AUTHOR_EMAIL=${LEDGER_EMAIL:-'41898282+github-actions[bot]@users.noreply.github.com'}
export GIT_COMMITTER_NAME=$GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL
