//! Programs with the interface of sendmail.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use urldb_email::{EmailNotifier, Transport};
use urldb_protocol::DeliveryOutcome;

use crate::common::{deliver, envelope, settings, templates};

/// A notifier that sends mail through a script, which works in the folder.
fn through(folder: &TempDir, script: &str, timeout: Duration) -> EmailNotifier {
    let program = folder.path().join("sendmail");
    let place = folder.path().display();
    fs::write(&program, format!("#!/bin/sh\ncd '{place}'\n{script}")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let command = vec![program.display().to_string()];
    let transport = Transport::Sendmail { command, timeout };
    EmailNotifier::new(settings(transport), templates()).unwrap()
}

/// Waits until something holds.
#[track_caller]
fn eventually(mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_mins(1);
    while !holds() {
        assert!(Instant::now() < until, "never");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_alive(pid_file: &Path) -> bool {
    let pid = fs::read_to_string(pid_file).unwrap();
    let signal = Command::new("kill").args(["-0", pid.trim()]).output();
    signal.unwrap().status.success()
}

#[tokio::test]
async fn a_hanging_program_is_killed_with_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let script = "sleep 600 &\necho $! > started\necho $$ > itself\nwait\n";
    let email = through(&folder, script, Duration::from_millis(1500));
    let results = deliver(&email, &envelope()).await;
    assert_eq!(results.len(), 1);
    assert_eq!(results[0].outcome, DeliveryOutcome::Retry);
    assert!(results[0].message.ends_with("did not end within 1.5 s"));
    for pid_file in ["started", "itself"] {
        eventually(|| !is_alive(&folder.path().join(pid_file)));
    }
}

/// Exim forks before it delivers.
#[tokio::test]
async fn a_program_may_deliver_in_the_background() {
    let folder = tempfile::tempdir().unwrap();
    // The process in the background keeps the pipe of the error output open.
    let script = "for last; do :; done\n(sleep 2; echo sent > \"late-$last\") >&2 &\n";
    let email = through(&folder, script, Duration::from_mins(1));
    let began = Instant::now();
    let results = deliver(&email, &envelope()).await;
    assert!(began.elapsed() < Duration::from_secs(30));
    let outcomes: Vec<_> = results.iter().map(|result| result.outcome).collect();
    assert_eq!(outcomes, [DeliveryOutcome::Delivered; 2]);
    for recipient in ["ada@example.org", "bob@example.net"] {
        eventually(|| folder.path().join(format!("late-{recipient}")).exists());
    }
}
