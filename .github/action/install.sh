# Installs urldb for the later steps: the binary at BINARY, or a release. Without a release for this
# commit or this system, the outputs tell the next steps to build urldb, and where its build is cached.
#
# The commit of a release has the checksums of its archives beside this script. So whoever names the commit
# has named the bytes of the binary, whatever a server answers. Other commits have no checksums, and build.
set -euo pipefail
export -n TOKEN # gh alone gets it

fail() {
  echo "::error::$1"
  exit 1
}

bin=$RUNNER_TEMP/urldb/bin
mkdir -p "$bin"
if [ -n "$BINARY" ]; then
  cp -- "$BINARY" "$bin/urldb"
  "$bin/urldb" --version
  exit 0
fi

# Whoever names a release or a checksum gets exactly that, and never a build of something else.
named=$VERSION$CHECKSUM
manifest=$GITHUB_ACTION_PATH/Cargo.toml
of_package() { # KEY: its value in Cargo.toml
  sed -n "/^\[workspace\.package\]/,/^\[/s|^$1 = \"\(.*\)\"\$|\1|p" "$manifest"
}
own_version=$(of_package version)
version=${VERSION:-$own_version}
version=${version#v}
sums=$GITHUB_ACTION_PATH/.github/action/SHA256SUMS
# The messages do not repeat text of inputs that is not valid.
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] || fail 'version is not the version of a release, such as 1.2.3'
[[ $CHECKSUM =~ ^([0-9a-f]{64})?$ ]] || fail 'checksum is not a SHA-256 in 64 lower case hexadecimal digits'
# Plain HTTP is for a server on this machine only.
[[ $DOWNLOAD_URL =~ ^(https://|http://127\.0\.0\.1:)[^[:space:][:cntrl:]]+$ ]] || fail 'download-url does not begin with https://'
scheme=${DOWNLOAD_URL%%://*}

# The names and the content of all files that the build reads.
sources() {
  cd -- "$GITHUB_ACTION_PATH"
  list() { find Cargo.toml Cargo.lock crates docs examples hooks plugins src templates -type f -print0 | LC_ALL=C sort -z; }
  list
  list | xargs -0 cat
}

build() { # REASON
  [ -z "$named" ] || fail "$1"
  echo "$1; building urldb from the source of this action, which takes a few minutes once."
  local key
  key=urldb-${ImageOS:-$RUNNER_OS}-$RUNNER_ARCH-$(sources | digest)
  { echo build=true; echo "cache-key=$key"; } >>"$GITHUB_OUTPUT"
  exit 0
}

digest() {
  if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -d ' ' -f 1
}

case $RUNNER_OS-$RUNNER_ARCH in
  Linux-X64) target=x86_64-unknown-linux-gnu ;;
  Linux-ARM64) target=aarch64-unknown-linux-gnu ;;
  macOS-X64) target=x86_64-apple-darwin ;;
  macOS-ARM64) target=aarch64-apple-darwin ;;
  *) build "There is no release for $RUNNER_OS on $RUNNER_ARCH" ;;
esac

folder=$(mktemp -d "$RUNNER_TEMP/urldb-release.XXXXXX")
archive=urldb-$target.tar.gz
download() { # NAME: bounded in time and size; the token of the job is not sent
  curl --fail --silent --show-error --location --max-redirs 5 --proto "=$scheme" --globoff \
    --connect-timeout 10 --speed-limit 1024 --speed-time 20 --max-time 300 --retry 3 --max-filesize 268435456 \
    --output "$folder/$1" --url "$DOWNLOAD_URL/v$version/$1"
}

expected=$CHECKSUM
if [ -z "$expected" ]; then
  [ "$version" = "$own_version" ] ||
    fail "this action knows the checksums of version $own_version only: set the input checksum for version $version, or use the action of that version"
  [ -f "$sums" ] || build "This commit of the action is no release"
  expected=$(awk -v name="$archive" '$2 == name { print $1; exit }' "$sums")
  [ -n "$expected" ] || build "The release $version has no $archive"
fi
download "$archive" || build "The release $version has no $archive, or could not be downloaded"
actual=$(digest <"$folder/$archive")
[ "$actual" = "$expected" ] ||
  fail "the checksum of $archive is wrong: SHA-256 $actual, expected $expected. Nothing of it was executed. Report this, unless the input checksum is of another version or system"

# The second check: who built the archive. gh has the roots of trust, and renews them.
repository=$(of_package repository)
repository=${repository#https://github.com/}
if gh attestation verify --help 2>/dev/null | grep -e --signer-workflow >/dev/null; then
  download "$archive.sigstore.jsonl" ||
    fail "the release $version has no attestation of $archive, or it could not be downloaded. Nothing of the archive was executed"
  GH_TOKEN=${TOKEN:-} gh attestation verify "$folder/$archive" --bundle "$folder/$archive.sigstore.jsonl" \
    --repo "$repository" --signer-workflow "$repository/.github/workflows/release.yml" ||
    fail "the attestation of $archive is wrong, or could not be verified: the workflow of $repository may not have built it. Nothing of it was executed. Report this"
else
  echo '::notice::the attestation of urldb was not verified, since this runner has no gh that can; its checksum is right'
fi

tar -xzf "$folder/$archive" -C "$folder" "urldb-$target/urldb"
# A system with another C library cannot execute the binary.
"$folder/urldb-$target/urldb" --version || build "The release $version does not run on this system"
mv -- "$folder/urldb-$target/urldb" "$bin/urldb"
rm -rf -- "$folder"
