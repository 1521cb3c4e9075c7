# Other scripts source this file: it sets the variables of URLDB_ENVIRONMENT. A reusable workflow cannot know the
# names of secrets: its caller passes all of them as lines NAME=VALUE.
while IFS= read -r line; do
  [[ ! $line =~ ^[A-Za-z_][A-Za-z0-9_]*= ]] || export "$line"
done <<<"${URLDB_ENVIRONMENT:-}"
unset URLDB_ENVIRONMENT
