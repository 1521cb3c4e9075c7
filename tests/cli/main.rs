//! The program as people and other programs meet it: arguments in, files and words out.
//!
//! - `sandbox`: a folder for one test, with nothing of the machine in it, and the binary in it.
//! - `site`: a web site that the test rewrites while the program watches it.
//! - `editing`: init, add, rm and list, which change or show the database.
//! - `redirects`: the `.htaccess` files of a web server as a list.
//! - `repacked`: archives that changed, compared by their files.
//! - `requests`: records that ask with more than GET, from add to archive.
//! - `importing`, `exporting`: lists of flapping URLs, and searching.
//! - `accept_lists`: `accept` of records that lists made.
//! - `across`: mistakes that only several domain files together have.
//! - `limits`: files that are too large.
//! - `files`: fmt and lint, on files as people leave them.
//! - `pipes`: what is no regular file, where one is expected.
//! - `byte_output`: files and lists on standard output.
//! - `changed`: `--changed-since`.
//! - `codes`: an example of each code of a finding.
//! - `commands`: the commands of envelopes, each with its effect.
//! - `commit`: `--commit`, and what it leaves alone.
//! - `diff`: two states of the database.
//! - `digests`: promises of MD5, SHA-1, SHA-384 and SHA-512.
//! - `clock`: clocks that step back, or were years ahead once.
//! - `check`: what one look finds, for people and as JSON, and how it is narrowed.
//! - `rules`: site rules, and what they do to records.
//! - `run`: the loop over several runs: archive, ledger, history, mail, doubt.
//! - `interrupts`: signals end commands soon.
//! - `incidents`: one root cause over several runs, and what is kept of it.
//! - `mistakes`: domain files with mistakes: what is still checked, and who hears of it.
//! - `messages`: the scenarios of messages, in every output.
//! - `advice`: the commands in messages, run as they are printed.
//! - `notifiers`, `tracker`: webhooks, issues and plugins; a service with issues.
//! - `outbox`: mail that cannot be delivered now, or not before a person acts.
//! - `archive`: what the WARC files and the index hold, read back.
//! - `archive_captures`: which captures of other programs count, and of which URL.
//! - `archive_changes`: content that is other than promised, and what a run says of it.
//! - `archive_conditional`: asking whether something has changed, and what that proves.
//! - `archive_expected`: our index beside that of another program.
//! - `archive_export`: bags, and the index made anew.
//! - `archive_facts`: what is wrong with the places of an archive.
//! - `archive_folder`: an archive whose places are folders.
//! - `archive_health`: verified, damaged, repaired and exported in other versions.
//! - `archive_histories`: random histories of an archive with two places.
//! - `archive_memento`: the captures of a URL for programs that look for former contents.
//! - `archive_observed`: what a run reports as observed is archived, over random sites and settings.
//! - `archive_reading`: what is listed, taken out and compared; on archives that `shelf` makes by hand.
//! - `archive_refusals`: a place that refuses, and another that has the files.
//! - `archive_requests`: the same for answers to other requests than GET.
//! - `archive_trouble`: what is said when something is not as it should be.
//! - `archive_wacz`: captures as a file for players in a browser.
//! - `archive_ways`: redirects, failures and bodies over the cap, as they are archived.
//! - `archive_writers`: several processes that archive at once.
//! - `urls`: questions about URLs, for pipes and for people.
//! - `trouble`: full disks, damaged files, kills and signals.
//! - `secrets`: what must appear nowhere.
//! - `setup`: the files of services that `init` writes.
//! - `untrusted`: a pull request of a stranger.
//! - `accept`: promises made anew.
//! - `explaining`: what the code of a finding means.
//! - `http2`: hosts that need what urldb lacks, over several runs; intermediate certificates.
//! - `hostile`: hostile records and servers, against every output of every command.
//! - `sync`, `documents`: lists that the database follows, and documents as lists.
//! - `doctor`: what is set up, and the commands that mend the rest.
//! - `held_uris`: URIs that no run can check.
//! - `ports`: URLs with a port.
//! - `hook`: `git commit` with the installed hook.
//! - `resolve`: conflicts that git left, and the merge driver.
//! - `shards`: one run on several machines.
//! - `watch`: the daemon.
//! - `judging`: verdicts that need more than one URL, or a page.
//! - `status`: the state of all promises and its history, without network.
//! - `votes`: content that differs from request to request, over several runs.
//! - `words`: what people read, as snapshots.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

mod accept;
mod accept_lists;
mod across;
mod adding;
mod advice;
mod archive;
mod archive_captures;
mod archive_changes;
mod archive_compact;
mod archive_conditional;
mod archive_expected;
mod archive_export;
mod archive_facts;
mod archive_fixity;
mod archive_folder;
mod archive_foreign;
mod archive_health;
mod archive_histories;
mod archive_memento;
mod archive_observed;
mod archive_reading;
mod archive_refusals;
mod archive_requests;
mod archive_segments;
mod archive_skip_lengths;
mod archive_store;
mod archive_trouble;
mod archive_wacz;
mod archive_ways;
mod archive_writers;
mod boundary;
mod byte_output;
mod changed;
mod chapters;
mod check;
mod check_targets;
mod clock;
mod codes;
mod commands;
mod commit;
mod commit_messages;
mod diff;
mod digests;
mod doctor;
mod documents;
mod editing;
mod explaining;
mod exporting;
mod files;
mod finding;
mod formats;
mod held_uris;
mod hook;
mod hostile;
mod http2;
mod importing;
mod incidents;
mod interrupts;
mod judging;
mod limits;
mod lost_evidence;
mod merging;
mod merging_model;
mod messages;
mod mistakes;
mod month;
mod moving;
mod notifiers;
mod odd_repositories;
mod one_shard;
mod origins;
mod other_repository;
mod outbox;
mod own_files;
mod pace;
mod pipes;
mod ports;
mod proxy;
mod push;
mod push_merges;
mod recipes;
mod redirects;
mod registries;
mod repacked;
mod requests;
mod resolve;
mod rules;
mod run;
mod sandbox;
mod secrets;
mod setup;
mod shards;
mod shelf;
mod site;
mod sparse;
mod static_urls;
mod status;
mod stories;
mod sync;
mod tracker;
mod trouble;
mod untrusted;
mod urls;
mod vary;
mod votes;
mod watch;
mod words;
mod wrong_clock;

#[expect(dead_code, reason = "these tests need two of its kinds")]
#[path = "../../crates/fetch/tests/behaviours/certificates.rs"]
mod certificates;
#[expect(dead_code, reason = "the store's own tests need more of it")]
#[path = "../../crates/store/tests/store/fake_s3.rs"]
mod fake_s3;
#[path = "../../plugins/email/tests/email/mime.rs"]
mod mime;
#[path = "../../plugins/email/tests/email/server.rs"]
#[expect(
    dead_code,
    reason = "the email notifier's own tests look at more of a conversation"
)]
mod smtp;
#[path = "../support/mod.rs"]
mod support;
