//! Plugins that hang, flood, die and fork.

use std::process::Command;
use std::time::{Duration, Instant};

use urldb_command::CommandNotifier;
use urldb_protocol::DeliveryOutcome::{Delivered, Failed, Retry};
use urldb_protocol::{Delivery, Notifier, PlannedDelivery};

use crate::plugin::{Plugin, assert_gone, envelope, large_envelope};

/// More than any plugin here needs, and far less than what it sleeps.
const SOON: Duration = Duration::from_secs(20);

#[test]
fn a_plugin_that_hangs_is_killed_with_all_its_processes() {
    let script = "sleep 1000 & echo $! $$ >ids\nsh -c 'sleep 1000 & echo $! >>ids; wait' &\n\
                  until [ $(wc -l <ids) = 2 ]; do sleep 0.01; done\necho stuck >&2\ncat >/dev/null\nwait\n";
    let plugin = Plugin::shell(script).within(Duration::from_secs(2));
    let began = Instant::now();
    let delivery = plugin.deliver(&envelope());
    assert!(began.elapsed() < SOON);
    assert_eq!(
        (
            delivery.outcome,
            delivery.message.as_str(),
            delivery.aside.as_deref()
        ),
        (Retry, "sh did not end within 2s", Some("stuck"))
    );
    assert_gone(&plugin.read("ids"));
}

#[test]
fn a_plugin_that_ignores_signals_is_killed() {
    let script = "trap '' TERM INT HUP PIPE\necho $$ >ids\nwhile :; do sleep 1000; done\n";
    let plugin = Plugin::shell(script).within(Duration::from_secs(1));
    let delivery = plugin.deliver(&large_envelope());
    assert_eq!(delivery.outcome, Retry);
    assert_gone(&plugin.read("ids"));
}

#[test]
fn a_flood_ends_at_once() {
    for (script, message) in [
        (
            "echo $$ >ids\nyes\n",
            "sh wrote more than 64 KiB to standard output",
        ),
        (
            "echo $$ >ids\nyes >&2\n",
            "sh wrote more than 1 MiB to standard error",
        ),
        // It has ended before anybody could read all of it.
        (
            "echo $$ >ids\nhead -c 65537 /dev/zero\n",
            "sh wrote more than 64 KiB to standard output",
        ),
    ] {
        let plugin = Plugin::shell(script);
        let began = Instant::now();
        let delivery = plugin.deliver(&envelope());
        assert!(began.elapsed() < SOON, "{script}");
        assert_eq!(delivery.outcome, Failed, "{script}");
        assert!(
            delivery.message.starts_with(message),
            "{script}: {}",
            delivery.message
        );
        assert_gone(&plugin.read("ids"));
    }
}

#[test]
fn a_plugin_that_dies_is_tried_again() {
    let delivery = Plugin::shell("echo dying >&2\nkill -KILL $$\n").deliver(&envelope());
    assert_eq!(
        (
            delivery.outcome,
            delivery.message.as_str(),
            delivery.aside.as_deref()
        ),
        (Retry, "sh was killed (signal: 9 (SIGKILL))", Some("dying"))
    );
    // What a plugin wrote before it died is no answer: it may not have finished.
    let delivery =
        Plugin::shell("echo '{\"outcome\": \"delivered\"}'\nkill -SEGV $$\n").deliver(&envelope());
    assert_eq!(delivery.outcome, Retry);
}

#[test]
fn processes_that_stay_behind_are_killed_and_delay_nothing() {
    let script =
        "sleep 1000 & echo $! >ids\necho '{\"outcome\": \"delivered\", \"message\": \"done\"}'\n";
    let plugin = Plugin::shell(script);
    let began = Instant::now();
    let delivery = plugin.deliver(&envelope());
    assert!(began.elapsed() < SOON);
    assert_eq!(
        (delivery.outcome, delivery.message.as_str()),
        (Delivered, "done")
    );
    assert_gone(&plugin.read("ids"));
}

#[test]
fn a_process_that_leaves_the_group_delays_little() {
    if Command::new("setsid").arg("true").status().is_err() {
        eprintln!("skipped: this system has no setsid");
        return;
    }
    let script = "setsid sh -c 'echo $$ >ids; exec sleep 1000' &\n\
                  until [ -s ids ]; do sleep 0.01; done\necho '{\"outcome\": \"delivered\", \"message\": \"done\"}'\n";
    let plugin = Plugin::shell(script);
    let began = Instant::now();
    let delivery = plugin.deliver(&envelope());
    assert!(began.elapsed() < SOON);
    // Only this test can end the process.
    let ended = Command::new("kill")
        .args(["-KILL", plugin.read("ids").trim()])
        .status()
        .unwrap();
    assert!(ended.success());
    assert_eq!(
        (delivery.outcome, delivery.message.as_str()),
        (Delivered, "done")
    );
}

#[test]
fn a_delivery_that_is_given_up_leaves_no_process() {
    let plugin = Plugin::shell("sleep 1000 & echo $! $$ >ids\nwait\n");
    let notifier = CommandNotifier::new(plugin.settings.clone()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (envelope, pending) = (envelope(), vec![PlannedDelivery::REPORT.to_owned()]);
    let report = |delivery: Delivery| panic!("{delivery:?}");
    let ids = plugin.folder.path().join("ids");
    runtime.block_on(async {
        let delivering = notifier.deliver(&envelope, &pending, &report);
        let started = async {
            while !std::fs::read_to_string(&ids).is_ok_and(|text| text.ends_with('\n')) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            () = delivering => panic!("the plugin sleeps"),
            () = started => {}
        }
    });
    drop(runtime);
    assert_gone(&plugin.read("ids"));
}
