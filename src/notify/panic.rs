//! Keeps a panic of a notifier, or of a library that it uses, from ending the run and from printing a
//! backtrace.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether a panic of this thread is caught, and prints nothing.
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Does the work; a panic becomes its message. The values that the work changes must stay usable
/// after a panic.
pub(super) fn catch<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    install_hook();
    let was_caught = IS_CAUGHT.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    IS_CAUGHT.set(was_caught);
    result.map_err(|payload| message(payload.as_ref()))
}

/// Installs a hook that calls the hook before it, except for a panic that is caught here.
fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_CAUGHT.get() {
                others(info);
            }
        }));
    });
}

fn message(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
        .to_owned()
}
