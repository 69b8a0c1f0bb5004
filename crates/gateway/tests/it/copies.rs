//! A machine's copies of conversations go with their sessions.

use std::io;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use holdstead_agents::{Agent, Driver, DriverCapabilities, Launch, Reasks, StartError, TurnEnds};
use holdstead_gateway::{Gateway, GatewayConfig};
use holdstead_protocol::{Capabilities, SessionId};

use crate::world::{PATIENCE, Talk, ada, config, opening, owner};

/// Has copies, and starts nothing.
#[derive(Debug, Clone, Default)]
struct Copying(Arc<Mutex<Vec<SessionId>>>);

#[async_trait]
impl Driver for Copying {
    fn name(&self) -> &'static str {
        "copying"
    }

    fn capabilities(&self) -> DriverCapabilities {
        let ask = Capabilities { reason: true, edit_input: true, scopes: true };
        DriverCapabilities { ask, parks: false, reasks: Reasks::Any, ends: TurnEnds::Told }
    }

    fn kept(&self) -> Vec<SessionId> {
        self.0.lock().unwrap().clone()
    }

    fn discard(&self, session: SessionId) -> io::Result<()> {
        self.0.lock().unwrap().retain(|kept| *kept != session);
        Ok(())
    }

    async fn start(&self, _launch: Launch) -> Result<Agent, StartError> {
        Err(StartError::OnlyInTerminal { program: "copying" })
    }
}

impl Copying {
    async fn are(&self, expected: &[SessionId]) {
        let waits = async {
            while self.kept() != expected {
                tokio::task::yield_now().await;
            }
        };
        let kept = || format!("{:?} are kept, and not {expected:?}", self.kept());
        tokio::time::timeout(PATIENCE, waits).await.unwrap_or_else(|_| panic!("{}", kept()));
    }
}

#[tokio::test]
async fn a_session_that_ends_takes_its_copy_along_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("journal.db").display());
    let copying = Copying::default();
    let start = async || {
        let journal = holdstead_store::open(&url).await.unwrap();
        let drivers: Vec<Arc<dyn Driver>> = vec![Arc::new(copying.clone())];
        Gateway::start(journal, drivers, config(GatewayConfig::DEFAULT_HOLD)).await.unwrap()
    };
    let gateway = start().await;
    let stays = Talk::open(&gateway, opening("copying")).await.session;
    let ends = Talk::open(&gateway, opening("copying")).await.session;
    copying.0.lock().unwrap().extend([stays, ends]);
    gateway.end(&ada(), ends).await.unwrap();
    copying.are(&[stays]).await;
    // The machine had more when the gateway was away: of an ended session, and of one of another gateway.
    gateway.stop().await;
    gateway.journal().close().await;
    let elsewhere = SessionId::generate(&owner("ada"));
    copying.0.lock().unwrap().extend([ends, elsewhere]);
    let gateway = start().await;
    copying.are(&[stays, elsewhere]).await;
    gateway.stop().await;
}
