//! Signals that end the program: Ctrl-C and SIGTERM set a [`Stop`], and wait for work that must not end half-way.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[cfg(unix)]
use tokio::signal::unix::SignalKind;
pub use urldb_fetch::Stop;

use crate::exit::ExitCode;

/// The error of work that a set [`Stop`] ended. The exit code of the command is [`ExitCode::Interrupted`]. The text says
/// what became of the work.
#[derive(Debug, thiserror::Error)]
#[error("interrupted; {0}")]
pub struct Interrupted(pub &'static str);

impl Interrupted {
    /// An error with this text if `stop` is set.
    ///
    /// # Errors
    /// As said.
    pub fn unless_goes_on(stop: &Stop, text: &'static str) -> Result<(), Self> {
        if stop.is_set() {
            Err(Self(text))
        } else {
            Ok(())
        }
    }
}

/// A reader that fails with [`Interrupted`] once its [`Stop`] is set.
#[derive(Debug)]
pub struct StoppableReader<R> {
    input: R,
    stop: Stop,
}

impl<R> StoppableReader<R> {
    /// A reader of `input`.
    pub fn new(input: R, stop: &Stop) -> Self {
        let stop = stop.clone();
        Self { input, stop }
    }
}

impl<R: Read> Read for StoppableReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Interrupted::unless_goes_on(&self.stop, "the file was not read to its end")
            .map_err(io::Error::other)?;
        self.input.read(buffer)
    }
}

impl<R: Seek> Seek for StoppableReader<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.input.seek(to)
    }
}

/// The response of this process to signals.
static SIGNALS: Mutex<SignalState> = Mutex::new(SignalState {
    listens: false,
    stops: vec![],
    unfinished: 0,
    is_asking: false,
    is_signalled: false,
});

struct SignalState {
    /// Whether a thread waits for SIGINT and SIGTERM.
    listens: bool,
    /// The flags that the first signal sets.
    stops: Vec<Stop>,
    /// The number of works under way that the first signal does not end.
    unfinished: usize,
    /// Whether the program waits for the answer of a person.
    is_asking: bool,
    is_signalled: bool,
}

impl SignalState {
    fn lock() -> MutexGuard<'static, Self> {
        SIGNALS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the thread that waits for SIGINT and SIGTERM, unless it is there.
    fn listen(&mut self) -> io::Result<()> {
        if !self.listens {
            listen(Signals::install)?;
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

    /// Ends the process after a signal for which no flag waits, and in a question: it does not look at the flags.
    fn exit_if_done(&self) {
        let is_free = self.stops.is_empty() || self.is_asking;
        if self.is_signalled && is_free && self.unfinished == 0 {
            exit();
        }
    }
}

fn exit() -> ! {
    std::process::exit(i32::from(ExitCode::Interrupted.code()));
}

/// Waits for the answer of a person, in which a first signal ends the process at once, with 130.
pub fn while_asking<T>(ask: impl FnOnce() -> T) -> T {
    let mut state = SignalState::lock();
    state.is_asking = true;
    state.exit_if_done();
    drop(state);
    let answer = ask();
    SignalState::lock().is_asking = false;
    answer
}

/// Sets `stop` at the first SIGINT or SIGTERM (on Windows: Ctrl-C). At the second signal the
/// process exits at once with 130.
///
/// A thread of its own waits for signals until the process ends.
///
/// # Errors
/// When the handlers cannot be installed.
pub fn stop_on_signals(stop: &Stop) -> io::Result<()> {
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
pub fn stop_on_signals_and_hangup(stop: &Stop) -> io::Result<()> {
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
pub fn to_the_end<T>(work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
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

/// Starts a thread that waits for signals.
fn listen(install: fn() -> io::Result<Signals>) -> io::Result<()> {
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
struct Signals([Option<tokio::signal::unix::Signal>; 2]);

#[cfg(unix)]
impl Signals {
    fn of(kinds: [Option<SignalKind>; 2]) -> io::Result<Self> {
        let signals = kinds.map(|kind| kind.map(tokio::signal::unix::signal).transpose());
        let [one, other] = signals;
        Ok(Self([one?, other?]))
    }

    fn install() -> io::Result<Self> {
        Self::of([Some(SignalKind::interrupt()), Some(SignalKind::terminate())])
    }

    fn hangup() -> io::Result<Self> {
        Self::of([Some(SignalKind::hangup()), None])
    }

    async fn next(&mut self) {
        let [one, other] = &mut self.0;
        tokio::select! {
            Some(()) = received(one) => {}
            Some(()) = received(other) => {}
            else => std::future::pending().await,
        }
    }
}

/// The next signal; `None` if there is none to wait for.
#[cfg(unix)]
async fn received(signal: &mut Option<tokio::signal::unix::Signal>) -> Option<()> {
    signal.as_mut()?.recv().await
}

#[cfg(windows)]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    fn install() -> io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    async fn next(&mut self) {
        self.0.recv().await;
    }
}
