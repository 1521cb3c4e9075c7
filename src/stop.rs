//! Signals that end the program: Ctrl-C and SIGTERM set a [`Stop`], and wait for work that must not end half-way.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use urldb_fetch::Stop;

use crate::exit::ExitCode;

/// The response of this process to signals.
static SIGNALS: Mutex<SignalState> = Mutex::new(SignalState {
    listens: false,
    stops: vec![],
    unfinished: 0,
    is_signalled: false,
});

struct SignalState {
    /// Whether threads wait for SIGINT and SIGTERM.
    listens: bool,
    /// The flags that the first signal sets.
    stops: Vec<Stop>,
    /// The number of works under way that the first signal does not end.
    unfinished: usize,
    is_signalled: bool,
}

impl SignalState {
    fn lock() -> MutexGuard<'static, Self> {
        SIGNALS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the threads that wait for SIGINT and SIGTERM, unless they are there.
    fn listen(&mut self) -> std::io::Result<()> {
        if !self.listens {
            listen(Signals::interrupt)?;
            #[cfg(unix)]
            listen(Signals::terminate)?;
            self.listens = true;
        }
        Ok(())
    }

    fn add(&mut self, stop: &Stop) {
        if self.is_signalled {
            stop.set();
        }
        self.stops.push(stop.clone());
    }

    fn signal(&mut self) {
        if self.is_signalled {
            exit();
        }
        self.is_signalled = true;
        self.stops.iter().for_each(Stop::set);
        self.exit_if_done();
    }

    /// Ends the process after a signal for which no flag waits.
    fn exit_if_done(&self) {
        if self.is_signalled && self.stops.is_empty() && self.unfinished == 0 {
            exit();
        }
    }
}

fn exit() -> ! {
    std::process::exit(i32::from(ExitCode::Interrupted.code()));
}

/// Sets `stop` at the first SIGINT or SIGTERM (on Windows: Ctrl-C). At the second signal the
/// process exits at once with 130.
///
/// Threads of their own wait for signals until the process ends.
///
/// # Errors
/// When the handlers cannot be installed.
pub fn stop_on_signals(stop: &Stop) -> std::io::Result<()> {
    let mut state = SignalState::lock();
    state.listen()?;
    state.add(stop);
    Ok(())
}

/// The same, and at SIGHUP too: for work that must not end half-way, and is short. Longer work leaves
/// SIGHUP alone, which `nohup` has programs ignore.
///
/// # Errors
/// When the handlers cannot be installed.
pub fn stop_on_signals_and_hangup(stop: &Stop) -> std::io::Result<()> {
    stop_on_signals(stop)?;
    #[cfg(unix)]
    listen(Signals::hangup)?;
    Ok(())
}

/// Does work that must come to its end: the first signal waits for it. Where no [`Stop`] waits for signals, the
/// process then exits with 130.
///
/// # Errors
/// When the handlers cannot be installed, and those of the work.
pub fn to_the_end<T>(work: impl FnOnce() -> std::io::Result<T>) -> std::io::Result<T> {
    let mut state = SignalState::lock();
    state.listen()?;
    state.unfinished += 1;
    drop(state);
    let done = work();
    let mut state = SignalState::lock();
    state.unfinished -= 1;
    state.exit_if_done();
    done
}

/// Starts a thread that waits for one kind of signal.
fn listen(install: fn() -> std::io::Result<Signals>) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut signals = {
        let _context = runtime.enter();
        install()?
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            loop {
                runtime.block_on(signals.next());
                SignalState::lock().signal();
            }
        })?;
    Ok(())
}

#[cfg(unix)]
struct Signals(tokio::signal::unix::Signal);

#[cfg(unix)]
impl Signals {
    fn interrupt() -> std::io::Result<Self> {
        Self::of(tokio::signal::unix::SignalKind::interrupt())
    }

    fn terminate() -> std::io::Result<Self> {
        Self::of(tokio::signal::unix::SignalKind::terminate())
    }

    fn hangup() -> std::io::Result<Self> {
        Self::of(tokio::signal::unix::SignalKind::hangup())
    }

    fn of(kind: tokio::signal::unix::SignalKind) -> std::io::Result<Self> {
        tokio::signal::unix::signal(kind).map(Self)
    }

    async fn next(&mut self) {
        self.0.recv().await;
    }
}

#[cfg(windows)]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    fn interrupt() -> std::io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    async fn next(&mut self) {
        self.0.recv().await;
    }
}
