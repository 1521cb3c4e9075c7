//! Signals that end the program: Ctrl-C and SIGTERM set a [`Stop`].

pub use urldb_fetch::Stop;

use crate::exit::ExitCode;

/// Sets `stop` at the first SIGINT or SIGTERM (on Windows: Ctrl-C). At the second signal the
/// process exits at once with 130.
///
/// A thread of its own waits for signals until the process ends.
///
/// # Errors
/// When the handlers cannot be installed.
pub fn stop_on_signals(stop: &Stop) -> std::io::Result<()> {
    stop_on(stop, Signals::install)
}

/// The same, and at SIGHUP too: for work that must not end half-way, and is short. Longer work leaves
/// SIGHUP alone, which `nohup` has programs ignore.
///
/// # Errors
/// When the handlers cannot be installed.
pub fn stop_on_signals_and_hangup(stop: &Stop) -> std::io::Result<()> {
    stop_on(stop, Signals::install_with_hangup)
}

fn stop_on(stop: &Stop, install: fn() -> std::io::Result<Signals>) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut signals = {
        let _context = runtime.enter();
        install()?
    };
    let stop = stop.clone();
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            runtime.block_on(signals.next());
            stop.set();
            runtime.block_on(signals.next());
            std::process::exit(i32::from(ExitCode::Interrupted.code()));
        })?;
    Ok(())
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    fn install() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: None,
        })
    }

    fn install_with_hangup() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            hangup: Some(signal(SignalKind::hangup())?),
            ..Self::install()?
        })
    }

    async fn next(&mut self) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = hangup => {}
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(windows)]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    fn install() -> std::io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    fn install_with_hangup() -> std::io::Result<Self> {
        Self::install()
    }

    async fn next(&mut self) {
        self.0.recv().await;
    }
}
