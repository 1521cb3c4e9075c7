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
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut signals = {
        let _context = runtime.enter();
        Signals::install()?
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
}

#[cfg(unix)]
impl Signals {
    fn install() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
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

    async fn next(&mut self) {
        self.0.recv().await;
    }
}
