//! The stop flag, and the signals that set it.

use std::time::Duration;

use urldb::stop::Stop;

const LONG: Duration = Duration::from_secs(30);

#[test]
fn a_thread_is_woken() {
    let stop = Stop::new();
    assert!(!stop.wait_timeout(Duration::from_millis(1)));
    let waiting = std::thread::spawn({
        let stop = stop.clone();
        move || stop.wait_timeout(LONG)
    });
    stop.set();
    assert!(waiting.join().unwrap());
    assert!(stop.is_set());
    assert!(stop.wait_timeout(LONG));
}

#[test]
fn a_task_is_woken_before_and_after() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let stop = Stop::new();
    let waiting: Vec<_> = (0..20)
        .map(|_| {
            let stop = stop.clone();
            runtime.spawn(async move { stop.wait().await })
        })
        .collect();
    stop.set();
    runtime.block_on(async {
        for task in waiting {
            tokio::time::timeout(LONG, task).await.unwrap().unwrap();
        }
        tokio::time::timeout(LONG, stop.wait()).await.unwrap();
    });
}

#[cfg(unix)]
mod signals {
    use urldb::stop::{stop_on_signals, stop_on_signals_and_hangup};

    use super::*;
    use crate::child::{Other, argument};

    /// A child that ends itself at the first signal, or not even then.
    fn child(install: fn(&Stop) -> std::io::Result<()>) {
        let stop = Stop::new();
        install(&stop).unwrap();
        println!("ready");
        assert!(stop.wait_timeout(LONG));
        println!("stopping");
        if argument().as_deref() == Some("stubborn") {
            std::thread::sleep(LONG);
        }
    }

    #[test]
    fn the_first_signal_asks() {
        if argument().is_some() {
            return child(stop_on_signals);
        }
        for signal in ["-TERM", "-INT"] {
            let mut other = Other::start("stop::signals::the_first_signal_asks", "obedient");
            other.expect("ready");
            other.signal(signal);
            other.expect("stopping");
            assert!(other.process.wait().unwrap().success());
        }
    }

    #[test]
    fn short_work_also_ends_at_a_hangup() {
        if argument().is_some() {
            return child(stop_on_signals_and_hangup);
        }
        for signal in ["-TERM", "-INT", "-HUP"] {
            let name = "stop::signals::short_work_also_ends_at_a_hangup";
            let mut other = Other::start(name, "obedient");
            other.expect("ready");
            other.signal(signal);
            other.expect("stopping");
            assert!(other.process.wait().unwrap().success());
        }
    }

    #[test]
    fn the_second_signal_ends() {
        if argument().is_some() {
            return child(stop_on_signals);
        }
        let mut other = Other::start("stop::signals::the_second_signal_ends", "stubborn");
        other.expect("ready");
        other.signal("-INT");
        other.expect("stopping");
        other.signal("-INT");
        assert_eq!(other.process.wait().unwrap().code(), Some(130));
    }
}
