//! Logs in to a mail server (RFC 4954) with AUTH PLAIN or AUTH LOGIN.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use lettre::transport::smtp::authentication::Mechanism;
use lettre::transport::smtp::client::AsyncSmtpConnection;

use crate::connection::SendError;
use crate::settings::Credentials;

/// The reply code that asks for the next line of a login.
const GO_ON: u16 = 334;

/// Logs in. The text of a prompt is free, and servers vary it: AUTH LOGIN wants the user, then the password, and AUTH PLAIN
/// both, in the command or behind it.
pub(crate) async fn log_in(
    connection: &mut AsyncSmtpConnection,
    credentials: &Credentials,
) -> Result<(), SendError> {
    let Credentials { user, password, .. } = credentials;
    let encode = |text: &str| BASE64_STANDARD.encode(text);
    let server = connection.server_info();
    let (command, lines) = if server.supports_auth_mechanism(Mechanism::Plain) {
        let both = encode(&format!("\0{user}\0{password}"));
        (format!("AUTH PLAIN {both}"), vec![both])
    } else if server.supports_auth_mechanism(Mechanism::Login) {
        (
            "AUTH LOGIN".to_owned(),
            vec![encode(user), encode(password)],
        )
    } else {
        return Err(SendError::NoLogin);
    };
    let mut lines = lines.into_iter();
    let mut next = Some(command);
    while let Some(line) = next {
        let reply = connection.command(format!("{line}\r\n")).await;
        let reply = reply.map_err(SendError::Login)?;
        if !reply.has_code(GO_ON) {
            return Ok(());
        }
        next = lines.next();
    }
    Err(SendError::EndlessLogin)
}
