//! Metrics, scraped while everything breaks: each one that the dashboard shows moves, Prometheus' own tool accepts them and
//! the alerts, and no word of a person or an agent is in them.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdstead_client::requests_to;
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::{interval, sleep};

use super::field::Field;
use crate::gateway_process::TokenFor;
use crate::{Result, ensure};

/// How often each node is scraped.
const SCRAPE: Duration = Duration::from_millis(500);
/// How long the last one may take: what gauges show of the database is a few seconds old.
const SETTLE: Duration = Duration::from_secs(6);
const PROMTOOL: &str = "promtool";
const DASHBOARD: &str = "docs/watching/dashboard.json";
/// What is planted in names, inputs and places, or would give somebody away.
const PLANTED: [&str; 11] = [
    "Ada",
    "Ben",
    "program ",
    "first-machine",
    "second-machine",
    "deploy",
    "\"hs_",
    "\"ses_",
    "Planted",
    "/tmp",
    "scripted",
];

/// What was scraped from all nodes so far.
#[derive(Debug, Default)]
pub(super) struct Watched(Arc<Mutex<Scraped>>);

impl Watched {
    /// Scrapes the nodes while this goes on, and for some seconds afterwards.
    pub(super) async fn during<T>(
        &self,
        field: &mut Field,
        work: impl AsyncFnOnce(&mut Field) -> T,
    ) -> Result<T> {
        let token = field.token("Planted", TokenFor::Metrics).await?;
        let urls = field.nodes.iter().map(|node| format!("{}/metrics", node.gateway.url)).collect();
        // Other nodes than the last time count anew.
        self.scraped().last.clear();
        let scraping = tokio::spawn(scrape(urls, token, Arc::clone(&self.0)));
        let done = work(field).await;
        sleep(SETTLE).await;
        scraping.abort();
        Ok(done)
    }

    fn scraped(&self) -> MutexGuard<'_, Scraped> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails if a metric of the dashboard stood still, or if anything is in the metrics that must not be.
    pub(super) async fn check(&self) -> Result<String> {
        let alerts = rules().await?;
        let shown = shown_metrics()?;
        let scraped = std::mem::take(&mut *self.scraped());
        let still: Vec<_> = shown.difference(&scraped.moved).collect();
        ensure!(scraped.wrong.is_empty(), "what must not be in metrics: {:?}", scraped.wrong);
        ensure!(still.is_empty(), "the dashboard shows what did not move: {still:?}");
        tool(&["check", "metrics"], Some(&scraped.text)).await?;
        let (times, series) = (scraped.times, scraped.series);
        Ok(format!(
            "{} metrics of the dashboard moved in {times} scrapes of up to {series} series; {alerts} alerts",
            shown.len()
        ))
    }
}

/// What was seen of all nodes.
#[derive(Debug, Default)]
struct Scraped {
    times: usize,
    /// The most that one node had.
    series: usize,
    /// The last value of each node's series.
    last: BTreeMap<(usize, String), String>,
    moved: BTreeSet<String>,
    wrong: BTreeSet<String>,
    /// What was scraped last.
    text: String,
}

async fn scrape(urls: Vec<String>, token: String, scraped: Arc<Mutex<Scraped>>) -> Result<()> {
    let http = requests_to("http://").timeout(Duration::from_secs(2)).build()?;
    let mut ticks = interval(SCRAPE);
    loop {
        ticks.tick().await;
        for (node, url) in urls.iter().enumerate() {
            // Nodes are killed, stopped and cut off meanwhile.
            let Ok(response) = http.get(url).bearer_auth(&token).send().await else { continue };
            if !response.status().is_success() {
                continue;
            }
            if let Ok(text) = response.text().await {
                scraped.lock().unwrap_or_else(PoisonError::into_inner).add(node, text);
            }
        }
    }
}

impl Scraped {
    fn add(&mut self, node: usize, text: String) {
        self.times += 1;
        let samples: Vec<&str> =
            text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
        self.series = self.series.max(samples.len());
        for sample in samples {
            match sample.rsplit_once(' ') {
                Some((series, value)) => {
                    let name = series.split('{').next().unwrap_or(series);
                    let key = (node, series.to_owned());
                    if self.last.insert(key, value.to_owned()).is_some_and(|before| before != value) {
                        self.moved.insert(name.to_owned());
                    }
                }
                None => drop(self.wrong.insert(sample.to_owned())),
            }
        }
        self.wrong.extend(PLANTED.iter().filter(|word| text.contains(**word)).map(ToString::to_string));
        self.text = text;
    }
}

/// The metrics that the dashboard asks for.
fn shown_metrics() -> Result<BTreeSet<String>> {
    let text = std::fs::read_to_string(DASHBOARD).map_err(|error| format!("{DASHBOARD}: {error}"))?;
    let dashboard: Value = serde_json::from_str(&text)?;
    let mut names = BTreeSet::new();
    for panel in dashboard["panels"].as_array().ok_or("the dashboard has no panels")? {
        for target in panel["targets"].as_array().ok_or("a panel shows nothing")? {
            let expr = target["expr"].as_str().ok_or("a panel asks for nothing")?;
            let words = expr.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
            let ours = words.filter(|word| word.starts_with("holdstead_") || word.starts_with("process_"));
            names.extend(ours.map(str::to_owned));
        }
    }
    ensure!(!names.is_empty(), "the dashboard shows nothing");
    Ok(names)
}

/// Checks the alerts and runs their tests. Says how many there are.
async fn rules() -> Result<usize> {
    tool(&["check", "rules", "docs/watching/alerts.yml"], None).await?;
    tool(&["test", "rules", "docs/watching/alerts.test.yml"], None).await?;
    let (rules, tests) = (
        std::fs::read_to_string("docs/watching/alerts.yml")?,
        std::fs::read_to_string("docs/watching/alerts.test.yml")?,
    );
    let guide = std::fs::read_to_string("docs/watching.md")?;
    let alerts: Vec<_> = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    for alert in &alerts {
        ensure!(tests.contains(&format!("alertname: {alert}\n")), "{alert} has no test");
        ensure!(
            guide.contains(&format!("`{alert}`")),
            "docs/watching.md does not say what to do for {alert}"
        );
    }
    Ok(alerts.len())
}

async fn tool(args: &[&str], input: Option<&str>) -> Result<()> {
    let mut command = Command::new(PROMTOOL);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| {
        format!("{PROMTOOL}: {error}. It comes with Prometheus: apt-get install prometheus")
    })?;
    if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
        stdin.write_all(input.as_bytes()).await?;
    }
    let output = child.wait_with_output().await?;
    let words = [output.stdout, output.stderr].concat();
    let words = String::from_utf8_lossy(&words);
    // It prints what it would rather have otherwise, too.
    let clean = output.status.success() && !words.contains("FAILED");
    ensure!(clean, "{PROMTOOL} {}: {words}", args.join(" "));
    Ok(())
}
