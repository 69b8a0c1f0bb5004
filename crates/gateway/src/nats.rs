//! Hints through a NATS server. Its core only: what nobody hears is gone, which is all that hints need.
//!
//! Whoever may write to our subject can wake us, and nothing else. Its name has a part that only the deployment's database
//! knows, so two deployments on one server do not hear each other.

use std::fmt::{self, Debug, Display};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, ConnectOptions, Event, ServerAddr, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt as _;
use holdstead_store::NOTICE_LIMIT;
use tokio::sync::{OnceCell, watch};
use uuid::Uuid;

/// Notices that came and were not looked at yet. One more is lost, which its number tells.
const NOTICES: usize = 64;
/// How long to wait before the next try to connect, and after many of them.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// A server that says nothing for two of these is taken for gone.
const PING: Duration = Duration::from_secs(5);

/// Where a NATS server is, and what lets us in. Only the former is ever shown.
#[derive(Clone, PartialEq, Eq)]
pub struct NatsUrl {
    address: ServerAddr,
    login: Login,
}

#[derive(Clone, PartialEq, Eq)]
enum Login {
    None,
    Token(String),
    Password { user: String, password: String },
}

/// It may have a password in it, so it is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is not the address of a NATS server: write nats://HOST:4222, or tls://HOST:4222 where it is reached over a \
     network, with USER:PASSWORD@ or TOKEN@ before the host if it wants one"
)]
pub struct BadNatsUrl;

impl FromStr for NatsUrl {
    type Err = BadNatsUrl;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let given: ServerAddr = text.parse().map_err(|_| BadNatsUrl)?;
        if !["nats", "tls"].contains(&given.scheme()) || given.host().is_empty() {
            return Err(BadNatsUrl);
        }
        let login = match (given.username(), given.password()) {
            (None, None) => Login::None,
            (None, Some(_)) => return Err(BadNatsUrl),
            (Some(token), None) => Login::Token(decoded(token).ok_or(BadNatsUrl)?),
            (Some(user), Some(password)) => Login::Password {
                user: decoded(user).ok_or(BadNatsUrl)?,
                password: decoded(password).ok_or(BadNatsUrl)?,
            },
        };
        // The library writes addresses to the log.
        let mut url = given.into_inner();
        url.set_username("").and_then(|()| url.set_password(None)).map_err(|()| BadNatsUrl)?;
        Ok(Self { address: ServerAddr::from_url(url).map_err(|_| BadNatsUrl)?, login })
    }
}

/// What stands behind the percent signs of a URL.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let (byte, behind) = match (first, behind) {
            (b'%', [high, low, behind @ ..]) => {
                let digit = |digit: &u8| char::from(*digit).to_digit(16);
                (u8::try_from(digit(high)? * 16 + digit(low)?).ok()?, behind)
            }
            (b'%', _) => return None,
            (_, _) => (*first, behind),
        };
        bytes.push(byte);
        rest = behind;
    }
    String::from_utf8(bytes).ok()
}

impl Display for NatsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.address.as_url_str())
    }
}

impl Debug for NatsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum NatsError {
    #[error("NATS could not be connected to: {0}")]
    Connect(#[from] async_nats::ConnectError),
    #[error("NATS took no notice: {0}")]
    Tell(#[from] async_nats::PublishError),
    #[error("NATS cannot be listened to: {0}")]
    Listen(#[from] async_nats::SubscribeError),
    #[error("the connection to NATS was closed")]
    Closed,
}

#[derive(Debug)]
pub(crate) struct Nats {
    url: NatsUrl,
    subject: String,
    connected: OnceCell<Connected>,
}

#[derive(Debug)]
struct Connected {
    client: Client,
    /// Counts connections.
    times: watch::Receiver<u64>,
}

impl Nats {
    pub(crate) fn new(url: NatsUrl, deployment: Uuid) -> Self {
        let subject = format!("holdstead.{}.hints", deployment.simple());
        Self { url, subject, connected: OnceCell::new() }
    }

    /// Returns at once: if the server is not there yet, it is connected to when it is.
    async fn connected(&self) -> Result<&Connected, NatsError> {
        let connect = async {
            let (counted, times) = watch::channel(0);
            let client = self.options(counted).connect(self.url.address.clone()).await?;
            Ok(Connected { client, times })
        };
        self.connected.get_or_try_init(|| connect).await
    }

    fn options(&self, counted: watch::Sender<u64>) -> ConnectOptions {
        let options = ConnectOptions::new();
        let options = match &self.url.login {
            Login::None => options,
            Login::Token(token) => options.token(token.clone()),
            Login::Password { user, password } => options.user_and_password(user.clone(), password.clone()),
        };
        let (url, is_told) = (self.url.clone(), Arc::new(AtomicBool::new(false)));
        options
            .name("holdstead")
            .no_echo()
            .retry_on_initial_connect()
            // What lets us in is for the server that we were told of.
            .ignore_discovered_servers()
            .subscription_capacity(NOTICES)
            .ping_interval(PING)
            .reconnect_delay_callback(|tries| {
                PAUSE.saturating_mul(u32::try_from(tries).unwrap_or(u32::MAX)).min(LONGEST_PAUSE)
            })
            .event_callback(move |event| {
                match event {
                    Event::Connected => {
                        counted.send_modify(|times| *times += 1);
                        if is_told.swap(false, Ordering::Relaxed) {
                            tracing::warn!("NATS at {url} is there again: hints go through it");
                        }
                    }
                    Event::Disconnected | Event::Closed | Event::ClientError(_) | Event::ServerError(_) => {
                        if !is_told.swap(true, Ordering::Relaxed) {
                            tracing::warn!(
                                %event,
                                "NATS at {url} cannot be used: until it can, nodes look for what is new every two seconds"
                            );
                        }
                    }
                    Event::LameDuckMode | Event::Draining | Event::SlowConsumer(_) => {}
                }
                std::future::ready(())
            })
    }

    /// Lost where there is no connection: its number says so to whoever hears the next one.
    pub(crate) async fn tell(&self, notice: Bytes) -> Result<(), NatsError> {
        let connected = self.connected().await?;
        if connected.client.connection_state() == State::Connected {
            connected.client.publish(self.subject.clone(), notice).await?;
        }
        Ok(())
    }

    pub(crate) async fn listen(&self) -> Result<Subscribed, NatsError> {
        let Connected { client, times } = self.connected().await?;
        let mut times = times.clone();
        times.mark_unchanged();
        Ok(Subscribed { subscriber: client.subscribe(self.subject.clone()).await?, times })
    }
}

#[derive(Debug)]
pub(crate) struct Subscribed {
    subscriber: Subscriber,
    times: watch::Receiver<u64>,
}

impl Subscribed {
    /// The next notice. `None`: there is a new connection. What is too long for a notice comes as nothing.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, NatsError> {
        tokio::select! {
            Ok(()) = self.times.changed() => Ok(None),
            message = self.subscriber.next() => match message {
                Some(message) if message.payload.len() <= NOTICE_LIMIT => Ok(Some(message.payload)),
                Some(_) => Ok(Some(Bytes::new())),
                None => Err(NatsError::Closed),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lets_us_in_is_never_shown() {
        for (given, login) in [
            ("nats://db.example:4222", Login::None),
            ("tls://t0ken@db.example:4222", Login::Token("t0ken".to_owned())),
            (
                "nats://ana:p%40ss%2fw%c3%b6rd@db.example:4222",
                Login::Password { user: "ana".to_owned(), password: "p@ss/wörd".to_owned() },
            ),
        ] {
            let url: NatsUrl = given.parse().unwrap();
            assert!(url.login == login, "{given}");
            for shown in [url.to_string(), format!("{url:?}"), format!("{:?}", url.address)] {
                assert!(shown.contains("db.example"), "{shown}");
                assert!(
                    !["t0ken", "ana", "p%40ss", "p@ss"].iter().any(|secret| shown.contains(secret)),
                    "{shown}"
                );
            }
        }
    }

    #[test]
    fn what_is_no_server_is_refused_without_being_repeated() {
        for bad in [
            "",
            "nats://",
            "http://db",
            "ws://db:80",
            "nats://:secret@db",
            "nats://a%zz:secret@db",
            "nats://%ff@db",
        ] {
            assert_eq!(bad.parse::<NatsUrl>(), Err(BadNatsUrl), "{bad}");
        }
        assert!(!BadNatsUrl.to_string().contains("secret"));
    }
}
