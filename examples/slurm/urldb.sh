#!/usr/bin/env bash
# Submits one run of urldb to Slurm: an array of shards, and a collecting job after all of them.
#
#   urldb.sh REPOSITORY BUNDLES [SHARDS]
#
# REPOSITORY is the folder of urldb.toml and BUNDLES a folder outside of it, both on a file system that all
# nodes share. Prints the id of the collecting job. To run shard 3 again before the collecting job starts:
#
#   sbatch --wrap "urldb -C REPOSITORY run --shard 3/8 --to BUNDLES/RUN"
set -euo pipefail
repository=$(realpath "$1")
bundles=$(realpath "$2")/$(date -u +%Y%m%dT%H%M%SZ)
shards=${3:-8}
mkdir -p "$bundles"

quoted() { printf "'%s'" "${1//\'/\'\\\'\'}"; }
urldb="urldb -C $(quoted "$repository") run"

# The tasks are numbered from 1, as shards are; the shell of each task expands its number.
array=$(sbatch --parsable --array="1-$shards" --job-name=urldb-shard --time=05:00:00 --mem=512M \
  --chdir="$bundles" --output=%A-%a.log \
  --wrap "$urldb --shard \$SLURM_ARRAY_TASK_ID/$shards --to $(quoted "$bundles")")

# afterany: a shard that failed is named, and its URLs were not asked.
sbatch --parsable --dependency="afterany:${array%%;*}" --job-name=urldb-collect --time=02:00:00 --mem=2G \
  --chdir="$bundles" --output=collect.log \
  --wrap "$urldb --from $(quoted "$bundles") --commit"
