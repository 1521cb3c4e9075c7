//! A listener at an address that no client may connect to.

use std::net::TcpListener;

/// The trap never accepts a connection: clients wait in the listener's queue.
#[derive(Debug)]
pub(crate) struct Trap(TcpListener);

impl Trap {
    /// A trap on a free port of all loopback addresses of IPv4.
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.set_nonblocking(true).expect("a listener");
        Self(listener)
    }

    /// The port of the trap.
    pub(crate) fn port(&self) -> u16 {
        self.0.local_addr().expect("a bound listener").port()
    }

    /// Asserts that no client has connected.
    pub(crate) fn assert_untouched(&self) {
        let visitor = self.0.accept().ok();
        assert!(visitor.is_none(), "connected from {visitor:?}");
    }
}
