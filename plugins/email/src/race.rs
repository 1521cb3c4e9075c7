//! Connects to the address of a host that answers first: an address that drops packets holds up no mail.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The time after which the next address is tried too (RFC 8305, section 5).
const HEAD_START: Duration = Duration::from_millis(250);

/// Connects to a host. The resolver's order of addresses counts, and the two versions of IP take turns.
///
/// # Errors
/// When the host has no address, or none accepts a connection: the error of the first that failed.
pub(crate) async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    first(in_turns(lookup_host((host, port)).await?.collect())).await
}

/// The addresses in the same order, but one of each version in turn (RFC 8305, section 4).
fn in_turns(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let preferred = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (ours, others): (Vec<_>, Vec<_>) = addresses
        .into_iter()
        .partition(|address| address.is_ipv6() == preferred);
    let (mut ours, mut others) = (ours.into_iter(), others.into_iter());
    let mut turns = vec![];
    loop {
        let pair = [ours.next(), others.next()];
        if pair == [None, None] {
            return turns;
        }
        turns.extend(pair.into_iter().flatten());
    }
}

async fn first(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut waiting = addresses.into_iter();
    // Dropping the set ends the attempts that are left.
    let mut attempts = JoinSet::new();
    let mut failure = None;
    loop {
        if let Some(address) = waiting.next() {
            attempts.spawn(TcpStream::connect(address));
        }
        let ended = if waiting.len() == 0 {
            attempts.join_next().await
        } else {
            match timeout(HEAD_START, attempts.join_next()).await {
                Ok(ended) => ended,
                Err(_) => continue,
            }
        };
        let error = match ended {
            Some(Ok(Ok(stream))) => return Ok(stream),
            Some(Ok(Err(error))) => error,
            Some(Err(error)) => error.into(),
            None => return Err(failure.unwrap_or_else(no_address)),
        };
        failure.get_or_insert(error);
    }
}

fn no_address() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "the host has no address")
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use tokio::net::{TcpListener, TcpSocket};

    use super::*;

    #[test]
    fn versions_take_turns() {
        let addresses = |texts: &[&str]| -> Vec<SocketAddr> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        for (given, turns) in [
            (&[][..], &[][..]),
            (
                &["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1"],
                &["[::1]:1", "1.1.1.1:1", "[::2]:1", "[::3]:1"],
            ),
            (
                &["1.1.1.1:1", "[::1]:1", "2.2.2.2:1"],
                &["1.1.1.1:1", "[::1]:1", "2.2.2.2:1"],
            ),
        ] {
            assert_eq!(in_turns(addresses(given)), addresses(turns));
        }
    }

    /// An address that drops packets: its queue of connections is full. Dropping the sockets frees it.
    async fn black_hole() -> (SocketAddr, TcpListener, Vec<JoinSet<io::Result<TcpStream>>>) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(1).unwrap();
        let address = listener.local_addr().unwrap();
        let mut clients = vec![];
        loop {
            let mut client = JoinSet::new();
            client.spawn(TcpStream::connect(address));
            let is_full = timeout(Duration::from_millis(300), client.join_next())
                .await
                .is_err();
            clients.push(client);
            if is_full {
                return (address, listener, clients);
            }
        }
    }

    #[tokio::test]
    async fn an_address_that_drops_packets_costs_little() {
        let (dropping, _listener, _clients) = black_hole().await;
        let good = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let good = good.local_addr().map(|address| (address, good)).unwrap();
        let began = Instant::now();
        let stream = timeout(
            Duration::from_secs(20),
            first(vec![dropping, dropping, good.0]),
        );
        assert_eq!(stream.await.unwrap().unwrap().peer_addr().unwrap(), good.0);
        assert!(began.elapsed() >= HEAD_START * 2, "{:?}", began.elapsed());
    }

    #[tokio::test]
    async fn an_address_that_refuses_costs_nothing_and_is_the_error() {
        let refusing = {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            listener.local_addr().unwrap()
        };
        let good = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = good.local_addr().unwrap();
        first(vec![refusing, address]).await.unwrap();
        let error = first(vec![refusing, refusing]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        assert_eq!(
            first(vec![]).await.unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }
}
