//! The channels of a story besides the folder of mails and the tracker: a mail server that is down for some
//! days, and a chat.

use std::net::{SocketAddr, TcpListener};

use serde_json::Value;

use crate::mime::{Mail, mail_of};
use crate::site::closed_address;
use crate::smtp::{Server as SmtpServer, SmtpReplies};
use crate::support::{Reply, Server};

/// A mail server at one address, which is down until it is started.
pub(super) struct MailServer {
    address: SocketAddr,
    server: Option<SmtpServer>,
}

impl MailServer {
    pub(super) fn down() -> Self {
        Self {
            address: closed_address(),
            server: None,
        }
    }

    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(super) fn start(&mut self) {
        let listener = TcpListener::bind(self.address).unwrap();
        self.server = Some(SmtpServer::serve(listener, SmtpReplies::default(), Ok));
    }

    /// The mails of the next conversation.
    pub(super) fn take_mails(&self) -> Vec<Mail> {
        let server = self.server.as_ref().unwrap();
        let accepted = server.received().accepted.into_iter();
        accepted.map(|(_, mail)| mail_of(&mail)).collect()
    }
}

/// A chat with an incoming webhook as that of Slack.
pub(super) struct Chat {
    server: Server,
    /// Number of messages that were shown.
    shown: usize,
}

impl Chat {
    pub(super) fn new() -> Self {
        Self {
            server: Server::new(|_| Reply::ok("ok")),
            shown: 0,
        }
    }

    /// The section of urldb.toml.
    pub(super) fn section(&self) -> String {
        format!(
            "[notify.chat]\ntype = \"webhook\"\nurl = \"http://{}/hook\"\ntemplate = \"slack\"\n",
            self.server.address()
        )
    }

    /// The messages since the last call, as people see them.
    pub(super) fn take_messages(&mut self) -> Vec<String> {
        let requests = self.server.requests();
        let new = requests[self.shown..].iter().map(|request| {
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            let texts = body["blocks"].as_array().unwrap().iter();
            let texts = texts.map(|block| match &block["elements"] {
                Value::Null => block["text"]["text"].as_str().unwrap().to_owned(),
                elements => elements[0]["text"].as_str().unwrap().to_owned(),
            });
            texts.collect::<Vec<_>>().join("\n") + "\n"
        });
        let new: Vec<String> = new.collect();
        self.shown = requests.len();
        new
    }
}
