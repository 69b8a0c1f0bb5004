//! The terminal's token reaches its own gateway, and no other program at its address.

use std::io::Read as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use crate::cli::{Gateway, holdstead};

const COMMANDS: [&[&str]; 7] =
    [&["inbox"], &["sessions"], &["rules"], &["pair"], &["open", "--no-open"], &["runners"], &["doctor"]];

/// A program at an address, and what it was sent.
struct Thief {
    address: String,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Thief {
    fn at(address: &str) -> Self {
        let listener = TcpListener::bind(address).expect("the port is free");
        let address = listener.local_addr().expect("an address").to_string();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let keeps = Arc::clone(&heard);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut bytes = [0; 4096];
                // One that says nothing is not waited for.
                drop(stream.set_read_timeout(Some(Duration::from_millis(200))));
                let read = stream.read(&mut bytes).unwrap_or(0);
                keeps.lock().expect("no panic").extend_from_slice(&bytes[..read]);
            }
        });
        Self { address, heard }
    }

    fn heard(&self) -> String {
        String::from_utf8_lossy(&self.heard.lock().expect("no panic")).into_owned()
    }
}

fn url_of(gateway: &Gateway) -> String {
    let running = std::fs::read_to_string(gateway.folder().join("gateway.json")).expect("a file");
    let running: Value = serde_json::from_str(&running).expect("JSON");
    running["url"].as_str().expect("an address").to_owned()
}

#[test]
fn a_program_that_took_the_address_of_a_gateway_gets_nothing() {
    let mut gateway = Gateway::start();
    let url = url_of(&gateway);
    gateway.kill();
    let thief = Thief::at(url.trim_start_matches("http://"));
    for args in COMMANDS {
        gateway.run(args);
    }
    assert_eq!(thief.heard(), "", "nothing is sent while no gateway runs");
    let said = gateway.run(&["inbox"]);
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains("holdstead serve"), "{said}");
}

#[test]
fn an_address_that_cannot_prove_who_it_is_gets_no_token() {
    let gateway = Gateway::start();
    let thief = Thief::at("127.0.0.1:0");
    let url = format!("http://{}", thief.address);
    for args in COMMANDS {
        let mut command = holdstead(&gateway.folder());
        command.args(args).args(["--url", &url]).stdin(Stdio::null());
        assert!(!command.output().expect("it runs").status.success() || args == ["doctor"], "{args:?}");
    }
    assert_eq!(thief.heard(), "");
    // Nor one that a person names: any program can answer at an address of this machine.
    for args in COMMANDS {
        let mut command = holdstead(&gateway.folder());
        command.args(args).args(["--url", &url]).env("HOLDSTEAD_TOKEN", "hs_a_token_of_mine");
        let said = command.stdin(Stdio::null()).output().expect("it runs");
        let said =
            String::from_utf8_lossy(&said.stdout).into_owned() + &String::from_utf8_lossy(&said.stderr);
        assert!(said.contains("https://") && said.contains("ssh -N -L"), "{args:?}: {said}");
    }
    let mut bridge = holdstead(&gateway.folder());
    bridge.args(["mcp", "--url", &url]).env("HOLDSTEAD_TOKEN", "hs_a_token_of_mine").stdin(Stdio::null());
    assert!(!bridge.output().expect("it runs").status.success());
    assert_eq!(thief.heard(), "");
    // Its own gateway by its address is its own gateway.
    let own = gateway.run(&["inbox", "--url", &url_of(&gateway)]);
    assert!(own.status.success(), "{}", String::from_utf8_lossy(&own.stderr));
}

#[test]
fn the_socket_wants_the_token_too() {
    let gateway = Gateway::start();
    let mut command = holdstead(&gateway.folder());
    command.arg("inbox").env("HOLDSTEAD_TOKEN", "hs_not_a_token").stdin(Stdio::null());
    let refused = command.output().expect("it runs");
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("HOLDSTEAD_TOKEN"));
}

#[test]
fn a_gateway_elsewhere_is_reached_by_a_socket_in_the_private_folder_and_by_no_other() {
    let gateway = Gateway::start();
    let token = gateway.json(&["token", "--role", "person", "--name", "Ana"])["token"].clone();
    let token = token.as_str().expect("a token");
    let laptop = tempfile::TempDir::new().expect("a folder");
    let open = tempfile::TempDir::new().expect("a folder");
    let inbox = |folder: &Path, token: &str| {
        let url = format!("unix:{}", folder.join("elsewhere.sock").display());
        let mut command = holdstead(laptop.path());
        command.args(["inbox", "--json", "--url", &url]).env("HOLDSTEAD_TOKEN", token).stdin(Stdio::null());
        command.output().expect("it runs")
    };
    // What a tunnel does: connections to this socket reach the gateway's own.
    for folder in [laptop.path(), open.path()] {
        let gateway = gateway.folder().join("gateway.sock");
        std::os::unix::fs::symlink(gateway, folder.join("elsewhere.sock")).expect("a link");
    }
    let reached = inbox(laptop.path(), token);
    assert!(reached.status.success(), "{}", String::from_utf8_lossy(&reached.stderr));
    let unknown = inbox(laptop.path(), "hs_not_a_token");
    assert!(!unknown.status.success());
    // In any other folder another program could have put it there.
    let refused = inbox(open.path(), token);
    assert!(!refused.status.success());
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("another program could put a socket there"), "{said}");
    // The token of this folder is not for that gateway.
    let url = format!("unix:{}", laptop.path().join("elsewhere.sock").display());
    let mut own = holdstead(laptop.path());
    own.args(["inbox", "--url", &url]).stdin(Stdio::null());
    let said = String::from_utf8_lossy(&own.output().expect("it runs").stderr).into_owned();
    assert!(said.contains("is not for"), "{said}");
    // A browser cannot open a socket.
    let mut link = holdstead(laptop.path());
    link.args(["open", "--no-open", "--url", &url]).env("HOLDSTEAD_TOKEN", token).stdin(Stdio::null());
    let said = String::from_utf8_lossy(&link.output().expect("it runs").stderr).into_owned();
    assert!(said.contains("holdstead login"), "{said}");
}
