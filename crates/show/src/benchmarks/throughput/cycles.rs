//! Programs that ask, a person who answers, programs that fetch the answer: as fast as they can.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::task::JoinSet;

use crate::client::{Client, approve};
use crate::gateway_process::{GatewayProcess, TokenFor};
use crate::latency::Latencies;
use crate::processes::cpu_time;
use crate::{Result, ensure};

/// One token may send a thousand requests a second: so many people answer.
const PEOPLE: usize = 16;

/// Each with a token, so a session, of its own.
#[derive(Debug)]
pub(crate) struct Callers {
    gateway: u32,
    callers: Vec<Client>,
    people: Vec<Client>,
}

/// Of asking, answering and fetching.
type Steps = [Latencies; 3];

#[derive(Debug, Default)]
pub(crate) struct Measured {
    cycles: u32,
    took: Duration,
    steps: Steps,
    gateway_cpu: Duration,
    client_cpu: Duration,
}

impl Measured {
    pub(crate) fn per_second(&self) -> f64 {
        f64::from(self.cycles) / self.took.as_secs_f64()
    }

    pub(crate) fn cycles(&self) -> f64 {
        f64::from(self.cycles)
    }

    /// Of one cycle.
    pub(crate) fn gateway_cpu(&self) -> Duration {
        self.gateway_cpu / self.cycles
    }

    pub(crate) fn client_cpu(&self) -> Duration {
        self.client_cpu / self.cycles
    }

    pub(crate) fn steps(&self) -> impl Iterator<Item = (&'static str, &Latencies)> {
        ["ask", "answer", "fetch"].into_iter().zip(&self.steps)
    }
}

impl Callers {
    pub(crate) async fn new(gateway: &GatewayProcess, count: usize) -> Result<Self> {
        let mut callers = Vec::new();
        for number in 0..count {
            let token = gateway.token(&format!("caller {number}"), TokenFor::Guest).await?;
            callers.push(Client::new(&gateway.url, &token)?);
        }
        let mut people = Vec::new();
        for number in 0..PEOPLE {
            let token = gateway.token(&format!("person {number}"), TokenFor::Person).await?;
            people.push(Client::new(&gateway.url, &token)?);
        }
        let pid = gateway.pid().ok_or("the gateway is gone")?;
        Ok(Self { gateway: pid, callers, people })
    }

    /// So many of them at once, for so long.
    pub(crate) async fn run(&self, count: usize, lasting: Duration) -> Result<Measured> {
        ensure!(count <= self.callers.len(), "there are only {} callers", self.callers.len());
        let cpu = || Ok::<_, crate::Error>((cpu_time(self.gateway)?, cpu_time(std::process::id())?));
        let (gateway_before, client_before) = cpu()?;
        let begin = Instant::now();
        let mut running = JoinSet::new();
        for (caller, person) in self.callers[..count].iter().zip(self.people.iter().cycle()) {
            // A person with one connection would be what limits us.
            let (caller, person) = (caller.clone(), person.with_own_connection()?);
            running.spawn(async move {
                let mut steps = Steps::default();
                let mut cycles = 0_u32;
                while begin.elapsed() < lasting {
                    cycle(&caller, &person, &mut steps).await?;
                    cycles += 1;
                }
                Ok::<_, crate::Error>((cycles, steps))
            });
        }
        let mut measured = Measured::default();
        while let Some(ended) = running.join_next().await {
            let (cycles, steps) = ended??;
            measured.cycles += cycles;
            for (all, these) in measured.steps.iter_mut().zip(steps) {
                all.extend(these);
            }
        }
        measured.took = begin.elapsed();
        let (gateway_after, client_after) = cpu()?;
        measured.gateway_cpu = gateway_after - gateway_before;
        measured.client_cpu = client_after - client_before;
        ensure!(measured.cycles > 0, "no cycle came to its end");
        Ok(measured)
    }
}

async fn cycle(caller: &Client, person: &Client, steps: &mut Steps) -> Result<()> {
    let begin = Instant::now();
    let ask = caller.ask().await?;
    let asked = Instant::now();
    let id = ask.request.interaction_id;
    person.win(&ask, approve()).await?;
    let answered = Instant::now();
    let settled: Value = caller.get(&format!("/v1/interactions/{id}?wait=10")).await?;
    ensure!(settled["settlement"] == "approved", "the asker was told {settled}");
    for (step, took) in steps.iter_mut().zip([asked - begin, answered - asked, answered.elapsed()]) {
        step.add(took);
    }
    Ok(())
}
