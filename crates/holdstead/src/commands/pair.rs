//! Let a phone in: an address that works in the local network, as a QR code.

use std::io::IsTerminal as _;

use holdstead_client::Http;
use holdstead_protocol::api::{Network, Pairing};
use serde_json::json;

use super::{io, print_json};
use crate::cli::{Common, PairFlags};
use crate::connect::connect;
use crate::failure::Failure;
use crate::text::safe_line;

const NO_NETWORK: &str = "This machine has no address in a private network, so there is none to open. If a proxy with TLS \
                          leads here: holdstead pair --at https://NAME, with the name in `allowed_hosts` \
                          (docs/guides/phone.md).";
const NOT_ENCRYPTED: &str = "The connection is not encrypted, so this device keeps a token that anyone who reads the \
                             network can copy, and it has no admin's rights. Use https: docs/guides/phone.md";

pub(super) async fn run(common: &Common, flags: &PairFlags) -> Result<(), Failure> {
    let client = connect(common)?;
    let url = reachable(&client, flags).await?;
    let pairing = client.pair(&url).await?;
    if common.json {
        return print_json(&json!({
            "url": url, "link": pairing.link, "expiresAt": pairing.expires_at, "qr": pairing.qr
        }));
    }
    print(&url, &pairing);
    Ok(())
}

/// An address at which a phone reaches the gateway; opened, if a person says so.
async fn reachable(client: &Http, flags: &PairFlags) -> Result<String, Failure> {
    if let Some(at) = flags.at.as_deref().filter(|at| is_each_machines_own(at)) {
        return Err(Failure::Usage(format!(
            "On a phone {} means the phone itself. Without --at an address is found that leads here: holdstead pair",
            safe_line(at)
        )));
    }
    let Network { open, closed } = client.network().await?;
    let wanted = match (&flags.at, open.first(), closed.first()) {
        (Some(at), _, _) => at.trim_end_matches('/').to_owned(),
        (None, Some(first), _) | (None, None, Some(first)) => first.clone(),
        (None, None, None) => return Err(Failure::Usage(NO_NETWORK.to_owned())),
    };
    if closed.contains(&wanted) {
        if !flags.open && !confirmed(&wanted, &closed)? {
            return Err(Failure::NotDone("Nothing was opened.".to_owned()));
        }
        client.open_network(&wanted).await?;
    }
    Ok(wanted)
}

/// `localhost` and its numbers.
fn is_each_machines_own(url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(url) else { return false };
    let Some(host) = url.host_str() else { return false };
    let number = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    number.map_or_else(|_| host == "localhost" || host.ends_with(".localhost"), |number| number.is_loopback())
}

/// Nothing but a plain yes is one.
fn confirmed(url: &str, closed: &[String]) -> Result<bool, Failure> {
    let url = safe_line(url);
    if !std::io::stdin().is_terminal() {
        return Err(Failure::Usage(format!(
            "Only this machine reaches Holdstead now. To let the network of {url} reach it, until the gateway stops: \
             holdstead pair --open --at {url}"
        )));
    }
    println!("Only this machine reaches Holdstead now. A phone needs it at {url}.");
    println!(
        "Whoever is in that network could then see that Holdstead is there; to get in they need a link."
    );
    println!("{NOT_ENCRYPTED}");
    let others: Vec<_> = closed.iter().map(|other| safe_line(other)).filter(|other| *other != url).collect();
    if !others.is_empty() {
        println!("Another address of this machine: holdstead pair --at URL ({})", others.join(", "));
    }
    println!("Open {url} until the gateway stops? Type yes:");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).map_err(io("read your answer"))?;
    Ok(line.trim().eq_ignore_ascii_case("yes"))
}

fn print(url: &str, pairing: &Pairing) {
    println!("{}", drawn(&pairing.qr, std::io::stdout().is_terminal()));
    println!("Scan it with the phone's camera, or open this there:\n{}", safe_line(&pairing.link));
    println!("It logs one browser in as you, once, within 10 minutes. Log it out: on the page, under You.");
    if url.starts_with("http://") {
        println!("{NOT_ENCRYPTED}");
    }
}

/// Light around the code, in its own squares: cameras need it.
const MARGIN: usize = 4;

/// Two rows of the code in one line of half blocks.
fn drawn(qr: &[String], coloured: bool) -> String {
    let side = qr.len() + 2 * MARGIN;
    let is_dark = |x: usize, y: usize| {
        let row = y.checked_sub(MARGIN).and_then(|y| qr.get(y));
        let square = x.checked_sub(MARGIN).and_then(|x| row?.as_bytes().get(x));
        square == Some(&b'1')
    };
    let line = |y: usize| {
        let squares = (0..side).map(|x| match (is_dark(x, y), is_dark(x, y + 1)) {
            (true, true) => '█',
            (true, false) => '▀',
            (false, true) => '▄',
            (false, false) => ' ',
        });
        let squares: String = squares.collect();
        // Black on white, whatever the terminal's own colours are.
        if coloured { format!("\u{1b}[38;5;16;48;5;231m{squares}\u{1b}[0m") } else { squares }
    };
    (0..side).step_by(2).map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_another_machine_on_a_phone_is_known() {
        for own in [
            "http://localhost:4780",
            "http://127.0.0.1:4780",
            "http://[::1]:4780/",
            "http://LOCALHOST",
            "http://127.1:1",
        ] {
            assert!(is_each_machines_own(own), "{own}");
        }
        for other in
            ["http://192.168.1.7:4780", "https://localhost.example", "https://holdstead.example", "localhost"]
        {
            assert!(!is_each_machines_own(other), "{other}");
        }
    }

    #[test]
    fn a_code_is_drawn_with_light_around_it() {
        let qr = ["10".to_owned(), "11".to_owned()];
        let lines: Vec<_> = drawn(&qr, false).lines().map(str::to_owned).collect();
        let blank = " ".repeat(10);
        assert_eq!(lines, [&blank, &blank, "    █▄    ", &blank, &blank]);
        assert!(drawn(&qr, true).starts_with("\u{1b}[38;5;16;48;5;231m "));
    }
}
